"""The selector reads the pool several times, and notices that it changes."""

from pathlib import Path

import numpy as np
import pytest

from nmtkit.errors import DataError
from nmtkit.parallel.process_pool import ProcessPool
from nmtkit.preprocessing.cross_entropy import RECORD
from nmtkit.preprocessing.cutoff import SELECT_ALL, Cutoff
from nmtkit.preprocessing.pair_selector import PairSelector
from nmtkit.preprocessing.select import SelectSettings
from nmtkit.progress_bar import ProgressBar
from tests.unit.preprocessing.bitexts import bitext


@pytest.mark.parametrize("lines", [3, 8])
def test_a_pool_that_changes_is_an_error(
    pool: tuple[Path, Path], tmp_path: Path, lines: int
) -> None:
    records = np.zeros(5, RECORD)
    with ProcessPool(1) as workers:
        reader = PairSelector(
            SelectSettings(), [pool], tmp_path, workers, ProgressBar("read", "pairs")
        )
        assert [block.sides[0] for block in reader.selected_blocks(records, SELECT_ALL)] == [
            b"a b c\nd\na b\nd d d\ne a b"
        ]
        assert [block.sides[1] for block in reader.selected_blocks(records, Cutoff(0.0, 2))] == [
            b"a b c\nd"
        ]
        bitext(tmp_path, "pool", ["a"] * lines)
        with pytest.raises(DataError, match="the pool has changed"):
            list(reader.selected_blocks(records, SELECT_ALL))
