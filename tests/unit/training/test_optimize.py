"""Training pairs are chosen evenly, in one pass; the time of all processes counts."""

import os

import pytest

from nmtkit.training.optimize import MAX_CHARACTERS, processor_seconds, spaced_pairs


@pytest.fixture
def files(tmp_path):
    def write(lines):
        for side in ("src", "tgt"):
            (tmp_path / side).write_text("".join(f"{line}\n" for line in lines))
        return tmp_path / "src", tmp_path / "tgt"

    return write


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 95, 1000])
def test_pairs_are_evenly_spaced(files, size):
    numbers = [int(src) for src, tgt in spaced_pairs(files(range(size)), 10) if src == tgt]
    assert min(size, 5) <= len(numbers) <= 10
    steps = {after - before for before, after in zip(numbers, numbers[1:], strict=False)}
    assert numbers[:1] == [0][:size] and len(steps) <= 1
    assert steps <= ({1} if size <= 10 else {2, 4, 8, 16, 32, 64, 128})


def test_long_and_empty_lines_are_skipped(files):
    long = "a" * (MAX_CHARACTERS + 1)
    assert spaced_pairs(files(["a", "", long, "b"]), 10) == [("a", "a"), ("b", "b")]


def test_the_time_of_forks_counts(monkeypatch):
    """They translate all but a share of the lines where there are several threads."""
    monkeypatch.setattr(os, "times", lambda: os.times_result((1.0, 0.5, 20.0, 3.0, 99.0)))
    assert processor_seconds() == 24.5
