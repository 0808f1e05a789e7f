"""What clients learn about a line, from one model or from two in turn."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from nmtkit.serve.task import Task

LineResult = dict[str, Any]
"""What clients learn about a line: see `piece.line_result`."""

Link = list[Any]
"""A target word, a source word, and the weight with which it is aligned."""

MIN_WEIGHT = 0.02
"""Attention weights below this are not sent; rows have as many entries as words of the source."""


def empty_result(task: Task, prefix: str = "") -> LineResult:
    """Return the result of a line for which no model is run, such as one without words.

    :param prefix: beginning of its translation, which is all of it.
    """
    if task.continuations:
        return {"continuations": []}
    result: LineResult = {"text": prefix, "alternatives": [], "missing_terms": []}
    result |= {"ranking_scores": [0.0], "finished": True, "score": 0.0}
    if task.details:
        result["alternative_details"] = []
        result |= {"source_words": [], "target_words": [], "alignment": [], "word_scores": []}
    if task.confidence:
        result |= {"confidence": None, "word_confidences": None}
    return result


def pivoted_result(first: LineResult, last: LineResult, task: Task) -> LineResult:
    """Return the result of a line whose translation by one model another model has translated.

    Scores are the sums of both models', log p of both translations. Links go from the last words
    through those between to the first ones. Alternatives are those of the last model. How sure the
    models are of both is not known: they are calibrated for texts that nobody has translated.

    :param first, last: results of the models, for the tasks of `Task.steps`.
    :param task: of the request.
    """
    if task.continuations:
        return last
    begun = first["ranking_scores"][0]
    result: LineResult = {
        **last,
        "ranking_scores": [begun + score for score in last["ranking_scores"]],
        "finished": first["finished"] and last["finished"],
        "score": first["score"] + last["score"],
    }
    if task.details:
        result |= _details(first, last)
        result["alternative_details"] = [
            {**one, **_details(first, one)} for one in last["alternative_details"]
        ]
    if task.confidence:
        result |= {"confidence": None, "word_confidences": None}
    return result


def _details(first: LineResult, last: LineResult) -> LineResult:
    """Return the source words of the first model, and their links to the words of the last."""
    return {"source_words": first["source_words"], "alignment": _composed(first, last)}


def _composed(first: LineResult, last: LineResult) -> list[Link]:
    """Return the links of the last model's words to the first one's.

    The weight of a link is the sum over the words between: the product of the matrices. Each model
    has its own words there, which are matched by their places in the text.
    """
    shares = list(_shares(last["source_words"], first["target_words"]))
    sources: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
    for target, source, weight in first["alignment"]:
        sources[target].append((source, weight))
    sums: defaultdict[tuple[int, int], float] = defaultdict(float)
    for target, middle, weight in last["alignment"]:
        for word, share in shares[middle]:
            for source, first_weight in sources[word]:
                sums[target, source] += weight * share * first_weight
    links = ([*words, round(weight, 3)] for words, weight in sorted(sums.items()))
    return [link for link in links if link[2] >= MIN_WEIGHT]


def _shares(
    words: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]
) -> Iterator[list[tuple[int, float]]]:
    """Yield for each word the other words that share characters with it, and which share each has.

    :param words, others: of the same text, in their order.
    """
    ends = [word["end"] for word in others]
    for word in words:
        found: list[tuple[int, int]] = []
        for number in range(bisect_right(ends, word["start"]), len(others)):
            other = others[number]
            if other["start"] >= word["end"]:
                break
            size = min(word["end"], other["end"]) - max(word["start"], other["start"])
            found += [(number, size)] if size > 0 else []
        total = sum(size for _, size in found)
        yield [(number, size / total) for number, size in found]
