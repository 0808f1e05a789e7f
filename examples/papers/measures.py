"""What a file that the Makefile made says, in one number.

Files lie as the Makefile lays them: CORPUS/text/SET.src and SET.tgt are the words of a set, and
CORPUS/MODEL.SEED/ has what one trained model made of it.
"""

import math
from collections.abc import Callable
from pathlib import Path

from nmtkit.evaluation.metrics import tokenized_bleu


def lines_of(path: Path) -> list[str]:
    """The lines of a text file, however odd the characters in them."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def text_of(path: Path, side: str) -> list[str]:
    """The sentences ("src") or the references ("tgt") that belong to SET.WHATEVER."""
    return lines_of(path.parent.parent / "text" / f"{path.name.split('.')[0]}.{side}")


def bleu(path: Path) -> float:
    """BLEU of translations, as the papers measured it."""
    return tokenized_bleu(lines_of(path), text_of(path, "tgt")).value


def nll(path: Path) -> float:
    """-log p of a reference, natural, mean over sentences, from what `nmtkit score` wrote."""
    scores = [float(line) for line in lines_of(path)]
    return -sum(scores) / len(scores)


def perplexity(path: Path) -> float:
    """Of the references' words, the end of each sentence counted."""
    tokens = sum(len(line.split()) + 1 for line in text_of(path, "tgt"))
    return math.exp(nll(path) * len(lines_of(path)) / tokens)


def minutes(path: Path) -> float:
    """Processor time: the numbers of the file are seconds."""
    return sum(float(number) for number in path.read_text(encoding="utf-8").split()) / 60


MEASURES: dict[str, Callable[[Path], float]] = {
    "bleu": bleu,
    "nll": nll,
    "perplexity": perplexity,
    "minutes": minutes,
}
