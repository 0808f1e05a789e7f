"""The result of a line that two models have translated in turn."""

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.serve.results import MIN_WEIGHT, LineResult, empty_result, pivoted_result
from nmtkit.serve.task import Task

Words = list[dict[str, Any]]

DETAILS = Task(details=True)


def words_of(sizes: list[int]) -> Words:
    """Return words of so many characters, with a blank behind each."""
    ends = np.cumsum([size + 1 for size in sizes]) - 1
    return [
        {"start": int(end) - size, "end": int(end)} for size, end in zip(sizes, ends, strict=True)
    ]


def result(sources: Words, targets: Words, weights: np.ndarray, **others: Any) -> LineResult:
    links = [
        [target, source, weights[target, source]]
        for target in range(len(targets))
        for source in range(len(sources))
        if weights[target, source] >= MIN_WEIGHT
    ]
    return {
        **empty_result(DETAILS),
        "source_words": sources,
        "target_words": targets,
        "alignment": links,
        **others,
    }


def matrix(links: list[list[Any]], shape: tuple[int, int]) -> np.ndarray:
    found = np.zeros(shape)
    for target, source, weight in links:
        found[target, source] = weight
    return found


def stochastic(rows: int, columns: int, seed: int) -> np.ndarray:
    """Return a matrix whose rows sum to 1."""
    return np.random.default_rng(seed).dirichlet(np.full(columns, 0.3), size=rows)


sizes = st.lists(st.integers(1, 6), min_size=1, max_size=6)


@given(sizes, st.integers(1, 5), st.integers(1, 5), st.integers(0, 1000))
def test_links_of_the_same_words_between_are_the_product_of_both_matrices(
    middle: list[int], sources: int, targets: int, seed: int
) -> None:
    words = words_of(middle)
    one = stochastic(len(words), sources, seed)
    two = stochastic(targets, len(words), seed + 1)
    one[one < MIN_WEIGHT] = two[two < MIN_WEIGHT] = 0
    first = result(words_of([1] * sources), words, one)
    last = result(words, words_of([2] * targets), two)
    found = pivoted_result(first, last, DETAILS)
    assert found["source_words"] == first["source_words"]
    assert found["target_words"] == last["target_words"]
    expected = two @ one
    expected[np.round(expected, 3) < MIN_WEIGHT] = 0
    np.testing.assert_allclose(matrix(found["alignment"], expected.shape), expected, atol=0.0005001)
    assert found["alignment"] == sorted(found["alignment"])


@given(sizes, st.data())
def test_words_that_are_divided_otherwise_keep_the_sums_of_weights(
    middle: list[int], data: st.DataObject
) -> None:
    """The models have other words between, as one divides `it's` where the other does not."""
    words = words_of(middle)
    length = words[-1]["end"]
    cuts = sorted(data.draw(st.sets(st.integers(1, length), max_size=5)) - {length})
    edges = [0, *cuts, length]
    others = [{"start": start, "end": end} for start, end in pairwise(edges)]
    first = result(words_of([1]), words, np.ones((len(words), 1)))
    last = result(others, words_of([1] * len(others)), np.eye(len(others)))
    found = matrix(pivoted_result(first, last, DETAILS)["alignment"], (len(others), 1))
    text = "".join("x" * (word["end"] - word["start"]) + " " for word in words)
    has_letters = [bool(text[one["start"] : one["end"]].strip()) for one in others]
    np.testing.assert_allclose(found[:, 0], np.array(has_letters, float))


def test_scores_are_sums_and_alternatives_those_of_the_last_model() -> None:
    words = words_of([3])
    first = result(words, words, np.eye(1), score=-1.0, ranking_scores=[-0.5], finished=False)
    detail = {"alignment": [[0, 0, 0.5]], "source_words": words, "target_words": words}
    detail["word_scores"] = [-0.1]
    last = result(words, words, np.eye(1), score=-2.0, ranking_scores=[-0.25, -1.0])
    last |= {"text": "a", "alternatives": ["b"], "alternative_details": [detail]}
    found = pivoted_result(first, last, Task(details=True, confidence=True, alternatives=1))
    assert found["score"] == -3.0 and found["ranking_scores"] == [-0.75, -1.5]
    assert (found["text"], found["alternatives"], found["finished"]) == ("a", ["b"], False)
    assert found["alternative_details"] == [detail]
    assert found["confidence"] is None and found["word_confidences"] is None


def test_a_model_without_attention_gives_no_links() -> None:
    words = words_of([3, 2])
    none = empty_result(DETAILS)
    some = result(words, words, np.eye(2))
    for first, last in ((none, some), (some, none), (none, none)):
        assert pivoted_result(first, last, DETAILS)["alignment"] == []


def test_the_steps_of_a_task_leave_to_the_first_model_what_the_last_one_needs() -> None:
    task = Task(alternatives=3, markup="html", details=True, confidence=True)
    first, last = task.steps(2)
    assert first == Task(markup="html", details=True)
    assert last == Task(alternatives=3, markup="html", details=True)
    assert task.steps(1) == [task] and task.steps(0) == []
