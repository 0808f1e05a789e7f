"""Read one number from each kind of file that the Makefile creates.

Its layout: CORPUS/text/SET.src and SET.tgt are the words of a set, and
CORPUS/MODEL.SEED/ has the outputs of one trained model.
"""

import math
from collections.abc import Callable, Sequence
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


def bleu_within(
    texts: tuple[Sequence[str], Sequence[str], Sequence[str]], first: int, last: int
) -> float:
    """Return BLEU on the sentences with source lengths in a range.

    :param texts: translations, references and sources.
    :raises ValueError: their numbers of lines differ, or no sentence is in the range.
    """
    selected = [(h, r) for h, r, s in zip(*texts, strict=True) if first <= len(s.split()) <= last]
    hypotheses, references = zip(*selected, strict=True)
    return tokenized_bleu(hypotheses, references).value


def nll(path: Path) -> float:
    """Return the mean cost of a file of scores."""
    return mean_cost(lines_of(path))


def perplexity(path: Path) -> float:
    """Return the perplexity of a file of scores."""
    return perplexity_of(lines_of(path), text_of(path, "tgt"))


def mean_cost(scores: Sequence[str]) -> float:
    """Return the mean -log p (natural) of a reference from the output of `nmtkit score`."""
    return -sum(map(float, scores)) / len(scores)


def perplexity_of(scores: Sequence[str], references: Sequence[str]) -> float:
    """Return the perplexity per word of the references, with `</s>`.

    :raises ValueError: there are more or fewer of them than scores.
    """
    if len(references) != len(scores):
        raise ValueError(f"{len(scores)} scores of {len(references)} references")
    tokens = sum(len(line.split()) + 1 for line in references)
    return math.exp(mean_cost(scores) * len(scores) / tokens)


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
