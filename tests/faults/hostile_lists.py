"""N-best lists, references and weights that are hostile to tuning and reranking.

    python tests/faults/hostile_lists.py

Each list is tuned with MERT and MIRA and reranked, from each file of weights. The law: the command
ends within TIMEOUT with finite numbers, or with status 1 and one line; no library warns.
"""

import itertools
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from tests.faults.forked import run_forked

TIMEOUT = 60.0
"""Seconds for a command; most need a tenth of one."""

NUMBERS = (
    "nan", "inf", "-inf", "1e308", "-1e308", "1e309", "1e100", "-1e100", "1e-99", "1e-320", "0",
)  # fmt: skip

WEIGHTS = {
    "none": "",
    "zeros": "A= 0\nB= 0 0\n",
    "negative": "A= -1\nB= -2 -3\n",
    "beyond": "A= 1e308\nB= 1e308 1e308\n",
    "infinite": "A= 1e309\nB= 1 1\n",
    "largest": "A= 1e100\nB= -1e100 1e100\nUnknownWordPenalty0= 1\n",
    "tiny": "A= 1e-320\nB= 1e-320 0\nUnknownWordPenalty0= 1\n",
    "tiny-rest": "A= 1e100\nB= 1e100 1\nRest0= 1e-90\n\n[original-weight]\nA= 1e100\nB= 1 1\n",
    "no-rest": "A= 1\nB= 1 1\nRest0= 1e-300\n\n[original-weight]\nA= 1\nB= 1 1\n",
}
"""Name -> lines of the section [weight]."""

METHODS = (("tune",), ("tune", "--method", "mira"), ("rerank",))

Feature = Callable[[], object]


def lists() -> Iterator[tuple[str, str, str]]:
    """Yield the name of a case, its list, and its references."""
    draw = random.Random(1).random

    def lines(sentences: int, size: int, *features: Feature, total: Feature = lambda: 1) -> str:
        return "".join(
            f"{sentence} ||| {'a b c d'[: 1 + int(7 * draw())]} ||| A= {features[0]()}"
            f" B= {features[1]()} {features[2]()} ||| {total()}\n"
            for sentence in range(sentences)
            for _ in range(size)
        )

    def chosen(*values: object) -> Feature:
        return lambda: values[int(len(values) * draw())]

    def line(text: str = "a b", features: str = "A= 1 B= 2 3") -> str:
        return f"0 ||| {text} ||| {features} ||| 1\n"

    reference = "a b c d e\n"
    for number in NUMBERS:
        value = chosen(number)
        yield f"one feature {number}", lines(3, 9, draw, value, draw), 3 * reference
        yield f"some {number}", lines(3, 9, draw, chosen(number, 0, 1), draw), 3 * reference
        yield f"all {number}", lines(3, 9, value, value, value, total=value), 3 * reference
        yield f"total {number}", lines(3, 9, draw, draw, draw, total=value), 3 * reference
    both = chosen("1e100", "-1e100")
    yield "both signs", lines(30, 9, both, both, lambda: draw() * 1e-300), 30 * reference
    near = chosen("1e100", "1.0000001e99")
    small = [lambda: draw() * 1e-310, lambda: draw() * 1e-320]
    yield "almost parallel", lines(30, 9, near, *small), 30 * reference
    yield "1,000 equal hypotheses", 1000 * line(), reference
    yield "one hypothesis each", lines(20, 1, draw, draw, draw), 20 * reference
    yield "no features", line(features=""), reference
    yield "a missing feature", line() + line(features="A= 1"), reference
    yield "a missing value", line() + line(features="A= 1 B= 2"), reference
    yield "empty hypotheses", 5 * line(text=""), reference
    yield "an empty reference", 5 * line(), "\n"
    yield "nothing but blanks", 5 * line(text="   "), "  \n"
    yield "no references", line(), ""
    yield "an empty list", "", reference
    yield "500,000 words", 2 * line("w " * 500_000), "w " * 500_000 + "\n"
    yield "a word of a megabyte", 2 * line("w" * 1_000_000), "w" * 1_000_000 + "\n"
    options = "".join(line(features=f"--start= {draw()} -o= 1 --help= 2") for _ in range(5))
    yield "features named like options", options, reference
    sections = "".join(line(features=f"[weight]= {draw()} #x= 1 == 2") for _ in range(5))
    yield "features named like sections", sections, reference
    many = " ".join(["A="] + ["0.5"] * 300)
    yield "300 values", "".join(line(text, many) for text in ("a b", "a", "b")), reference


def try_list(folder: Path, texts: tuple[str, str], weights: str, method: tuple[str, ...]) -> bool:
    """Return whether a command accepts a list.

    :raises AssertionError: it broke the law.
    """
    for name, text in zip(("list", "references"), texts, strict=True):
        (folder / name).write_text(text)
    (folder / "weights").write_text(f"[weight]\n{WEIGHTS[weights]}")
    arguments = ["nbest", method[0], str(folder / "list"), *method[1:]]
    arguments += [str(folder / "references")] if method[0] == "tune" else []
    if WEIGHTS[weights]:
        option = "--start" if method[0] == "tune" else "--weights-file"
        arguments += [option, str(folder / "weights")]
    outcome = run_forked(arguments, timeout=TIMEOUT)
    errors = re.findall("^nmtkit: error: .*\n", outcome.stderr, re.MULTILINE)
    assert (outcome.status, len(errors)) in ((0, 0), (1, 1)), outcome
    assert all(line.startswith("nmtkit: ") for line in outcome.stderr.splitlines()), outcome.stderr
    if outcome.status:
        assert method[0] == "rerank" or not outcome.stdout
    elif method[0] == "tune":
        assert not re.search(rb"= .*(nan|inf)", outcome.stdout), outcome.stdout
    return outcome.status == 0


def main() -> None:
    torch.set_num_threads(1)
    tried = accepted = 0
    with tempfile.TemporaryDirectory() as folder:
        for (name, *texts), weights, method in itertools.product(lists(), WEIGHTS, METHODS):
            try:
                accepted += try_list(Path(folder), (texts[0], texts[1]), weights, method)
            except AssertionError as error:
                sys.exit(f"{name}, weights {weights}, {' '.join(method)}: {error}")
            tried += 1
    print(f"{tried} hostile lists tuned or reranked ({tried - accepted} refused): 0 faults")


if __name__ == "__main__":
    main()
