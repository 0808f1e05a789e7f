"""Small random n-best lists with references."""

import random
from collections.abc import Callable

import pytest

from nmtkit.smt.nbest import Entry, parse

MakeList = Callable[..., tuple[list[Entry], list[str]]]


@pytest.fixture
def make_list() -> MakeList:
    """`make_list(seed)`: the entries of a list with the features A (two values) and B, and the
    references of its sentences.

    Values are small whole numbers, so that lines of equal slope and height are frequent. The
    hypotheses are references with some words changed; sentences in `without` have no hypotheses.
    """

    def make(
        seed: int, sentences: int = 6, most: int = 7, without: tuple[int, ...] = ()
    ) -> tuple[list[Entry], list[str]]:
        rng = random.Random(seed)
        references = [
            " ".join(rng.choices("abcdefgh", k=rng.randint(4, 9))) for _ in range(sentences)
        ]
        rows = []
        for number, reference in enumerate(references):
            for _ in range(0 if number in without else rng.randint(1, most)):
                kept = [w if rng.random() < 0.8 else "x" for w in reference.split()]
                words = " ".join(kept[: rng.randint(0, 12)])
                a, b, c = (rng.randint(-3, 3) for _ in range(3))
                rows.append(f"{number} ||| {words} ||| A= {a} {b} B= {c} ||| {rng.randint(-9, 0)}")
        return [parse(row, "list", n) for n, row in enumerate(rows, start=1)], references

    return make
