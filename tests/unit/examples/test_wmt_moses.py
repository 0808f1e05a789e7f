"""The made-up output of Moses has the form of Moses's files, and says that it is made up."""

import itertools
import random
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import moses
import pytest
import tables
from cells import Choice

from nmtkit.smt.nbest import group_by_sentence, read_nbest
from nmtkit.smt.phrase_table import read_phrase_table
from nmtkit.smt.weights import read_weights

SIZES = {"train": 40, "dev": 12, "test": 9}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write sets with an empty line, a line of one word and a Unicode line separator."""
    folder, rng = tmp_path_factory.mktemp("prepared"), random.Random(3)
    for name, count in SIZES.items():
        for side, words in (("src", "a b c d &apos;s"), ("tgt", "u v w x &#124;")):
            lines = [" ".join(rng.choices(words.split(), k=k % 9)) for k in range(1, count)]
            text = "".join(f"{line}\n" for line in [*lines, "x@@ y\u2028 z"])
            (folder / f"{name}.{side}").write_text(text, encoding="utf-8", newline="\n")
    return folder


@pytest.fixture(scope="module")
def made_up(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("made") / "moses"
    moses.main([str(prepared), "--output", str(output)])
    return output


def lines_of(path: Path) -> list[str]:
    return path.read_bytes().decode().replace("@@ ", "").split("\n")[:-1]


@pytest.mark.parametrize("name", ["dev", "test"])
def test_lists_are_of_the_sets_best_first_by_the_weights(
    made_up: Path, prepared: Path, name: str
) -> None:
    assert lines_of(made_up / f"{name}.tok.en") == lines_of(prepared / f"{name}.src")
    references = lines_of(made_up / f"{name}.tok.fr")
    assert references == lines_of(prepared / f"{name}.tgt") and len(references) == SIZES[name]
    weights = read_weights(made_up / "moses.tuned.ini").values
    groups = list(group_by_sentence(read_nbest(made_up / f"{name}.1000best.gz")))
    assert [group[0].sentence for group in groups] == list(range(len(references)))
    for group in groups:
        texts, totals = [e.hypothesis for e in group], [e.total for e in group]
        assert len(set(texts)) == len(texts) and all(texts)
        assert totals == sorted(totals, reverse=True)
        for entry in group:
            assert entry.features.keys() == weights.keys()
            total = sum(weights[name][0] * entry.features[name][0] for name in weights)
            assert entry.total == pytest.approx(total, abs=1e-5)


def test_the_phrase_table_has_the_counts_of_its_phrases(made_up: Path) -> None:
    table = list(read_phrase_table(made_up / "phrase-table.gz"))
    pairs = {(entry.src, entry.tgt): float(entry.counts[2]) for entry in table}
    assert len(pairs) == len(table) > 50
    sources, targets = defaultdict[str, float](float), defaultdict[str, float](float)
    for (src, tgt), count in pairs.items():
        sources[src] += count
        targets[tgt] += count
    for entry in table:
        assert [float(number) for number in entry.counts[:2]] == [
            targets[entry.tgt],
            sources[entry.src],
        ]
        backward, forward = (float(entry.scores[at]) for at in (0, 2))
        assert backward == pytest.approx(pairs[entry.src, entry.tgt] / targets[entry.tgt], rel=1e-5)
        assert forward == pytest.approx(pairs[entry.src, entry.tgt] / sources[entry.src], rel=1e-5)
    together = [src for src, _ in itertools.groupby(entry.src for entry in table)]
    assert len(together) == len(set(together))


def test_the_same_text_gives_the_same_bytes(made_up: Path, prepared: Path, tmp_path: Path) -> None:
    moses.main([str(prepared), "--output", str(tmp_path / "again")])
    again = {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()}
    assert again == {path.name: path.read_bytes() for path in made_up.iterdir()}
    assert len(again) == 8


def test_tables_say_that_the_output_of_moses_is_made_up(tmp_path: Path) -> None:
    choice = Choice(tmp_path, frozenset(), ("1",), "5", "last")
    assert "made up" not in tables.head("smoke", choice)
    assert "made up" in tables.head("smoke", replace(choice, made_up_moses=True))
