"""The benchmark of data selection, on a pool of two domains."""

import random
from argparse import Namespace
from pathlib import Path

import pytest
from selection import Job, cost, precision, quality, report


def write_both_sides(folder: Path, name: str, lines: list[str]) -> list[Path]:
    paths = [folder / f"{name}.{side}" for side in ("src", "tgt")]
    for path in paths:
        path.write_text("".join(f"{line}\n" for line in lines))
    return paths


LETTERS = "abcdefghijklmnopqrstuvwxyz"


def lines(count: int, letters: str, rng: random.Random) -> list[str]:
    """Return lines of 3 to 8 consecutive letters."""
    firsts = [rng.randrange(10) for _ in range(count)]
    return [" ".join(letters[first : first + rng.randrange(3, 9)]) for first in firsts]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Return a job: lines of ascending letters are the domain, and a third of the pool."""
    rng = random.Random(1)
    pool = lines(100, LETTERS, rng) + lines(200, LETTERS[::-1], rng)
    rng.shuffle(pool)
    return Job(
        Namespace(
            domain=write_both_sides(tmp_path, "domain", lines(60, LETTERS, rng)),
            test=write_both_sides(tmp_path, "test", lines(40, LETTERS, rng)),
            pool=[write_both_sides(tmp_path, "pool", pool)],
            words=[300], draws=2, times=[2], order=3, workers=1,
            src_language="en", tgt_language="fr", work=tmp_path,
        )
    )  # fmt: skip


def test_a_selection_beats_a_random_draw(job: Job) -> None:
    domain_own, row = quality(job)
    assert domain_own["random"] == [] and len(row["random"]) == 2
    for side in (0, 1):
        assert domain_own["selected"][side] < 1.5 * row["selected"][side]
        assert all(row["selected"][side] < drawn[side] for drawn in row["random"])


def test_the_cost_of_a_doubled_pool(job: Job) -> None:
    (row,) = cost(job)
    assert row["pairs"] == 600 and row["cpu"] > 0 and row["peak"] > 1e7
    assert not list(job.options.work.glob("pool-2*"))
    last_row = report(job.options, [], [row], []).splitlines()[-1]
    assert last_row.startswith("| 600 | ")


def test_precision_is_the_share_of_hidden_pairs(job: Job, tmp_path: Path) -> None:
    rng = random.Random(2)
    job.options.pool = [write_both_sides(tmp_path, "pool", lines(200, LETTERS[::-1], rng))]
    job.options.hidden = write_both_sides(tmp_path, "hidden", lines(50, LETTERS, rng))
    job.options.domain_pairs = [20, 999]  # the domain has 60
    rows = precision(job)
    assert [(row["pairs"], row["hidden"], row["pool"]) for row in rows] == [
        (20, 50, 250),
        (60, 50, 250),
    ]
    assert all(row["precision"] > 0.9 for row in rows)
    assert "| 60 | " in report(job.options, [], [], rows)
    job.options.hidden = write_both_sides(tmp_path, "hidden", lines(50, LETTERS[::-1], rng))
    assert all(row["precision"] < 0.5 for row in precision(job))
