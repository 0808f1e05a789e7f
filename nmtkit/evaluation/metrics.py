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

Several references of each sentence are given as several lists of lines, as to sacreBLEU's
`corpus_score`. Every metric then is sacreBLEU's for several references, and signatures count them.
"""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from nmtkit.config import suggest_name
from nmtkit.errors import ConfigError
from nmtkit.evaluation.bleu_tokenizer import BleuTokenizer
from nmtkit.evaluation.references import (
    FILE_NAMES,
    Lines,
    References,
    check_line_counts,
    reference_sets,
)
from nmtkit.evaluation.retokenize import AS_GIVEN, Retokenizer
from nmtkit.evaluation.sacrebleu_adapter import SacrebleuMetric, multi_bleu_result
from nmtkit.value_types import check_arguments

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Statistics = NDArray[np.float64]

USUAL_TOKENIZER = BleuTokenizer()
"""13a, for languages whose words are separated by spaces."""


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

    @property
    def length_ratio(self) -> float:
        """Length of the hypotheses divided by that of the references; 0 without references."""
        return self.hypothesis_length / self.reference_length if self.reference_length else 0.0


def bleu_with_lengths(scores: Iterable[MetricScore]) -> BleuScore | None:
    """Return the first BLEU of some scores, which counts words on both sides; None without BLEU."""
    return next((score for score in scores if isinstance(score, BleuScore)), None)


@dataclass(frozen=True)
class Metric:
    """One entry of the registry.

    name: choice of `--measure`.
    title: name in tables, JSON, CSV and reports.
    text: the form of text that it expects.
    higher_is_better: False for an error rate.
    statistics: hypotheses and one or more lists of references to sufficient statistics. Shape:
        [sentences, statistics].
    figures: sums of statistics to figures in percent, [..., statistics] to [...].
    signature: from the retokenizer's name, or `AS_GIVEN`, to the signature for one reference.
    score_parts: title, summed statistics and signature to a score with more than the figure, if the
        metric has such parts. Shape of the sums: [statistics].
    """

    name: str
    title: str
    text: Literal["tokenized", "detokenized"]
    higher_is_better: bool
    statistics: "Callable[..., Statistics]"
    figures: "Callable[[Statistics], Statistics]"
    signature: Callable[[str], str]
    score_parts: "Callable[[str, Statistics, str], MetricScore] | None" = None

    def score(
        self, sums: "Statistics", retokenizer: str = AS_GIVEN, references: int = 1
    ) -> MetricScore:
        """Return the score of a corpus.

        :param sums: summed sufficient statistics. Shape: [statistics].
        :param retokenizer: name of the applied tokeniser or detokeniser, for the signature.
        :param references: number of references of each sentence, for the signature.
        """
        signature = self.signature(retokenizer).replace("nrefs:1|", f"nrefs:{references}|", 1)
        if self.score_parts:
            return self.score_parts(self.title, sums, signature)
        return MetricScore(self.title, float(self.figures(sums)), signature)

    def corpus_score(
        self,
        hypotheses: Lines,
        references: References,
        names: Sequence[str] = FILE_NAMES,
        retokenizer: str = AS_GIVEN,
    ) -> MetricScore:
        """Return the score of a corpus.

        :param hypotheses: one line per sentence, in the form that `text` names, without subwords.
        :param references: one line per sentence, in the same form; or several lists of lines.
        :param names: of the texts in error messages, for example their files.
        :param retokenizer: name of the applied tokeniser or detokeniser, for the signature.
        :raises DataError: there are no lines, or the numbers of lines differ.
        """
        sets = reference_sets(references)
        check_line_counts(hypotheses, sets, names)
        sums = self.statistics(hypotheses, *sets).sum(axis=0)
        return self.score(sums, retokenizer, len(sets))


def tokenized_bleu(
    hypotheses: Lines,
    references: References,
    names: Sequence[str] = FILE_NAMES,
    tokenization: str = AS_GIVEN,
) -> BleuScore:
    """Return the papers' BLEU in percent, equal to `multi-bleu.perl` on tokenised text.

    Papineni et al. 2002, over the corpus, cased, n-grams to 4, no smoothing:
        BLEU = min(1, exp(1 - r/c)) · (p_1 p_2 p_3 p_4)^(1/4)
    It is 0 if no 4-gram matches.

    :param hypotheses: one line per sentence, words separated by spaces, no subwords.
    :param references: one line per sentence, tokenised in the same way; or several lists of lines.
    :param names: of the texts in error messages, for example their files.
    :param tokenization: name of the tokenisation in the signature.
    :raises DataError: there are no lines, or the numbers of lines differ.
    """
    score = METRICS["bleu"].corpus_score(hypotheses, references, names, tokenization)
    assert isinstance(score, BleuScore)
    return score


@check_arguments
def evaluate(
    hypotheses: Lines,
    references: References,
    names: Sequence[str] = FILE_NAMES,
    tokenize: Retokenizer | None = None,
    detokenize: Retokenizer | None = None,
    metrics: Sequence[str] = (),
    tokenizer: BleuTokenizer = USUAL_TOKENIZER,
) -> tuple[MetricScore, ...]:
    """Compute metrics of a test set, each on the form of text that it expects.

    :param hypotheses: one line per sentence.
    :param references: one line per sentence; or several lists of lines, as sacreBLEU takes them.
    :param names: of the texts in error messages, for example their files.
    :param tokenize: for raw text; applied for the metrics of tokenised text, such as
        `nmtkit.evaluation.retokenize.word_tokenizer("fr")`. None: text as it is given.
    :param detokenize: for tokenised text; applied for the metrics of detokenised text, such as
        `nmtkit.evaluation.retokenize.moses_detokenizer("fr")`. None: text as it is given.
    :param metrics: "bleu", which is the papers', "sacrebleu", "chrf", "ter"; all if empty.
    :param tokenizer: how sacreBLEU's BLEU finds words, such as
        `nmtkit.evaluation.bleu_tokenizer.choose_tokenizer("zh")`.
    :return: the scores in the order of `METRICS`; without spaces between words, chrF first.
    :raises DataError: there are no lines, or the numbers of lines differ.
    :raises ConfigError: the tokeniser cannot be used, or there is no such metric.
    :raises TypeError: one string is given instead of a list of lines.
    """
    sets = reference_sets(references)
    check_line_counts(hypotheses, sets, names)
    texts = RetokenizedTexts(hypotheses, sets, tokenize, detokenize)
    scores = []
    for metric in select_metrics(metrics, tokenizer):
        lines, *references = texts.lines(metric)
        scores.append(metric.corpus_score(lines, references, names, texts.retokenizer(metric)))
    return tuple(scores)


def select_metrics(
    names: Sequence[str] = (), tokenizer: BleuTokenizer = USUAL_TOKENIZER
) -> list[Metric]:
    """Return the named metrics, all if `names` is empty, as they suit a language.

    They have the order of the registry; chrF is first if spaces do not separate the words.

    :raises ConfigError: there is no metric of such a name.
    """
    for name in names:
        if name not in METRICS:
            raise ConfigError(f"there is no metric '{name}'; {suggest_name(name, METRICS)}")
    chosen = [metric for name, metric in METRICS.items() if not names or name in names]
    if tokenizer.name != USUAL_TOKENIZER.name:
        sacrebleu = _sacrebleu_metric(tokenizer.name)
        chosen = [sacrebleu if metric.name == sacrebleu.name else metric for metric in chosen]
    if not tokenizer.spaced:
        chosen = [_TER_OF_CHARACTERS if metric.name == "ter" else metric for metric in chosen]
        chosen.sort(key=lambda metric: metric.name != "chrf")
    return chosen


class RetokenizedTexts:
    """Hypotheses and references in the forms that metrics expect, each converted once.

    :param references: one list of lines or more.
    :param tokenize: for raw text; None leaves it as given.
    :param detokenize: for tokenised text; None leaves it as given.
    """

    def __init__(
        self,
        hypotheses: Lines,
        references: Sequence[Lines],
        tokenize: Retokenizer | None,
        detokenize: Retokenizer | None,
    ) -> None:
        self._originals = (hypotheses, *references)
        self._retokenizers = {"tokenized": tokenize, "detokenized": detokenize}
        self._converted: dict[str, tuple[Lines, ...]] = {}

    def lines(self, metric: Metric) -> tuple[Lines, ...]:
        """Return hypotheses and each list of references in the form that a metric expects."""
        if metric.text not in self._converted:
            texts = self._originals
            if retokenizer := self._retokenizers[metric.text]:
                texts = tuple([retokenizer.convert(line) for line in text] for text in texts)
            self._converted[metric.text] = texts
        return self._converted[metric.text]

    def retokenizer(self, metric: Metric) -> str:
        """Return the name, for the signature, of the retokenizer of a metric's text."""
        retokenizer = self._retokenizers[metric.text]
        return retokenizer.name if retokenizer else AS_GIVEN


def which_is_better(metrics: Collection[Metric]) -> str:
    """Return a clause for notes below tables that says which figures are better when lower."""
    lower = [metric.title for metric in metrics if not metric.higher_is_better]
    if not lower:
        return "higher is better"
    if len(lower) == len(metrics):
        return "lower is better"
    verb = "is" if len(lower) == 1 else "are"
    return f"{' and '.join(lower)} {verb} better when lower, the others when higher"


def _multi_bleu_statistics(hypotheses: Lines, *references: Lines) -> "Statistics":
    from nmtkit.evaluation.bleu_statistics import corpus_statistics

    return corpus_statistics(hypotheses, *references)


def _multi_bleu_figures(sums: "Statistics") -> "Statistics":
    from nmtkit.evaluation.bleu_statistics import bleu

    return 100 * bleu(sums)


def _multi_bleu_score(title: str, sums: "Statistics", signature: str) -> BleuScore:
    from nmtkit.evaluation.bleu_statistics import columns

    return _bleu_score(title, multi_bleu_result(*columns(sums)), signature)


@cache
def _sacrebleu_metric(tokenizer: str) -> Metric:
    """Return the default of sacreBLEU, except that words are found by this tokeniser of its."""
    options = {} if tokenizer == USUAL_TOKENIZER.name else {"tokenize": tokenizer}
    bleu = SacrebleuMetric("BLEU", {"force": True, **options})
    return Metric(
        name="sacrebleu",
        title="BLEU (sacreBLEU)",
        text="detokenized",
        higher_is_better=True,
        statistics=bleu.statistics,
        figures=bleu.figures,
        signature=_detokenization_signed(bleu),
        score_parts=lambda title, sums, sign: _bleu_score(title, bleu.score(sums), sign),
    )


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
_CHRF = SacrebleuMetric("CHRF")
_TER = SacrebleuMetric("TER", max_score=math.inf)
_CHARACTER_TER = SacrebleuMetric(
    "TER", {"normalized": True, "asian_support": True}, max_score=math.inf
)

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
    _sacrebleu_metric(USUAL_TOKENIZER.name),  # with tokenisation 13a of the WMT tables (Post 2018)
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

_TER_OF_CHARACTERS = replace(  # each Chinese or Japanese character is a word
    _ENTRIES[-1],
    statistics=_CHARACTER_TER.statistics,
    figures=_CHARACTER_TER.figures,
    signature=_detokenization_signed(_CHARACTER_TER),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ENTRIES}
"""The registry: metrics by name, in the order in which they are printed."""
