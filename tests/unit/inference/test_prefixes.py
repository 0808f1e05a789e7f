"""Prefixes of translations: every translation begins with its prefix, whatever the text is."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmtkit.config import TextConfig
from nmtkit.errors import DataError
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.prefixes import PrefixFinder
from nmtkit.inference.translator import Translator
from nmtkit.model_folder import LoadedModel
from nmtkit.special_symbols import SPECIAL_WORDS, UNK
from nmtkit.text.glossary import Glossary, Term, count
from nmtkit.text.markers import MARKERS
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.subword.bpe import BPE
from nmtkit.text.subword.sentence_piece import REQUIRED_PIECES, SentencePiece
from nmtkit.text.truecaser import Truecaser

MakeModel = Callable[..., LoadedModel]

COUNTS = {"der": 9, "Der": 3, "Flug": 5, "Flughafen": 4, "l'arbre": 3, "gut": 6, "well-known": 2}
COUNTS |= {"ist": 8, ",": 9, ".": 9, "FBI": 2, "«": 2, "»": 2}

TEXTS: dict[str, dict[str, Any]] = {
    "words": {},
    "bpe": {"subwords": "joint", "hyphens": True},
    "escaped": {"subwords": "joint", "escape": True},
    "tokenized": {"tokenized": True},
    "markers": {"subwords": "joint", "joiners": True, "case": "markers", "protected": True},
    "case": {"subwords": "joint", "case": "markers", "nfc": True},
    "truecase": {"subwords": "joint", "case": "truecase", "punctuation": True},
    "sentencepiece": {"subwords": "joint", "raw": True},
}

RANDOM = settings(max_examples=12)

WORDS = ("Der", "der", "Flug", "Fl", "l'", "well-", "FB", "gut.", ",", "«", '"', "ß", "Ж", "猫")
SPACES = ("", " ", " ", "  ", "\u00a0")
PREFIXES = st.lists(st.tuples(st.sampled_from(SPACES), st.sampled_from(WORDS)), max_size=5).flatmap(
    lambda parts: st.sampled_from(SPACES).map(
        lambda space: "".join(before + word for before, word in parts) + space
    )
)


@pytest.fixture(scope="module")
def sentence_piece() -> SentencePiece:
    return SentencePiece.learn(COUNTS, 300)


def pieces_of(words: set[str]) -> set[str]:
    letters = {letter for word in words for letter in word}
    return words | letters | {f"{letter}@@" for letter in letters} | {"Fl@@", "fl@@", "@-@"}


def translator_of(make_model: MakeModel, name: str, raw: SentencePiece) -> Translator:
    """Return an untrained model with a target text."""
    text = TextConfig(tgt_language="fr", **TEXTS[name])
    bpe = BPE.learn(COUNTS, 20) if text.subwords == "joint" else None
    words = (
        set(COUNTS) | {"<unk>x"} if bpe is None else pieces_of({*COUNTS, *map(str.lower, COUNTS)})
    )
    if text.raw:
        pieces = {piece for word in COUNTS for piece in raw.apply([word])}
        words = {*REQUIRED_PIECES, *pieces, "▁F", "F", "l", "a"}
    truecaser = Truecaser("fr", {"der": [("der", 5)], "flug": [("Flug", 5)]})
    case = truecaser if text.case == "truecase" else None
    pipeline = TextPipeline("fr", text, raw if text.raw else bpe, truecaser=case)
    model = make_model(3, src="a b c", tgt=" ".join(sorted((words | MARKERS) - {"<unk>", "</s>"})))
    config = dataclasses.replace(model.config, text=text)
    return Translator(Ensemble((dataclasses.replace(model, tgt_text=pipeline, config=config),)))


@pytest.mark.parametrize("name", TEXTS)
@settings(max_examples=12)
@given(prefix=PREFIXES, beam=st.sampled_from([1, 3]))
@example("Der Fl", 3)
@example("F", 3)
@example("  Der  Flug ", 1)
@example("l'", 1)
@example("e\u0301", 1)
def test_every_translation_begins_with_the_prefix(
    make_model: MakeModel, sentence_piece: SentencePiece, name: str, prefix: str, beam: int
) -> None:
    translator = translator_of(make_model, name, sentence_piece)
    lines = ["a b", "c", "", "a a b c"]
    prefixes = [prefix, "", prefix, prefix.strip()]
    found = list(translator.translate(lines, n_best=beam, beam=beam, prefixes=prefixes))
    for wanted, hypotheses in zip(prefixes, found, strict=True):
        for one in hypotheses:
            assert one.text.startswith(wanted)
    assert found[1][0].text == next(translator.translate(["c"], beam=beam))[0].text


def test_a_word_that_may_go_on_is_spelled_by_any_pieces(make_model: MakeModel) -> None:
    text = TextConfig(subwords="joint")
    model = make_model(1, tgt="Fl@@ F@@ l@@ l ug ugs Fl Flug x")
    pipeline = TextPipeline("de", text, BPE.learn({"Flug": 2}, 3))
    finder = PrefixFinder(dataclasses.replace(model, tgt_text=pipeline))
    node = finder.find("Fl").node
    assert node is not None
    tokens = model.tgt_vocab.tokens
    assert set(tokens(list(node.following))) == {"Fl@@", "F@@", "Fl", "Flug"}
    after = node.following[model.tgt_vocab.ids(["F@@"])[0]]
    assert after is not None and set(tokens(list(after.following))) == {"l@@", "l"}
    assert all(node.following[i] is None for i in model.tgt_vocab.ids(["Fl@@", "Fl", "Flug"]))


@pytest.mark.parametrize("forbid_unk", [False, True])
def test_words_that_no_piece_spells_are_unknown(make_model: MakeModel, forbid_unk: bool) -> None:
    translator = Translator(Ensemble((make_model(1, tgt="w x y z"),)))
    prefixes = ["w Q ", "w Q"]
    found = translator.translate(["a", "b"], prefixes=prefixes, forbid_unk=forbid_unk)
    for prefix, (best,) in zip(prefixes, found, strict=True):
        assert best.tokens[:2] == ["w", "<unk>"]
        assert best.text.split() == ["w", "Q", *best.tokens[2:]] and best.text.startswith(prefix)


@pytest.mark.parametrize("seed", range(4))
def test_the_beginning_of_a_translation_is_continued_as_it_was(
    make_model: MakeModel, seed: int
) -> None:
    translator = Translator(Ensemble((make_model(seed),))).with_search(beam=1)
    lines = ["a b c", "d", "b b a e e"]
    for line, (best,) in zip(lines, translator.translate(lines), strict=True):
        for end in range(len(best.text) + 1):
            (again,) = next(translator.translate([line], prefixes=[best.text[:end]]))
            assert again.tokens[: len(best.tokens)] == best.tokens
            if best.finished:  # else a long prefix leaves room for more
                assert again.tokens == best.tokens
                assert again.score == pytest.approx(best.score, abs=1e-5)


def test_prefixes_go_with_terms_candidates_and_ensembles(make_model: MakeModel) -> None:
    models = tuple(make_model(seed, tgt="w x y z v") for seed in (1, 2))

    class Few:
        def candidates(self, source_tokens: object) -> list[int]:
            return [0, UNK, 4]

    plain = Translator(Ensemble(models), candidates=Few()).with_search(beam=4)
    translator = plain.with_terms(Glossary([Term("a", ("y",))]))
    lines, prefixes = ["a b", "b a a", "c"], ["x", "v w ", "z"]
    found = translator.translate(lines, n_best=3, prefixes=prefixes)
    for line, prefix, hypotheses in zip(lines, prefixes, found, strict=True):
        for one in hypotheses:
            assert one.text.startswith(prefix.strip())
            assert count(one.text, ["y"]) >= line.split().count("a")


@pytest.mark.parametrize("prefixes", [["x"], ["x", "y", "z"], []])
def test_one_prefix_for_each_line(make_model: MakeModel, prefixes: list[str]) -> None:
    translator = Translator(Ensemble((make_model(1),)))
    with pytest.raises(DataError, match=f"prefixes:{min(len(prefixes), 2) + 1}: "):
        list(translator.translate(["a", "b"], prefixes=prefixes))


def test_names_of_the_source_are_copied(make_model: MakeModel) -> None:
    from nmtkit.text.names import PLACEHOLDERS, Names, Uses

    names = Names({"Anna": Uses(20, 20, 20)})
    model = make_model(1, tgt=f"w x {PLACEHOLDERS[0]}", names=names)
    finder = PrefixFinder(model)
    (placeholder,) = model.tgt_vocab.ids(PLACEHOLDERS[:1])
    whole, part = finder.find("w Anna ", names=["Anna"]), finder.find("An", names=["Anna"])
    assert whole.text.tokens == ["w", PLACEHOLDERS[0]]
    assert part.node is not None and placeholder in part.node.following


def test_special_words_spell_nothing(make_model: MakeModel) -> None:
    node = PrefixFinder(make_model(1)).find(SPECIAL_WORDS[0][:2]).node
    assert node is not None and list(node.following) == [UNK]
