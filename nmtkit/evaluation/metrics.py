"""Registry of the corpus metrics: the papers' BLEU, and sacreBLEU's BLEU, chrF and TER.

A new metric is one entry of `METRICS`. `nmtkit evaluate` and its choices of `--measure`, buckets,
bootstrap, comparisons, reports and the dev BLEU of training all read this table; a caller that
needs one figure writes `METRICS["bleu"].corpus_score(hypotheses, references).value`.

No metric here is a mean over sentences. Each has sufficient statistics: numbers per sentence whose
sum over any set of sentences gives the figure of that set. A bucket, or a sample of the bootstrap,
therefore costs one sum.

Listing the metrics, as help and settings do, imports neither numpy nor sacreBLEU: they are imported
where a figure is computed.

Every figure carries its signature, because BLEU values are comparable only under equal signatures.
The papers' BLEU counts the words of tokenised text (`multi-bleu.perl`). The other metrics expect
detokenised text and tokenise it themselves. All are cased but TER.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from nmtkit.errors import DataError, refuse_string
from nmtkit.evaluation.retokenize import AS_GIVEN, Retokenizer
from nmtkit.evaluation.sacrebleu_adapter import SacrebleuMetric, multi_bleu_result

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Statistics = NDArray[np.float64]

Lines = Sequence[str]

FILE_NAMES = ("the hypotheses", "the references")
"""Names of the two texts in error messages where the caller gives none."""


@dataclass(frozen=True)
class MetricScore:
    """One figure of a test set.

    name: title of the metric.
    value: in percent.
    signature: every choice that affects the figure, in sacreBLEU's form.
    """

    name: str
    value: float
    signature: str


@dataclass(frozen=True)
class BleuScore(MetricScore):
    """BLEU with its parts.

    precisions: of 1-grams to 4-grams, in percent.
    brevity_penalty: exp(1 - reference_length / hypothesis_length), at most 1.
    hypothesis_length, reference_length: in words of the tokenisation that the signature names.
    """

    precisions: tuple[float, ...]
    brevity_penalty: float
    hypothesis_length: int
    reference_length: int


@dataclass(frozen=True)
class Metric:
    """One entry of the registry.

    name: choice of `--measure`.
    title: name in tables, JSON, CSV and reports.
    text: the form of text that it expects.
    higher_is_better: False for an error rate.
    statistics: hypotheses and references to sufficient statistics. Shape: [sentences, statistics].
    figures: sums of statistics to figures in percent, [..., statistics] to [...].
    signature: from the retokenizer's name, or `AS_GIVEN`, to the signature.
    score_parts: title, summed statistics and signature to a score with more than the figure, if the
        metric has such parts. Shape of the sums: [statistics].
    """

    name: str
    title: str
    text: Literal["tokenized", "detokenized"]
    higher_is_better: bool
    statistics: "Callable[[Lines, Lines], Statistics]"
    figures: "Callable[[Statistics], Statistics]"
    signature: Callable[[str], str]
    score_parts: "Callable[[str, Statistics, str], MetricScore] | None" = None

    def score(self, sums: "Statistics", retokenizer: str = AS_GIVEN) -> MetricScore:
        """Return the score of a corpus.

        :param sums: summed sufficient statistics. Shape: [statistics].
        :param retokenizer: name of the applied tokeniser or detokeniser, for the signature.
        """
        signature = self.signature(retokenizer)
        if self.score_parts:
            return self.score_parts(self.title, sums, signature)
        return MetricScore(self.title, float(self.figures(sums)), signature)

    def corpus_score(
        self,
        hypotheses: Lines,
        references: Lines,
        names: tuple[str, str] = FILE_NAMES,
        retokenizer: str = AS_GIVEN,
    ) -> MetricScore:
        """Return the score of a corpus.

        :param hypotheses: one line per sentence, in the form that `text` names, without subwords.
        :param references: one line per sentence, in the same form.
        :param names: of the two texts in error messages, for example their files.
        :param retokenizer: name of the applied tokeniser or detokeniser, for the signature.
        :raises DataError: there are no lines, or the numbers of lines differ.
        """
        check_line_counts(hypotheses, references, names)
        return self.score(self.statistics(hypotheses, references).sum(axis=0), retokenizer)


def tokenized_bleu(
    hypotheses: Lines,
    references: Lines,
    names: tuple[str, str] = FILE_NAMES,
    tokenization: str = AS_GIVEN,
) -> BleuScore:
    """Return the papers' BLEU in percent, equal to `multi-bleu.perl` on tokenised text.

    Papineni et al. 2002, over the corpus, cased, one reference, n-grams to 4, no smoothing:
        BLEU = min(1, exp(1 - r/c)) · (p_1 p_2 p_3 p_4)^(1/4)
    It is 0 if no 4-gram matches.

    :param hypotheses: one line per sentence, words separated by spaces, no subwords.
    :param references: one line per sentence, tokenised in the same way.
    :param names: of the two texts in error messages, for example their files.
    :param tokenization: name of the tokenisation in the signature.
    :raises DataError: there are no lines, or the numbers of lines differ.
    """
    score = METRICS["bleu"].corpus_score(hypotheses, references, names, tokenization)
    assert isinstance(score, BleuScore)
    return score


def evaluate(
    hypotheses: Lines,
    references: Lines,
    names: tuple[str, str] = FILE_NAMES,
    tokenize: Retokenizer | None = None,
    detokenize: Retokenizer | None = None,
    metrics: Sequence[str] = (),
) -> tuple[MetricScore, ...]:
    """Compute metrics of a test set, each on the form of text that it expects.

    :param hypotheses: one line per sentence.
    :param references: one line per sentence.
    :param names: of the two texts in error messages, for example their files.
    :param tokenize: for raw text; applied for the metrics of tokenised text.
    :param detokenize: for tokenised text; applied for the metrics of detokenised text.
    :param metrics: names in `METRICS`; all if empty.
    :return: the scores in the order of `METRICS`.
    :raises DataError: there are no lines, or the numbers of lines differ.
    """
    refuse_string(hypotheses, "hypotheses")
    refuse_string(references, "references")
    texts = RetokenizedTexts(hypotheses, references, tokenize, detokenize)
    return tuple(
        metric.corpus_score(*texts.lines(metric), names, texts.retokenizer(metric))
        for metric in select_metrics(metrics)
    )


def select_metrics(names: Sequence[str] = ()) -> list[Metric]:
    """Return the named metrics in the order of the registry; all if `names` is empty."""
    return [metric for name, metric in METRICS.items() if not names or name in names]


class RetokenizedTexts:
    """Hypotheses and references in the forms that metrics expect, each converted once.

    :param tokenize: for raw text; None leaves it as given.
    :param detokenize: for tokenised text; None leaves it as given.
    """

    def __init__(
        self,
        hypotheses: Lines,
        references: Lines,
        tokenize: Retokenizer | None,
        detokenize: Retokenizer | None,
    ) -> None:
        self._originals = (hypotheses, references)
        self._retokenizers = {"tokenized": tokenize, "detokenized": detokenize}
        self._converted: dict[str, tuple[Lines, Lines]] = {}

    def lines(self, metric: Metric) -> tuple[Lines, Lines]:
        """Return hypotheses and references in the form that a metric expects."""
        if metric.text not in self._converted:
            hypotheses, references = self._originals
            if retokenizer := self._retokenizers[metric.text]:
                hypotheses = [retokenizer.convert(line) for line in hypotheses]
                references = [retokenizer.convert(line) for line in references]
            self._converted[metric.text] = (hypotheses, references)
        return self._converted[metric.text]

    def retokenizer(self, metric: Metric) -> str:
        """Return the name, for the signature, of the retokenizer of a metric's text."""
        retokenizer = self._retokenizers[metric.text]
        return retokenizer.name if retokenizer else AS_GIVEN


def check_line_counts(
    hypotheses: Lines, references: Lines, names: tuple[str, str] = FILE_NAMES
) -> None:
    """Check that every reference has one hypothesis and that there is at least one.

    :raises DataError: there are no lines, or the numbers of lines differ.
    """
    if len(hypotheses) != len(references):
        raise DataError(
            f"{len(hypotheses)} lines in {names[0]} but {len(references)} in {names[1]}; give one "
            "hypothesis for each reference, in the same order"
        )
    if not hypotheses:
        raise DataError(f"no lines in {names[0]} and {names[1]}; give at least one")


def which_is_better(metrics: Collection[Metric]) -> str:
    """Return a clause for notes below tables that says which figures are better when lower."""
    lower = [metric.title for metric in metrics if not metric.higher_is_better]
    if not lower:
        return "higher is better"
    if len(lower) == len(metrics):
        return "lower is better"
    verb = "is" if len(lower) == 1 else "are"
    return f"{' and '.join(lower)} {verb} better when lower, the others when higher"


def _multi_bleu_statistics(hypotheses: Lines, references: Lines) -> "Statistics":
    from nmtkit.evaluation.bleu_statistics import corpus_statistics

    return corpus_statistics(hypotheses, references)


def _multi_bleu_figures(sums: "Statistics") -> "Statistics":
    from nmtkit.evaluation.bleu_statistics import bleu

    return 100 * bleu(sums)


def _multi_bleu_score(title: str, sums: "Statistics", signature: str) -> BleuScore:
    from nmtkit.evaluation.bleu_statistics import columns

    return _bleu_score(title, multi_bleu_result(*columns(sums)), signature)


def _sacrebleu_score(title: str, sums: "Statistics", signature: str) -> BleuScore:
    return _bleu_score(title, _SACREBLEU.score(sums), signature)


def _bleu_score(title: str, result: Any, signature: str) -> BleuScore:
    """Convert sacreBLEU's result object."""
    return BleuScore(
        name=title,
        value=min(result.score, 100.0),  # rounding may give 100.00000000000004
        signature=signature,
        precisions=tuple(result.precisions),
        brevity_penalty=result.bp,
        hypothesis_length=result.sys_len,
        reference_length=result.ref_len,
    )


def _detokenization_signed(metric: SacrebleuMetric) -> Callable[[str], str]:
    """Return a signature function that adds our detokenisation to sacreBLEU's signature."""
    return lambda name: metric.signature({} if name == AS_GIVEN else {"detok": name})


_MULTI_BLEU = SacrebleuMetric("BLEU", {"tokenize": "none", "smooth_method": "none", "force": True})
_SACREBLEU = SacrebleuMetric("BLEU", {"force": True})
_CHRF = SacrebleuMetric("CHRF")
_TER = SacrebleuMetric("TER", max_score=math.inf)

_ENTRIES = (
    Metric(
        name="bleu",
        title="BLEU (multi-bleu)",
        text="tokenized",
        higher_is_better=True,
        statistics=_multi_bleu_statistics,
        figures=_multi_bleu_figures,
        signature=lambda name: _MULTI_BLEU.signature({"tok": name}),
        score_parts=_multi_bleu_score,
    ),
    Metric(  # the default of sacreBLEU, with tokenisation 13a of the WMT tables (Post 2018)
        name="sacrebleu",
        title="BLEU (sacreBLEU)",
        text="detokenized",
        higher_is_better=True,
        statistics=_SACREBLEU.statistics,
        figures=_SACREBLEU.figures,
        signature=_detokenization_signed(_SACREBLEU),
        score_parts=_sacrebleu_score,
    ),
    Metric(  # F-score of character 1-grams to 6-grams, recall twice as heavy (Popović 2015)
        name="chrf",
        title="chrF",
        text="detokenized",
        higher_is_better=True,
        statistics=_CHRF.statistics,
        figures=_CHRF.figures,
        signature=_detokenization_signed(_CHRF),
    ),
    Metric(  # edits and phrase moves per reference word (Snover et al. 2006); can exceed 100
        name="ter",
        title="TER",
        text="detokenized",
        higher_is_better=False,
        statistics=_TER.statistics,
        figures=_TER.figures,
        signature=_detokenization_signed(_TER),
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ENTRIES}
"""The registry: metrics by name, in the order in which they are printed."""
