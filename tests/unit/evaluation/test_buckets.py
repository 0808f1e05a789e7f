"""Buckets of a test set against plain loops over sentences."""

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from nmtkit.errors import ConfigError
from nmtkit.evaluation.buckets import (
    DEFAULT_BOUNDS,
    Bucket,
    Bucketing,
    EvaluationSet,
    bucket_values,
    cumulative_buckets,
    disjoint_buckets,
    length_windows,
    make_buckets,
    sentences_of_length,
    sentences_without_unknown_words,
    sorted_windows,
)
from nmtkit.evaluation.retokenize import Retokenizer
from nmtkit.special_symbols import SPECIAL_WORDS
from nmtkit.text.vocabulary import Vocabulary

WORDS = ["a", "b", "c", "d", "e", "x", "y", "z"]
SRC_KNOWN, TGT_KNOWN = ["a", "b", "c", "d", "e"], ["x", "a", "y", "c", "z", "b"]


def sentences(seed: int, size: int = 60, longest: int = 30) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(0, longest))) for _ in range(size)]


@pytest.fixture(params=range(3))
def texts(request: pytest.FixtureRequest) -> EvaluationSet:
    seed = request.param
    vocabularies = [Vocabulary([*SPECIAL_WORDS, *words]) for words in (SRC_KNOWN, TGT_KNOWN)]
    return EvaluationSet(sentences(seed + 50), sentences(seed), *vocabularies)


def numbers(bucket: Bucket) -> list[int]:
    return bucket.sentences.tolist()


def lengths(lines: Sequence[str]) -> list[int]:
    return [len(line.split()) for line in lines]


def unknown(lines: Sequence[str], words: Sequence[str]) -> list[int]:
    return [sum(1 for word in line.split() if word not in words) for line in lines]


def ranks(lines: Sequence[str], words: Sequence[str]) -> list[float]:
    """Return the mean rank, from 1; a word outside the list has the rank after the last."""
    result = []
    for line in lines:
        ranks = [words.index(w) + 1 if w in words else len(words) + 1 for w in line.split()]
        result.append(sum(ranks) / len(ranks) if ranks else math.nan)
    return result


def test_values_equal_a_plain_count(texts: EvaluationSet) -> None:
    actual: dict[str, list[list[float]]] = {
        "length": [[*lengths(texts.source)], [*lengths(texts.reference)]],
        "unknown": [
            [*unknown(texts.source, SRC_KNOWN)],
            [*unknown(texts.reference, TGT_KNOWN)],
        ],
        "rank": [ranks(texts.source, SRC_KNOWN), ranks(texts.reference, TGT_KNOWN)],
    }
    for by, sides in actual.items():
        np.testing.assert_allclose(bucket_values(by, "both", texts), sides)
        np.testing.assert_allclose(bucket_values(by, "source", texts), sides[:1])
        np.testing.assert_allclose(bucket_values(by, "reference", texts), sides[1:])


def test_special_words_of_a_text_are_unknown() -> None:
    texts = EvaluationSet(["a <unk> </s>"], tgt_vocab=Vocabulary([*SPECIAL_WORDS, "a"]))
    assert bucket_values("unknown", "reference", texts).tolist() == [[2]]
    assert bucket_values("rank", "reference", texts).tolist() == [[(1 + 2 + 2) / 3]]


@pytest.mark.parametrize("of", ["source", "reference", "both"])
@pytest.mark.parametrize("by", ["length", "rank"])
def test_buckets_contain_the_values_between_two_bounds(
    texts: EvaluationSet, by: str, of: str
) -> None:
    bounds = (3.0, 4.5, 10.0, 40.0)
    values = bucket_values(by, of, texts)
    buckets = make_buckets(Bucketing(by, of, bounds), texts)
    assert [(s.low, s.high) for s in buckets] == [
        (-math.inf, 3.0),
        (3.0, 4.5),
        (4.5, 10.0),
        (10.0, 40.0),
        (40.0, math.inf),
    ]
    for bucket in buckets:
        inside = [
            i
            for i in range(60)
            if all(bucket.low < side[i] <= bucket.high for side in values.tolist())
        ]
        assert numbers(bucket) == inside
        mean = [side[i] for side in values.tolist() for i in inside]
        assert bucket.position == pytest.approx(
            sum(mean) / len(mean) if mean else math.nan, nan_ok=True
        )
    assert math.isnan(buckets[-1].position) and not numbers(buckets[-1])


def test_buckets_by_one_side_partition_the_sentences(texts: EvaluationSet) -> None:
    buckets = disjoint_buckets(bucket_values("length", "source", texts), DEFAULT_BOUNDS["length"])
    assert sorted(i for bucket in buckets for i in numbers(bucket)) == list(range(60))


@pytest.mark.parametrize("of", ["source", "reference", "both"])
def test_cumulative_buckets_of_unknown_words(texts: EvaluationSet, of: str) -> None:
    sides = [unknown(texts.source, SRC_KNOWN), unknown(texts.reference, TGT_KNOWN)]
    sides = {"source": sides[:1], "reference": sides[1:], "both": sides}[of]
    buckets = make_buckets(Bucketing("unknown", of), texts)
    for k, bucket in enumerate(buckets):
        assert numbers(bucket) == [i for i in range(60) if all(side[i] <= k for side in sides)]
        assert (bucket.position, bucket.high) == (k, k)
    assert len(numbers(buckets[-1])) == 60 or len(buckets) == 11
    assert all(len(numbers(bucket)) < 60 for bucket in buckets[:-1])


def test_cumulative_buckets_end_when_one_has_all_sentences() -> None:
    values = np.array([[0.0, 2, 1, 0]])
    assert [numbers(s) for s in cumulative_buckets(values, range(9))] == [
        [0, 3],
        [0, 2, 3],
        [0, 1, 2, 3],
    ]
    assert [numbers(s) for s in cumulative_buckets(values, [1])] == [[0, 2, 3]]


@pytest.mark.parametrize("of", ["source", "both"])
@pytest.mark.parametrize("width", [1, 4, 10])
def test_length_windows_have_equal_widths(texts: EvaluationSet, width: int, of: str) -> None:
    sides = [lengths(texts.source), lengths(texts.reference)][: 1 if of == "source" else 2]
    shortest, longest = min(map(min, sides)), max(map(max, sides))
    expected = []
    for first in range(shortest, longest - width + 2):
        window = range(first, first + width)
        inside = [i for i in range(60) if all(side[i] in window for side in sides)]
        if inside:
            expected.append(((first + first + width - 1) / 2, inside))
    actual = make_buckets(Bucketing("length", of, window=width), texts)
    assert [(s.position, numbers(s)) for s in actual] == expected
    assert all(s.high - s.low == width for s in actual)


def test_a_window_wider_than_all_lengths_has_all_sentences() -> None:
    (window,) = length_windows(np.array([[4.0, 6, 5]]), 10)
    assert numbers(window) == [0, 1, 2]


@pytest.mark.parametrize("size", [1, 7, 25, 60, 100])
@pytest.mark.parametrize("by", ["length", "rank"])
def test_sorted_windows_follow_the_order_of_values(
    texts: EvaluationSet, by: str, size: int
) -> None:
    (values,) = bucket_values(by, "source", texts).tolist()
    ordered = sorted((value, i) for i, value in enumerate(values) if not math.isnan(value))
    step = max(1, size // 10)
    starts = [s for s in range(0, len(ordered), step) if s + size < len(ordered)]
    starts.append(max(0, len(ordered) - size))
    actual = make_buckets(Bucketing(by, neighbours=size), texts)
    assert len(actual) == len(starts)
    for start, bucket in zip(starts, actual, strict=True):
        window = ordered[start : start + size]
        assert numbers(bucket) == sorted(i for _, i in window)
        assert (bucket.low, bucket.high) == (window[0][0], window[-1][0])
        assert bucket.position == pytest.approx(sum(value for value, _ in window) / len(window))


def test_sentences_without_rank_are_in_no_window() -> None:
    assert sorted_windows(np.array([math.nan, math.nan]), 2) == []
    (window,) = sorted_windows(np.array([math.nan, 2.0]), 2)
    assert numbers(window) == [1]


def test_no_unknown_word_in_source_and_reference(texts: EvaluationSet) -> None:
    short = EvaluationSet(
        [*texts.reference[:3], "a", "x y", ""], [*texts.source[:3], "a b", "x", ""]
    )
    short = EvaluationSet(short.reference, short.source, texts.src_vocab, texts.tgt_vocab)
    u, v = unknown(short.source, SRC_KNOWN), unknown(short.reference, TGT_KNOWN)
    assert sentences_without_unknown_words(short).tolist() == [
        i for i in range(6) if u[i] == 0 and v[i] == 0
    ]
    assert {3, 5} <= set(
        sentences_without_unknown_words(short).tolist()
    ) and 4 not in sentences_without_unknown_words(short)


def test_both_sides_of_10_to_20_words(texts: EvaluationSet) -> None:
    m, n = lengths(texts.source), lengths(texts.reference)
    expected = [i for i in range(60) if 10 <= m[i] <= 20 and 10 <= n[i] <= 20]
    assert sentences_of_length(texts, 10, 20).tolist() == expected and expected


def test_a_subset_keeps_the_vocabularies_and_the_order(texts: EvaluationSet) -> None:
    part = texts.subset(np.array([5, 2]))
    assert part.source == [texts.source[5], texts.source[2]]
    assert part.reference == [texts.reference[5], texts.reference[2]]
    assert part.tgt_vocab is texts.tgt_vocab and part.src_vocab is texts.src_vocab
    assert list(EvaluationSet(["a"]).subset(np.array([0])).source) == []


def test_each_side_has_its_own_retokenizer() -> None:
    texts = EvaluationSet(["a-b"], ["a-b"])
    actual = texts.retokenized(None, Retokenizer("split", lambda line: line.replace("-", " - ")))
    assert (list(actual.source), list(actual.reference)) == (["a-b"], ["a - b"])


def test_missing_texts_and_vocabularies_are_reported() -> None:
    with pytest.raises(ConfigError, match="lengths of the source need the source"):
        bucket_values("length", "both", EvaluationSet(["a"]))
    with pytest.raises(ConfigError, match="the reference need its vocabulary; give --tgt-vocab"):
        bucket_values("rank", "reference", EvaluationSet(["a"]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"by": "length", "bounds": (3.0,), "window": 4}, "exclude each other"),
        ({"by": "length", "window": 3, "neighbours": 4}, "exclude each other"),
        ({"by": "length", "bounds": (3.0, 2.0)}, "must rise"),
        ({"by": "length", "bounds": (3.0, 3.0)}, "must rise"),
        ({"by": "rank", "window": 4}, "cannot divide by rank"),
        ({"by": "unknown", "neighbours": 4}, "of one side"),
        ({"by": "rank", "neighbours": 4, "of": "both"}, "of one side"),
    ],
)
def test_contradictory_bucketings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Bucketing(**settings)  # type: ignore[arg-type]
