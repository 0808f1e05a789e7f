"""What each measure counts of each sentence, so that any part of a test set is measured by a sum.

BLEU, chrF and TER are none of them means of sentences: each is made of counts that are added over
the sentences first. With the counts at hand a stratum, or a sample of the bootstrap, costs a sum.
The papers' BLEU counts with `statistics.py`, the others with sacreBLEU's own functions, which it
uses for its own bootstrap, so that figures, intervals and p-values are its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from nmtkit.evaluation.bleu_statistics import Reference, bleu
from nmtkit.evaluation.metrics import (
    NAMES,
    NOTHING,
    Measure,
    Rewriting,
    check_lines,
    rewrite,
    sacrebleu_bleu,
    signed,
    tokenized_bleu,
)

Sums = NDArray[np.float64]
Both = tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True)
class Counts:
    """One measure of one system, ready to be taken of any of its sentences.

    measure: of all sentences.
    numbers: what is counted of each, whole numbers. Shape: [sentences, numbers].
    figures: from sums of such numbers to percent, [..., numbers] to [...].
    """

    measure: Measure
    numbers: Sums
    figures: Callable[[Sums], Sums]

    def of(self, sentences: NDArray[np.intp]) -> float:
        """The figure of some sentences alone, in percent."""
        return float(self.figures(self.numbers[sentences].sum(axis=0)))


def count(
    hypotheses: Sequence[str],
    references: Sequence[str],
    names: tuple[str, str] = NAMES,
    tokenize: Rewriting | None = None,
    detokenize: Rewriting | None = None,
    measures: Sequence[str] = (),
) -> tuple[Counts, ...]:
    """The counts of each measure, on the text that it needs, as `bleu.evaluate`.

    :param hypotheses: one line for each sentence.
    :param references: their translations by people.
    :param names: what errors call the two, for example their files.
    :param tokenize: for raw text: makes the tokenised text of the papers' BLEU.
    :param detokenize: for tokenised text: makes the raw text of the other measures.
    :param measures: of `MEASURES`, in any order; all where empty.
    :raises DataError: there are no lines, or more on one side than on the other.
    """
    split, tokenization = rewrite(hypotheses, references, tokenize)
    raw, detokenization = rewrite(hypotheses, references, detokenize)
    texts = {name: (raw, detokenization) for name in MEASURES} | {"bleu": (split, tokenization)}
    return tuple(
        MEASURES[name](texts[name][0], names, texts[name][1])
        for name in MEASURES
        if name in (measures or MEASURES)
    )


def extended(signature: str, added: dict[str, object]) -> str:
    """A signature with more fields, where sacreBLEU writes such fields: behind `nrefs`."""
    first, bar, rest = signature.partition("|")
    return "|".join([first, *(f"{key}:{value}" for key, value in added.items())]) + bar + rest


def _papers_bleu(both: Both, names: tuple[str, str], tokenization: str) -> Counts:
    measure = tokenized_bleu(*both, names, tokenization)
    numbers = [Reference(r).statistics(h) for h, r in zip(*both, strict=True)]
    return Counts(measure, np.array(numbers, dtype=np.float64), lambda sums: 100 * bleu(sums))


def _sacrebleu_bleu(both: Both, names: tuple[str, str], detokenization: str) -> Counts:
    measure = sacrebleu_bleu(*both, names, detokenization)
    return replace(_counted("", BLEU(force=True), both, names, NOTHING), measure=measure)


def _chrf(both: Both, names: tuple[str, str], detokenization: str) -> Counts:
    return _counted("chrF", CHRF(), both, names, detokenization)


def _ter(both: Both, names: tuple[str, str], detokenization: str) -> Counts:
    return _counted("TER", TER(), both, names, detokenization)


def _counted(
    name: str, metric: Metric, both: Both, names: tuple[str, str], detokenization: str
) -> Counts:
    """What sacreBLEU counts, and the figure of the whole without counting again."""
    check_lines(*both, names)
    numbers = metric._extract_corpus_statistics(both[0], [both[1]])

    def figures(sums: Sums) -> Sums:
        rows: list[Any] = sums.reshape(-1, sums.shape[-1]).tolist()
        scores = [min(metric._compute_score_from_stats(row).score, limit) for row in rows]
        return np.array(scores, dtype=np.float64).reshape(sums.shape[:-1])

    limit = np.inf if isinstance(metric, TER) else 100.0  # not 100.00000000000004
    counts = Counts(Measure(name, 0.0, ""), np.array(numbers, dtype=np.float64), figures)
    value = float(figures(counts.numbers.sum(axis=0)))
    return replace(counts, measure=Measure(name, value, signed(metric, detokenization)))


MEASURES: dict[str, Callable[[Both, tuple[str, str], str], Counts]] = {
    "bleu": _papers_bleu,
    "sacrebleu": _sacrebleu_bleu,
    "chrf": _chrf,
    "ter": _ter,
}
"""Their short names, in the order in which they are told."""
