"""What an adaptation cannot be asked for."""

import math
from pathlib import Path
from typing import Any

import pytest

from nmtkit import adapt
from nmtkit.errors import ConfigError


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"allow_loss": math.nan}, "--allow-loss: nan is no loss"),
        ({"allow_loss": -1.0}, "--allow-loss: -1.0 is no loss"),
        ({"time": math.nan}, "--time: nan is no time"),
        ({"time": math.inf}, "--time: inf is no time"),
        ({"time": 0.1}, "--time: 0.1 seconds are too short"),
    ],
)
def test_limits_are_numbers(tmp_path: Path, settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        adapt(tmp_path / "model", ["corrections.tsv"], tmp_path / "new", **settings)
