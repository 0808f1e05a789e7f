"""Start-up times are those of a model that exists."""

from pathlib import Path

import cold_start
import pytest
from timing import BenchError


def test_without_a_model_nothing_is_measured(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"nowhere: not a model folder$"):
        cold_start.main([str(tmp_path / "nowhere"), "--rounds", "1"])
