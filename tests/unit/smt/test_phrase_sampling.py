"""Samples of a phrase table, against a slow program that holds the whole table."""

import collections
import gc
import math
import random

import pytest

from nmtkit.errors import DataError
from nmtkit.smt.phrase_sampling import (
    MIN_LOG_PROB,
    PhraseSamplingConfig,
    Reservoir,
    SourcePhrase,
    sample_phrase_table,
)
from nmtkit.smt.phrase_table import read_phrase_table


def table_lines(phrases=60, seed=1):
    """Return lines with source phrases of 1 to 6 words, 1 to 6 targets, scores and counts."""
    draw = random.Random(seed)
    lines = []
    for number in range(phrases):
        src = " ".join([f"w{number}", *draw.choices("abc", k=draw.randrange(6))])
        joint = [draw.randrange(1, 5) for _ in range(draw.randrange(1, 7))]
        for target, both in enumerate(joint):
            scores = f"0.5 0.25 {both / sum(joint):.6g} 0.125"
            counts = f"{both + 1} {sum(joint)} {both}"
            lines.append(f"{src} ||| t{number} {target} ||| {scores} ||| 0-0 ||| {counts} ||| |||")
    return lines


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def chosen(path, **how):
    return sample_phrase_table(read_phrase_table(path), path, PhraseSamplingConfig(**how))


def slow_pools(lines, min_words, top):
    """Return the counts of the eligible phrases, and those of each half."""
    targets, counts = collections.defaultdict(set), {}
    for line in lines:
        src, tgt, _, _, numbers, *_ = line.split(" ||| ")
        targets[src].add(tgt)
        counts[src] = int(numbers.split()[1])
    eligible = {s: counts[s] for s in counts if len(s.split()) >= min_words}
    return targets, {s: c for s, c in eligible.items() if len(targets[s]) >= top}


@pytest.mark.parametrize(("min_words", "top"), [(1, 1), (4, 3), (6, 2)])
def test_frequent_and_rare_phrases(tmp_path, min_words, top):
    lines = table_lines()
    targets, eligible = slow_pools(lines, min_words, top)
    for seed in range(5):
        choice = chosen(
            write(tmp_path / "t", lines), phrases=3, min_words=min_words, top=top, seed=seed
        )
        assert choice.eligible == len(eligible) and choice.total == len(lines)
        order = sorted(eligible.values(), reverse=True)
        half = math.ceil(len(order) / 2)
        frequent, rare = choice.frequent, choice.rare
        assert len(frequent) == len(rare) == 3
        assert all(block.count >= order[half - 1] for block in frequent)
        assert all(block.count <= order[half] for block in rare)
        assert not {b.src for b in frequent} & {b.src for b in rare}
        for blocks in (frequent, rare):
            assert [b.count for b in blocks] == sorted((b.count for b in blocks), reverse=True)
        for block in (*frequent, *rare):
            assert block.count == eligible[block.src]
            assert {pair.tgt for pair in block.pairs} == targets[block.src]
            assert {pair.src for pair in block.pairs} == {block.src}


def test_frequent_and_rare_phrases_are_drawn_from_the_extremes(tmp_path, monkeypatch):
    """With pools of 4, over many seeds, exactly the phrases of the pools are drawn."""
    monkeypatch.setattr("nmtkit.smt.phrase_sampling.POOL_SIZE", 4)
    lines = [f"a b c d{number} ||| t ||| 1 1 1 1 ||| ||| 9 {number} 1" for number in range(1, 31)]
    path = write(tmp_path / "t", random.Random(5).sample(lines, len(lines)))
    actual = [chosen(path, phrases=2, top=1, seed=seed) for seed in range(40)]
    assert {b.count for choice in actual for b in choice.frequent} == {27, 28, 29, 30}
    assert {b.count for choice in actual for b in choice.rare} == {1, 2, 3, 4}
    wide = chosen(path, phrases=9, top=1)
    assert [b.count for b in wide.frequent] == [*range(30, 21, -1)]
    assert [b.count for b in wide.rare] == [*range(9, 0, -1)]


def test_phrases_of_equal_count_are_ordered_at_random(tmp_path, monkeypatch):
    monkeypatch.setattr("nmtkit.smt.phrase_sampling.POOL_SIZE", 1)
    path = write(
        tmp_path / "t", [f"a b c d{n} ||| t ||| 1 1 1 ||| ||| 9 7 1" for n in range(10, 20)]
    )
    actual = [chosen(path, phrases=1, top=1, seed=seed) for seed in range(60)]
    for kind in ("frequent", "rare"):
        assert len({getattr(choice, kind)[0].src for choice in actual}) == 10
    assert all(choice.frequent[0].src != choice.rare[0].src for choice in actual)


def test_one_eligible_phrase_is_a_frequent_one(tmp_path):
    path = write(tmp_path / "t", ["a b c d ||| t ||| 1 1 1 ||| ||| 1 1 1"])
    choice = chosen(path, top=1)
    assert [len(choice.frequent), len(choice.rare), choice.eligible] == [1, 0, 1]


def test_a_repeated_pair_counts_as_one_target(tmp_path):
    lines = ["a b c d ||| t ||| 1 1 0.5 ||| ||| 1 2 1"] * 2
    with pytest.raises(DataError, match="no source phrase of 4 or more words has 2 or more"):
        chosen(write(tmp_path / "t", lines), top=2)


def test_pairs_are_drawn_uniformly_without_replacement(tmp_path):
    lines = table_lines(20)
    path = write(tmp_path / "t", lines)
    every = [(pair.src, pair.tgt) for pair in read_phrase_table(path)]
    times: collections.Counter[tuple[str, str]] = collections.Counter()
    for seed in range(300):
        drawn = chosen(path, pairs=10, min_words=1, top=1, seed=seed).drawn
        assert len({(pair.src, pair.tgt) for pair in drawn}) == 10
        times.update((pair.src, pair.tgt) for pair in drawn)
    expected = 300 * 10 / len(every)
    assert set(times) == set(every)
    chi_square = sum((times[pair] - expected) ** 2 / expected for pair in every)
    assert chi_square < len(every) + 5 * math.sqrt(2 * len(every))
    drawn = chosen(path, pairs=10_000, min_words=1, top=1).drawn
    assert [(pair.src, pair.tgt) for pair in drawn] == every


def test_the_seed_determines_the_sample(tmp_path):
    path = write(tmp_path / "t", table_lines())
    assert chosen(path, pairs=20, seed=4) == chosen(path, pairs=20, seed=4)
    other = chosen(path, pairs=20, seed=5)
    assert chosen(path, pairs=20, seed=4).drawn != other.drawn
    assert chosen(path, pairs=20, seed=4).frequent != other.frequent


def test_scores_are_natural_logarithms_of_their_columns(tmp_path):
    line = "a ||| t ||| 0.5 0.25 0.125 0 -3.5 -1e9 1e-60 0.75 ||| ||| 1.5 2.5 1"
    path = write(tmp_path / "t", [line])
    one = {"min_words": 1, "top": 1}
    [pair] = chosen(path, **one).drawn
    assert pair.table == pytest.approx(math.log(0.125)) and math.isnan(pair.model)
    [pair] = chosen(path, **one, table_column=1, model_column=8).drawn
    assert [pair.table, pair.model] == pytest.approx([math.log(0.5), math.log(0.75)])
    [pair] = chosen(path, **one, model_column=5, logs=True).drawn
    assert pair.model == -3.5
    for column, logs in ((4, False), (6, True), (7, False)):
        [pair] = chosen(path, **one, model_column=column, logs=logs).drawn
        assert pair.model == MIN_LOG_PROB == -100
    assert chosen(path, **one).frequent[0].count == 2.5


GOOD = "a ||| t ||| 0.5 0.5 0.5 0.5 ||| 0-0 ||| 1 1 1 ||| |||"


@pytest.mark.parametrize(
    ("line", "how", "message"),
    [
        ("a ||| u ||| 0.5 0.5 0.5 ||| 0-0", {}, ":2: the counts .* are missing"),
        ("a ||| u ||| 0.5 0.5 0.5 ||| 0-0 |||  ||| |||", {}, "counts .* are missing"),
        ("a ||| u ||| 0.5 0.5 0.5 ||| 0-0 ||| 4", {}, ":2: the counts .* are '4'"),
        ("a ||| u ||| 0.5 0.5 0.5 ||| 0-0 ||| 4 x", {}, ":2: the counts .* are '4 x'"),
        ("a ||| u ||| 0.5 0.5 0.5 ||| 0-0 ||| 4 0 0", {}, ":2: the counts .* are '4 0 0'"),
        ("a ||| u ||| 0.5 0.5 ||| 0-0 ||| 1 1 1", {}, ":2: there is no score 3, only 2"),
        (GOOD, {"model_column": 5}, ":1: there is no score 5, only 4"),
        ("a ||| u ||| 1 1 two ||| ||| 1 1 1", {}, ":2: the score 'two' is not a number"),
        ("a ||| u ||| 1 1 nan ||| ||| 1 1 1", {}, ":2: the score 'nan' is not a number"),
        ("a ||| u ||| 1 1 2.718 ||| ||| 1 1 1", {}, ":2: score 3, '2.718', is not"),
        ("a ||| u ||| -1 1 1 ||| ||| 1 1 1", {"model_column": 1}, ":2: score 1, '-1', is not"),
        (GOOD, {"model_column": 1, "logs": True}, ":1: .* not the logarithm of a prob"),
        (GOOD, {"top": 3}, "no source phrase of 1 or more words has 3 or more targets"),
    ],
)
def test_an_unusable_line_is_reported(tmp_path, line, how, message):
    path = write(tmp_path / "table", [GOOD, line])
    with pytest.raises(DataError, match=message) as error:
        chosen(path, **{"min_words": 1, "top": 1, **how})
    assert str(error.value).startswith(f"{path}") and "\n" not in str(error.value)


def test_an_empty_table(tmp_path):
    with pytest.raises(DataError, match="t: the phrase table is empty"):
        chosen(write(tmp_path / "t", []))


def test_memory_does_not_grow_with_the_table(tmp_path):
    """Only phrases that may be drawn are kept: of 3,000 phrases, 200 and a few pairs."""
    pairs = list(read_phrase_table(write(tmp_path / "t", table_lines(3000))))
    alive = 0

    def stream():
        nonlocal alive
        yield from pairs
        alive = sum(type(thing) is SourcePhrase for thing in gc.get_objects())

    sample_phrase_table(stream(), "t", PhraseSamplingConfig(pairs=10, min_words=1, top=1))
    assert 100 <= alive <= 201


def test_a_reservoir_takes_all_of_a_short_stream():
    reservoir: Reservoir[int] = Reservoir(5, random.Random(1))
    for number in range(3):
        reservoir.add(number)
    assert reservoir.items == [0, 1, 2]
