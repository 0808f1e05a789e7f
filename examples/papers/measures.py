"""Read one number from each kind of file that the Makefile creates.

Its layout: CORPUS/text/SET.src and SET.tgt are the words of a set, and
CORPUS/MODEL.SEED/ has the outputs of one trained model.
"""

import math
from collections.abc import Callable
from pathlib import Path

from nmtkit.evaluation.metrics import tokenized_bleu


def lines_of(path: Path) -> list[str]:
    """Return the lines of a text file, which only newlines end."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def text_of(path: Path, side: str) -> list[str]:
    """Return the source ("src") or reference ("tgt") sentences that belong to SET.SUFFIX."""
    return lines_of(path.parent.parent / "text" / f"{path.name.split('.')[0]}.{side}")


def bleu(path: Path) -> float:
    """Return BLEU of translations as the papers measure it."""
    return tokenized_bleu(lines_of(path), text_of(path, "tgt")).value


def nll(path: Path) -> float:
    """Return the mean -log p (natural) of a reference from the output of `nmtkit score`."""
    scores = [float(line) for line in lines_of(path)]
    return -sum(scores) / len(scores)


def perplexity(path: Path) -> float:
    """Return the perplexity per word of the references, with `</s>`."""
    tokens = sum(len(line.split()) + 1 for line in text_of(path, "tgt"))
    return math.exp(nll(path) * len(lines_of(path)) / tokens)


def minutes(path: Path) -> float:
    """Return processor time in minutes from a file with seconds, in the decimals of any locale."""
    numbers = path.read_text(encoding="utf-8").replace(",", ".").split()
    return sum(map(float, numbers)) / 60


MEASURES: dict[str, Callable[[Path], float]] = {
    "bleu": bleu,
    "nll": nll,
    "perplexity": perplexity,
    "minutes": minutes,
}
