"""Selection from Python: contradictory settings, and a pool that changes while it is read."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError, DataError
from nmtkit.parallel.process_pool import ProcessPool
from nmtkit.preprocessing import select as select_module
from nmtkit.preprocessing.cross_entropy import RECORD
from nmtkit.preprocessing.cutoff import SELECT_ALL, Cutoff, subset_sizes
from nmtkit.preprocessing.select import SelectSettings, select

TOKENS = TextConfig(tokenized=True)


def bitext(folder: Path, name: str, lines: list[str]) -> tuple[Path, Path]:
    paths = (folder / f"{name}.src", folder / f"{name}.tgt")
    for path in paths:
        path.write_text("".join(f"{line}\n" for line in lines))
    return paths


@pytest.fixture
def pool(tmp_path: Path) -> tuple[Path, Path]:
    return bitext(tmp_path, "pool", ["a b c", "d", "a b", "d d d", "e a b"])


def test_the_selection_is_logged(pool: tuple[Path, Path], tmp_path: Path) -> None:
    domain = bitext(tmp_path, "domain", ["a b", "a b", "c a b"])
    output = (tmp_path / "out.src", tmp_path / "out.tgt")
    selection = select(SelectSettings(TOKENS, words=5), [pool, pool], output, domain)
    assert (selection.read, selection.pairs, selection.words) == (10, 2, 4)
    assert output[0].read_text() == output[1].read_text() == "a b\na b\n"
    assert np.isfinite(selection.cutoff.score)


PAIR = ("a", "b")


@pytest.mark.parametrize(
    ("settings", "arguments", "message"),
    [
        ({"pairs": 1}, {"pool": []}, "there is no pool"),
        ({"pairs": 1}, {"dev": PAIR}, "the best cutoff, and nothing else, needs a dev set"),
        ({}, {}, "the best cutoff, and nothing else, needs a dev set"),
        ({"pairs": 1}, {"domain": None}, "the text of the domain is missing"),
        ({}, {"domain": None, "dev": PAIR, "lms": (PAIR, PAIR)}, "text of the domain is missing"),
        ({"pairs": 1}, {"lms": (PAIR, PAIR)}, "the language models replace"),
        ({"pairs": 1}, {"domain": None, "lms": (["a"], PAIR)}, "2 language models of the domain"),
        ({"pairs": 1, "side": "src"}, {"domain": None, "lms": (PAIR, PAIR)}, "1 language models"),
        ({"pairs": 1, "words": 1}, {}, "not 1 pairs and 1 words"),
        ({"pairs": 1}, {"output": ("x", "x")}, "different names"),
    ],
)
def test_contradictory_settings_and_arguments_are_refused(
    settings: dict[str, Any], arguments: dict[str, Any], message: str, tmp_path: Path
) -> None:
    output = (tmp_path / "x", tmp_path / "y")
    all_arguments = {"pool": [PAIR], "output": output, "domain": PAIR, **arguments}
    with pytest.raises(ConfigError, match=message):
        select(SelectSettings(**settings), **all_arguments)


@pytest.mark.parametrize("lines", [3, 8])
def test_a_pool_that_changes_is_an_error(
    pool: tuple[Path, Path], tmp_path: Path, lines: int
) -> None:
    records = np.zeros(5, RECORD)
    with ProcessPool(1) as workers:
        reader = select_module._PairSelector(SelectSettings(), [pool], tmp_path, workers)
        assert [block.sides[0] for block in reader.selected_blocks(records, SELECT_ALL)] == [
            b"a b c\nd\na b\nd d d\ne a b"
        ]
        assert [block.sides[1] for block in reader.selected_blocks(records, Cutoff(0.0, 2))] == [
            b"a b c\nd"
        ]
        bitext(tmp_path, "pool", ["a"] * lines)
        with pytest.raises(DataError, match="the pool has changed"):
            list(reader.selected_blocks(records, SELECT_ALL))


def test_subset_sizes_double_up_to_the_maximum() -> None:
    assert subset_sizes(40, 1000) == [10, 20, 40, 80, 160, 320, 640, 1000]
    assert subset_sizes(40, 80) == [10, 20, 40, 80]
    assert subset_sizes(1, 1) == [1]
    assert subset_sizes(400, 30) == [30]
