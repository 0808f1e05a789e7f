"""Pairs held out of training data: always the same ones, and never in both sets."""

import random
from pathlib import Path

import pytest

from nmtkit.errors import DataError
from nmtkit.preprocessing.splits import SplitCounts, hold_out, smallest

Files = tuple[Path, Path]
Pairs = list[tuple[str, str]]


def files(folder: Path, name: str) -> Files:
    return folder / f"{name}.src", folder / f"{name}.tgt"


def write(paths: Files, pairs: Pairs) -> SplitCounts:
    """Write prepared files of pairs and return their counts."""
    report = SplitCounts(clean=True, read=len(pairs), pairs=len(pairs))
    for number, (path, side) in enumerate(zip(paths, ("src", "tgt"), strict=True)):
        path.write_text("".join(f"{pair[number]}\n" for pair in pairs), encoding="utf-8")
        report.tokens[side] = sum(len(pair[number].split()) for pair in pairs)
    return report


def read(paths: Files) -> Pairs:
    return list(zip(*(path.read_text("utf-8").splitlines() for path in paths), strict=True))


def held(folder: Path, pairs: Pairs, count: int) -> tuple[Pairs, Pairs, SplitCounts, SplitCounts]:
    """Hold out pairs; return training pairs, dev pairs and the counts of both."""
    all_pairs, train, dev = (files(folder, name) for name in ("whole", "train", "dev"))
    report = write(all_pairs, pairs)
    dev_report = hold_out(all_pairs, train, dev, count, [report])
    assert len(list(folder.iterdir())) == 6
    return read(train), read(dev), report, dev_report


def some(size: int, seed: int = 1) -> Pairs:
    numbers = random.Random(seed).sample(range(10 * size), size)
    return [(f"a{n} é" + " a" * (n % 3), f"b{n}" + " b" * (n % 5)) for n in numbers]


def test_each_pair_is_in_train_or_dev_in_order(tmp_path):
    pairs = some(300)
    train, dev, report, dev_report = held(tmp_path, pairs, 40)
    dev_pairs = set(dev)
    assert len(dev) == len(dev_pairs) == dev_report.pairs == dev_report.read == 40
    assert train == [pair for pair in pairs if pair not in dev_pairs]
    assert dev == [pair for pair in pairs if pair in dev_pairs]
    assert (report.pairs, report.held_out) == (260, 40)
    for split, counts in ((train, report), (dev, dev_report)):
        for number, side in enumerate(("src", "tgt")):
            assert counts.tokens[side] == sum(len(pair[number].split()) for pair in split)


def test_copies_of_a_held_out_pair_leave_train_and_are_not_repeated(tmp_path):
    pairs = some(30) * 3
    train, dev, report, dev_report = held(tmp_path, pairs, 10)
    assert len(set(dev)) == len(dev) == 10
    assert not set(train) & set(dev)
    assert (len(train), report.held_out, dev_report.pairs) == (60, 30, 10)


def test_the_held_out_pairs_depend_on_the_pairs_alone(tmp_path):
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    pairs, more = some(200), some(200, seed=2)
    _, dev, _, _ = held(tmp_path / "one", pairs, 50)
    _, dev_of_reversed, _, _ = held(tmp_path / "two", pairs[::-1], 50)
    assert dev_of_reversed == dev[::-1]
    _, dev_of_larger, _, _ = held(tmp_path / "three", pairs + more, 50)
    assert {pair for pair in dev_of_larger if pair in set(pairs)} <= set(dev)
    assert 10 < len(set(dev_of_larger) & set(dev)) < 40


def test_held_out_pairs_come_from_the_whole_corpus(tmp_path):
    pairs = [(f"a{n}", "b") for n in range(4000)]
    _, dev, _, _ = held(tmp_path, pairs, 1000)
    line_numbers = sorted(int(src[1:]) for src, _ in dev)
    for quarter in range(4):
        # binomial, standard deviation about 13
        assert 180 < sum(1000 * quarter <= n < 1000 * quarter + 1000 for n in line_numbers) < 320


@pytest.mark.parametrize("count", [5, 6, 100])
def test_holding_out_all_pairs_is_refused(tmp_path, count):
    with pytest.raises(DataError, match=f"cannot hold out {count} of 15 training pairs"):
        held(tmp_path, some(5) * 3, count)


@pytest.mark.parametrize("count", [1, 7, 50, 80])
def test_smallest_equals_the_first_of_the_sorted_set(count):
    numbers = [random.Random(count).randrange(60) for _ in range(200)]
    assert smallest(iter(numbers), count) == set(sorted(set(numbers))[:count])
