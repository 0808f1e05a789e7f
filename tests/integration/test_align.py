"""`nmtkit align` through the real command line."""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from nmtkit.io.lines import read_lines
from nmtkit.text.lexicon import Lexicon
from nmtkit.text.vocabulary import Vocabulary

Nmtkit = Callable[..., Result]

PAIRS = [("one two three", "un deux"), ("", "trois"), ("four", ""), ("five hello", "cinq bonjour")]


@pytest.fixture
def align(nmtkit: Nmtkit, model: Path, tmp_path: Path) -> Nmtkit:
    for side, name in enumerate(("src", "tgt")):
        text = "".join(f"{pair[side]}\n" for pair in PAIRS)
        (tmp_path / name).write_text(text, encoding="utf-8")

    def call(*options: object, status: int = 0) -> Result:
        paths = (tmp_path / "src", tmp_path / "tgt")
        return nmtkit("align", "-m", model, *paths, "--device", "cpu", *options, status=status)

    return call


def test_every_target_word_has_a_source_word(align):
    rows = align().stdout.split("\n")[:-1]
    assert len(rows) == len(PAIRS)
    for (source, target), row in zip(PAIRS, rows, strict=True):
        links = [tuple(map(int, link.split("-"))) for link in row.split()]
        words = target.split() if source else []
        assert [j for _, j in links] == list(range(len(words)))
        assert all(0 <= i < len(source.split()) for i, _ in links)


def test_the_soft_form_has_words_and_weights(align):
    tables = [json.loads(row) for row in align("--soft").stdout.splitlines()]
    for (source, target), table in zip(PAIRS, tables, strict=True):
        assert table["source"] == [*source.split(), "</s>"]
        assert table["target"] == [*target.split(), "</s>"]
        assert len(table["alignment"]) == len(table["target"])
        for weights in table["alignment"]:
            assert len(weights) == len(table["source"])
            assert sum(weights) == pytest.approx(1, abs=1e-4)


def test_show_prints_the_words(align):
    drawn = align("--show").stdout
    assert "cinq│" in drawn and "bonjour│" in drawn


@pytest.mark.parametrize(
    ("kind", "begin"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_each_pair_has_a_figure(align, tmp_path, kind, begin):
    pytest.importorskip("matplotlib")
    links = align("--plot", tmp_path / "pictures", "--format", kind).stdout
    assert links == align("--rounds", 0).stdout
    pictures = sorted((tmp_path / "pictures").iterdir())
    assert [p.name for p in pictures] == [f"{n:06d}.{kind}" for n in range(1, len(PAIRS) + 1)]
    assert all(picture.read_bytes().startswith(begin) for picture in pictures)
    assert "--force" in align("--plot", tmp_path / "pictures", "--format", kind, status=1).stderr


def test_the_models_own_links_have_no_error(align, tmp_path):
    links = tmp_path / "links"
    align("-o", links)
    figures = align("--gold", links).stdout
    assert re.match(r"AER 0\.0000  precision 1\.0000  recall 1\.0000  links 4 ", figures)
    other = tmp_path / "other"
    with_links = align("--gold", links, "-o", other)
    assert with_links.stdout == figures
    assert other.read_text() == links.read_text()


def test_the_error_rate_as_json_is_the_same(align, tmp_path):
    links = tmp_path / "links"
    align("-o", links)
    figures = json.loads(align("--gold", links, "--json").stdout)
    assert (figures["aer"], figures["precision"], figures["recall"]) == (0, 1, 1)
    assert figures["links"] == figures["sure"] == figures["possible"] == 4
    assert "--json needs --gold" in align("--json", status=2).stderr


def test_other_links_have_an_error(align, tmp_path):
    right = align().stdout.split("\n")
    first = (int(right[0].split("-")[0]) + 1) % 3
    (tmp_path / "gold").write_text("\n".join([f"{first}-0 {right[0].split()[1]}", *right[1:]]))
    figures = align("--gold", tmp_path / "gold").stdout
    assert figures.startswith("AER 0.2500  precision 0.7500  recall 0.7500")


def test_gold_links_of_other_sentences_are_an_error(align, tmp_path):
    (tmp_path / "gold").write_text("0-0\n")
    result = align("--gold", tmp_path / "gold", status=1)
    assert result.stdout == "" and len(result.stderr.splitlines()) == 1


def test_damaged_gold_links_are_found_before_the_work(align, tmp_path):
    (tmp_path / "gold").write_text("0-0\n0=0\n")
    (tmp_path / "src").write_text("one\n")  # which reading the pairs would find
    assert "gold:2" in align("--gold", tmp_path / "gold", status=1).stderr


def test_files_of_different_length_are_an_error(nmtkit, model, align, tmp_path):
    (tmp_path / "short").write_text("un\n")
    result = nmtkit("align", "-m", model, tmp_path / "src", tmp_path / "short", status=1)
    assert "src has 4" in result.stderr and "short has 1" in result.stderr


def test_soft_and_show_are_mutually_exclusive(align):
    align("--soft", "--show", status=2)


def read_lexicon(path):
    """Return the lines of a lexicon: target word, source word, probability."""
    rows = [line.split(" ") for line in read_lines(path)]
    return [(target, source, float(probability)) for target, source, probability in rows]


def test_lexicon_of_word_translations(align, tmp_path):
    path = tmp_path / "lexicon"
    result = align("--lexicon", path)
    assert (
        result.stdout == "" and f"{path}: {len(read_lexicon(path))} pairs of words" in result.stderr
    )
    counts: Counter[tuple[str, str]] = Counter()
    for (source, target), row in zip(PAIRS, align().stdout.splitlines(), strict=True):
        for link in row.split():
            i, j = map(int, link.split("-"))
            counts[target.split()[j], source.split()[i]] += 1
    totals: Counter[str] = Counter()
    for (_, source), number in counts.items():
        totals[source] += number
    expected = {pair: number / totals[pair[1]] for pair, number in counts.items()}
    assert {row[:2]: row[2] for row in read_lexicon(path)} == pytest.approx(expected, abs=1e-6)


def test_the_lexicon_covers_its_corpus(nmtkit, model, corpus, tmp_path):
    files = [corpus / "train.en", corpus / "train.fr"]
    command = ["align", "-m", model, *files, "--device", "cpu", "--rounds", 0, "--lexicon"]
    nmtkit(*command, tmp_path / "lexicon.gz")
    words = Vocabulary.load(model / "vocab.tgt")
    lexicon = Lexicon.load(tmp_path / "lexicon.gz", words, frequent=0)
    for source, target in zip(*map(read_lines, files), strict=True):
        candidates = lexicon.candidates(source.split()).tolist()
        assert set(words.ids(target.split())) <= set(candidates)
    nmtkit(*command, tmp_path / "few", "--min-count", 4)
    every, few = read_lexicon(tmp_path / "lexicon.gz"), read_lexicon(tmp_path / "few")
    assert set(few) < set(every) and few == sorted(few, key=lambda row: (row[1], -row[2], row[0]))


def test_a_lexicon_can_be_written_with_alignments(align, tmp_path):
    links, table = tmp_path / "links", tmp_path / "lexicon"
    assert align("--lexicon", table, "-o", links).stdout == ""
    assert links.read_text() == align().stdout and len(read_lexicon(table)) > 1
    assert "--force" in align("--lexicon", table, status=1).stderr


@pytest.mark.parametrize("options", [["--min-count", 2], ["--lexicon", "same", "--output", "same"]])
def test_wrong_usage_of_the_lexicon(align, options):
    assert align(*options, status=2).stdout == ""


def test_composition_of_a_sentence(prepared, small_options, nmtkit, tmp_path):
    folder, source = tmp_path / "model", tmp_path / "lines"
    source.write_text("one two three\n\nsix\n")
    nmtkit("train", prepared, "-o", folder, "-r", "grconv", *small_options("grconv"))
    options = ["align", "--composition", "--model", folder, source]
    tables = [json.loads(row) for row in nmtkit(*options).stdout.split("\n")[:-1]]
    assert [table["words"] for table in tables] == [
        ["one", "two", "three", "</s>"],
        ["</s>"],
        ["six", "</s>"],
    ]
    for table in tables:
        sizes = [len(level) for level in table["levels"]]
        assert sizes == list(range(len(table["words"]) - 1, 0, -1))
        assert all(
            sum(node) == pytest.approx(1, abs=1e-4) for nodes in table["levels"] for node in nodes
        )
    pictures = tmp_path / "pictures"
    nmtkit(*options, "--plot", pictures, "--format", "svg")
    assert sorted(path.name for path in pictures.iterdir()) == [
        "000001.svg",
        "000002.svg",
        "000003.svg",
    ]
    assert "SRC alone" in nmtkit(*options, source, status=2).stderr
    assert "SRC alone" in nmtkit(*options, "--min-count", 2, status=2).stderr
    assert "Missing argument" in nmtkit("align", "--model", folder, source, status=2).stderr


def test_a_model_without_composition_is_refused(nmtkit, model, tmp_path):
    (tmp_path / "lines").write_text("one\n")
    result = nmtkit("align", "--composition", "--model", model, tmp_path / "lines", status=1)
    assert "no structure" in result.stderr and result.stdout == ""


@pytest.fixture
def back(nmtkit: Nmtkit, prepared: Path, small: list[str], tmp_path: Path) -> Path:
    """A model of the other direction."""
    options = ["--recipe", "toy", "--device", "cpu", *small, "--set", "data.swap_sides=true"]
    nmtkit("train", prepared, "--output", tmp_path / "back", *options)
    return tmp_path / "back"


METHODS = "intersection", "union", "grow-diag-final-and"


def test_links_of_the_attention_of_both_directions_are_combined(
    align: Nmtkit, nmtkit: Nmtkit, back: Path, tmp_path: Path
) -> None:
    forward = align("--rounds", 0).stdout.split("\n")[:-1]
    files = tmp_path / "tgt", tmp_path / "src", "--rounds", 0
    backward = nmtkit("align", "-m", back, *files, "--device", "cpu").stdout.split("\n")[:-1]
    for method in METHODS:
        options = "--symmetrize", method, "--reverse-model", back, "--rounds", 0
        combined = align(*options).stdout.split("\n")[:-1]
        for both, there, again in zip(combined, forward, backward, strict=True):
            flipped = {"-".join(reversed(link.split("-"))) for link in again.split()}
            links, found = set(there.split()), set(both.split())
            exact = {"intersection": links & flipped, "union": links | flipped}
            assert links & flipped <= exact.get(method, found) == found <= links | flipped


def test_learned_links_of_both_directions_are_combined(align: Nmtkit, back: Path) -> None:
    for reverse in ((), ("--reverse-model", back)):
        rows = {
            method: [
                set(row.split())
                for row in align("--symmetrize", method, *reverse).stdout.split("\n")[:-1]
            ]
            for method in METHODS
        }
        assert [len(found) for found in rows.values()] == [len(PAIRS)] * 3
        for common, either, grown in zip(*rows.values(), strict=True):
            assert common <= grown <= either


def test_attention_alone_needs_a_model_of_the_other_direction(align: Nmtkit) -> None:
    refused = align("--symmetrize", "union", "--rounds", 0, status=2)
    assert "--reverse-model" in refused.stderr
    assert "--symmetrize" in align("--reverse-model", "x", status=2).stderr
    refused = align("--symmetrize", "union", "--reverse-model", "x", "--soft", status=2)
    assert "--soft" in refused.stderr


def test_without_rounds_links_are_those_of_attention(align: Nmtkit) -> None:
    rows = align("--rounds", 0).stdout.split("\n")[:-1]
    for row, line in zip(rows, align("--soft").stdout.splitlines(), strict=True):
        weights = json.loads(line)["alignment"][:-1]
        best = [max(range(len(w) - 1), key=w.__getitem__) for w in weights if len(w) > 1]
        assert row == " ".join(f"{i}-{j}" for j, i in enumerate(best))


def test_links_are_learned_from_all_pairs(
    nmtkit: Nmtkit, model: Path, corpus: Path, tmp_path: Path
) -> None:
    """The corpus is word by word, so that even a model that knows nothing finds the words."""
    files = [corpus / "train.en", corpus / "train.fr"]
    gold = "".join(
        " ".join(f"{i}-{i}" for i in range(len(line.split()))) + "\n"
        for line in read_lines(files[0])
    )
    (tmp_path / "gold").write_text(gold)
    command = ["align", "-m", model, *files, "--device", "cpu", "--gold", tmp_path / "gold"]
    learned, attention = (
        json.loads(nmtkit(*command, "--json", "--rounds", rounds).stdout)["aer"]
        for rounds in (6, 0)
    )
    assert learned < 0.1 and 5 * learned < attention
    both = json.loads(nmtkit(*command, "--json", "--symmetrize", "intersection").stdout)["aer"]
    assert both < 0.1
