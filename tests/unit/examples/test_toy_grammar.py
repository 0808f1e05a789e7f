"""The toy corpus obeys the rules of French and of its alignments."""

import importlib.util
import itertools
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nmtkit.text.tokenizer import Tokenizer

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "toy-en-fr"
SIZE = 4_000
VOWEL = "[aeiouàâäéèêëîïôöùûüœh]"
# Determiners that show the gender of the singular noun after them.
MASCULINE = {"le", "un", "ce", "cet", "du", "au", "quel", "aucun"}
FEMININE = {"la", "une", "cette", "ma", "ta", "sa", "quelle"}
PLURAL = {"les", "des", "ces", "mes", "tes", "ses", "nos", "vos", "leurs", "aux", "plusieurs"}


def load(name: str) -> ModuleType:
    """Import a script by name."""
    spec = importlib.util.spec_from_file_location(f"toy_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate: Any = load("generate")
lexicon: Any = importlib.import_module("toygrammar.lexicon")
verbs: Any = importlib.import_module("toygrammar.verbs")


@pytest.fixture(scope="module")
def pairs() -> list[Any]:
    """Return the first pairs of seed 1."""
    return list(itertools.islice(generate.pairs(1), SIZE))


@pytest.fixture(scope="module")
def french(pairs: list[Any]) -> str:
    """Return the French lines in lower case, with marked ends."""
    return "\n".join(f" {pair.french.lower()} " for pair in pairs)


def run(folder: Path, *options: str) -> int:
    """Run the script for a few pairs and return its status."""
    sizes = ["--train", "300", "--dev", "40", "--test", "50"]
    return int(generate.main(["--output", str(folder), *sizes, *options]))


class TestGenerate:
    def test_the_same_seed_writes_the_same_bytes(self, tmp_path: Path) -> None:
        assert run(tmp_path / "a") == 0
        command = [sys.executable, str(FOLDER / "generate.py"), "--output", "b"]
        command += ["--train", "300", "--dev", "40", "--test", "50", "--seed", "1"]
        subprocess.run(command, cwd=tmp_path, check=True, env={"PYTHONHASHSEED": "7"})
        written = sorted((tmp_path / "a").iterdir())
        assert [path.name for path in written] == sorted(
            f"{split}.{end}" for split in ("train", "dev", "test") for end in ("en", "fr", "align")
        )
        for path in written:
            assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()

    def test_another_seed_gives_other_sentences(self, tmp_path: Path) -> None:
        run(tmp_path / "a")
        run(tmp_path / "b", "--seed", "2")
        assert (tmp_path / "a/dev.en").read_text() != (tmp_path / "b/dev.en").read_text()

    def test_splits_share_no_english_sentence(self, tmp_path: Path) -> None:
        run(tmp_path)
        lines = [
            line
            for split, size in (("train", 300), ("dev", 40), ("test", 50))
            for line in lines_of(tmp_path / f"{split}.en", size)
        ]
        assert len(set(lines)) == 390

    def test_more_training_pairs_do_not_change_dev_and_test(self, tmp_path: Path) -> None:
        run(tmp_path / "a")
        run(tmp_path / "b", "--train", "600")
        for name in ("dev.en", "test.fr", "test.align"):
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()

    def test_existing_files_are_refused_without_force(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run(tmp_path)
        before = (tmp_path / "train.en").read_bytes()
        assert run(tmp_path, "--seed", "2") == 1
        assert "--force" in capsys.readouterr().err
        assert (tmp_path / "train.en").read_bytes() == before
        assert run(tmp_path, "--seed", "2", "--force") == 0
        assert (tmp_path / "train.en").read_bytes() != before

    def test_lengths_are_within_limits(self, tmp_path: Path) -> None:
        run(tmp_path, "--min-words", "6", "--max-words", "9")
        for side, language in (("en", "en"), ("fr", "fr")):
            tokenizer = Tokenizer(language)
            lengths = {len(tokenizer.tokenize(x)) for x in lines_of(tmp_path / f"train.{side}")}
            assert min(lengths) >= 6 and max(lengths) <= 9

    @pytest.mark.parametrize("options", [("--min-words", "2"), ("--dev", "-1")])
    def test_impossible_options_are_refused(self, tmp_path: Path, options: tuple[str, str]) -> None:
        assert run(tmp_path / "none", *options) == 1
        assert not (tmp_path / "none").exists()


def lines_of(path: Path, size: int | None = None) -> list[str]:
    """Return the lines of a file after checking their number."""
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines.pop() == "" and (size is None or len(lines) == size)
    return lines


class TestCorpus:
    def test_tokens_equal_those_of_the_tokenizer(self, pairs: list[Any]) -> None:
        english, french = Tokenizer("en"), Tokenizer("fr")
        for pair in pairs[:3000]:
            assert tuple(english.tokenize(pair.english)) == pair.english_tokens
            assert tuple(french.tokenize(pair.french)) == pair.french_tokens

    def test_each_token_is_linked_and_links_are_in_range(self, pairs: list[Any]) -> None:
        for pair in pairs:
            sources, targets = zip(*pair.alignment, strict=True)
            assert set(sources) == set(range(len(pair.english_tokens)))
            assert set(targets) == set(range(len(pair.french_tokens)))
            assert len(set(pair.alignment)) == len(pair.alignment)

    def test_each_sentence_has_one_translation(self) -> None:
        """Short sentences occur under another seed, too, with the same translation."""
        lists = [list(itertools.islice(generate.pairs(s, max_words=8), SIZE)) for s in (1, 2)]
        first, others = ({p.english: (p.french, p.links) for p in some} for some in lists)
        shared = set(first) & set(others)
        assert len(shared) > 100
        assert {english: first[english] for english in shared} == {e: others[e] for e in shared}

    def test_distribution_of_lengths(self, pairs: list[Any]) -> None:
        lengths = [len(pair.english_tokens) for pair in pairs]
        assert min(lengths) == 3 and 50 < max(lengths) <= 60
        assert max(len(pair.french_tokens) for pair in pairs) <= 60
        assert sum(5 <= n <= 25 for n in lengths) > 0.8 * SIZE
        assert sum(n > 30 for n in lengths) > 0.03 * SIZE

    def test_each_side_has_several_hundred_words(self, pairs: list[Any]) -> None:
        for side in ("english_tokens", "french_tokens"):
            words = {word.lower() for pair in pairs for word in getattr(pair, side)}
            assert 400 < len(words) < 1200

    def test_most_words_are_frequent_enough_to_be_learned(self, pairs: list[Any]) -> None:
        counts = Counter(word for pair in pairs for word in pair.french_tokens)
        rare = sum(count for count in counts.values() if count < 4)
        assert rare < 0.01 * sum(counts.values())

    @pytest.mark.parametrize(
        "word", ["l'", "d'", "qu'", "n'", "j'", "s'", "du", "aux", "cet", "bel", "vieil", "nouvel"]
    )
    def test_each_phenomenon_occurs(self, pairs: list[Any], word: str) -> None:
        assert any(word in pair.french_tokens for pair in pairs)

    def test_known_sentences_have_known_translations_and_links(self, pairs: list[Any]) -> None:
        generated = {pair.english: (pair.french, pair.links) for pair in pairs}
        shared = set(KNOWN) & set(generated)
        assert len(shared) >= 4
        assert {english: generated[english] for english in shared} == {e: KNOWN[e] for e in shared}


class TestFrench:
    @pytest.mark.parametrize(
        "wrong",
        [
            rf"[ '](le|la|de|que|ne|je|me|te|se) (?!héros|hibou|huit|y ){VOWEL}",
            r"[ ']si ils? ",
            r"[ '](de|à) les? (?!l|vo|con|ache|ven|pren|reg)\w+ (qui|que|\.)",
            r"[ ']ce [aeéiouœ]",
            r"[ '](beau|nouveau|vieux) (homme|arbre|ami|oncle|oiseau|œuf|enfant|hôpital)\b",
            r"[ '](bel|nouvel|vieil|cet) [bcdfgjklmnpqrstvwxz]",
            r"[ '](ma|ta|sa) [aeéiouœ]",
            r"[ '](l|d|qu|n|j|s|m|t)'[bcdfgjklmnpqrstvwxz](?!l|'|e l'|il )",
            r"[ '](l|d|qu)'(héros|hibou)",
            r" s'(?!il te plaît)(elle|un|on)s? (?!\w+(é|i|u)e?s?\b)",
            r"beaucoup des? les",
            r"\w\?|\w!",
            r" [,.]",
            r"  ",
        ],
    )
    def test_no_line_contains(self, french: str, wrong: str) -> None:
        match = re.search(wrong, french.replace("  \n", " \n").replace("\n  ", "\n "))
        assert match is None, french[max(0, match.start() - 60) : match.end() + 40]

    def test_prepositions_and_articles_are_contracted(self, pairs: list[Any]) -> None:
        """No de le, no à les before a noun; before a verb they are pronouns (avant de le voir)."""
        nouns = forms(lexicon.NOUNS)
        for pair in pairs:
            tokens = [token.lower() for token in pair.french_tokens]
            for first, second, third in zip(tokens, tokens[1:], tokens[2:], strict=False):
                assert not (first in ("de", "à") and second in ("le", "les") and third in nouns)

    def test_determiners_agree_with_their_nouns(self, pairs: list[Any]) -> None:
        nouns, checked = forms(lexicon.NOUNS), 0
        for pair in pairs:
            tokens = [token.lower() for token in pair.french_tokens]
            for determiner, word in zip(tokens, tokens[1:], strict=False):
                if word not in nouns or word in AMBIGUOUS:
                    continue
                genders, numbers = nouns[word]
                if determiner in MASCULINE:
                    assert "m" in genders and "s" in numbers, (determiner, word)
                elif determiner in FEMININE:
                    assert "f" in genders and "s" in numbers, (determiner, word)
                elif determiner in PLURAL:
                    assert "p" in numbers, (determiner, word)
                else:
                    continue
                checked += 1
        assert checked > SIZE / 2

    def test_adjectives_agree_with_their_nouns(self, pairs: list[Any]) -> None:
        """Each adjective linked to an English word directly before a noun has that noun's form."""
        checked = 0
        nouns = {form: n for n in lexicon.NOUNS for form in (n.singular, n.plural)}
        adjectives = {a.english: a for a in lexicon.ADJECTIVES}
        for pair in pairs:
            linked: dict[int, list[str]] = {}
            for i, j in pair.alignment:
                linked.setdefault(i, []).append(pair.french_tokens[j].lower())
            for i, (word, after) in enumerate(
                zip(pair.english_tokens, pair.english_tokens[1:], strict=False)
            ):
                if word not in adjectives or after not in nouns:
                    continue
                adjective, noun = adjectives[word], nouns[after]
                form = adjective.agree(noun.feminine, after == noun.plural)
                assert linked[i][0] in (form, adjective.before_vowel), pair.french
                checked += 1
        assert checked > SIZE / 10

    def test_subjects_agree_with_verbs(self, french: str) -> None:
        """A pronoun subject right before a present verb form has the form of its person."""
        endings = {"je": 0, "tu": 1, "il": 2, "elle": 2, "ils": 4, "elles": 4}
        present = {v.present for v in verbs.VERBS}
        checked = 0
        # At the start of a line: elsewhere elle may close a phrase (plus vieux qu'elle sont).
        for subject, word in re.findall(r"\n (je|tu|il|elle|ils|elles) (\w+)", french):
            persons = {i for forms_ in present for i, form in enumerate(forms_) if form == word}
            if persons:
                assert endings[subject] in persons, (subject, word)
                checked += 1
        assert checked > SIZE / 20

    def test_participles_agree_with_pronoun_subjects(self, pairs: list[Any]) -> None:
        """elle est partie, elles sont parties, ils sont partis: by the gender the pronoun shows."""
        feminine = {"elle": True, "elles": True, "il": False, "ils": False}
        participles = {v.agree(f, p): (f, p) for v in verbs.VERBS if v.with_be for f, p in FEATURES}
        checked = 0
        pattern = re.compile(r"(?<=[ '])(il|elle)(s?) (?:se |s')?(?:est|sont|était|étaient) (\w+)")
        for pair in pairs:
            for subject, plural, word in pattern.findall(f" {pair.french.lower()}"):
                if word in participles:
                    assert participles[word] == (feminine[subject], bool(plural)), pair.french
                    checked += 1
        assert checked > 20

    def test_negation_has_both_parts(self, pairs: list[Any]) -> None:
        seconds = {"pas", "jamais", "plus", "rien", "personne"}
        for pair in pairs:
            tokens = {token.lower() for token in pair.french_tokens}
            if tokens & {"ne", "n'"}:
                assert tokens & seconds, pair.french
            if "pas" in tokens or "rien" in tokens:
                assert tokens & {"ne", "n'"}, pair.french


KNOWN = {
    "My daughter cannot visit the castles.": (
        "Ma fille ne peut pas visiter les châteaux.",
        "0-0 1-1 2-2 2-3 2-4 3-5 4-6 5-7 6-8",
    ),
    "Alice's sons did not forget us.": (
        "Les fils d'Alice ne nous ont pas oubliés.",
        "0-3 1-0 1-2 2-1 3-6 4-4 4-7 5-8 6-5 7-9",
    ),
    "Her mother did not hide this morning.": (
        "Sa mère ne s'est pas cachée ce matin.",
        "0-0 1-1 2-4 3-2 3-5 4-3 4-6 5-7 6-8 7-9",
    ),
    "This princess speaks to her.": ("Cette princesse lui parle.", "0-0 1-1 2-3 3-2 4-2 5-4"),
    "She never looks for you.": (
        "Elle ne te cherche jamais.",
        "0-0 1-1 1-4 2-3 3-3 4-2 5-5",
    ),
    "Nobody sent the baker a letter.": (
        "Personne n'a envoyé de lettre au boulanger.",
        "0-0 0-1 1-2 1-3 1-6 2-6 3-7 4-4 5-5 6-8",
    ),
    "Their mother came from the hospital.": (
        "Leur mère est venue de l'hôpital.",
        "0-0 1-1 2-2 2-3 3-4 4-5 5-6 6-7",
    ),
}
FEATURES = ((False, False), (True, False), (False, True), (True, True))
# Nouns that are also verbs (il le montre), and fils, which is singular and plural.
AMBIGUOUS = {"porte", "lit", "montre", "fils"}


def forms(nouns: Any) -> dict[str, tuple[set[str], set[str]]]:
    """Return each French noun form with its genders (m, f) and numbers (s, p)."""
    by_form: dict[str, tuple[set[str], set[str]]] = {}
    for noun in nouns:
        for form, number in ((noun.french, "s"), (noun.french_plural, "p")):
            genders, numbers = by_form.setdefault(form, (set(), set()))
            genders.add("f" if noun.feminine else "m")
            numbers.add(number)
    return by_form


def test_a_folder_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert run(tmp_path / "file") == 1
    error = capsys.readouterr().err
    assert error.startswith("generate.py: error: ") and error.count("\n") == 1
