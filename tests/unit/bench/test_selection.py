"""The benchmark of data selection, on a pool of two domains."""

import random
from argparse import Namespace
from pathlib import Path

import pytest
from selection import Job, cost, quality, report


def written(folder: Path, name: str, lines: list[str]) -> list[Path]:
    paths = [folder / f"{name}.{side}" for side in ("src", "tgt")]
    for path in paths:
        path.write_text("".join(f"{line}\n" for line in lines))
    return paths


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Lines that count letters upwards are the domain; a third of the pool's."""
    draw = random.Random(1)

    def lines(count: int, letters: str) -> list[str]:
        firsts = [draw.randrange(10) for _ in range(count)]
        return [" ".join(letters[first : first + draw.randrange(3, 9)]) for first in firsts]

    letters = "abcdefghijklmnopqrstuvwxyz"
    pool = lines(100, letters) + lines(200, letters[::-1])
    draw.shuffle(pool)
    return Job(
        Namespace(
            domain=written(tmp_path, "domain", lines(60, letters)),
            test=written(tmp_path, "test", lines(40, letters)),
            pool=[written(tmp_path, "pool", pool)],
            words=[300], draws=2, times=[2], order=3, workers=1,
            src_language="en", tgt_language="fr", work=tmp_path,
        )
    )  # fmt: skip


def test_a_selection_beats_a_random_draw(job: Job) -> None:
    own, row = quality(job)
    assert own["random"] == [] and len(row["random"]) == 2
    for side in (0, 1):
        assert own["selected"][side] < 1.5 * row["selected"][side]
        assert all(row["selected"][side] < drawn[side] for drawn in row["random"])


def test_the_cost_of_a_doubled_pool(job: Job) -> None:
    (row,) = cost(job)
    assert row["pairs"] == 600 and row["cpu"] > 0 and row["peak"] > 1e7
    assert not list(job.options.work.glob("pool-2*"))
    told = report(job.options, [], [row]).splitlines()[-1]
    assert told.startswith("| 600 | ")
