"""Lines of a report's test set, converted for display and for metrics, and the systems' figures."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nmtkit.config import TextConfig
from nmtkit.evaluation.bleu_tokenizer import choose_tokenizer, is_spaced
from nmtkit.evaluation.buckets import Bucketing, EvaluationSet
from nmtkit.evaluation.comparison import Comparison, ComparisonConfig, compare
from nmtkit.evaluation.retokenize import moses_detokenizer, word_tokenizer
from nmtkit.model_folder import LoadedModel
from nmtkit.report.lines import TokenizedLine, split_line, tokenized_line
from nmtkit.text.pipeline import TextPipeline

log = logging.getLogger("nmtkit")


def bucket_metric(text: TextConfig) -> str:
    """Return the metric of buckets, as a name for `evaluate --measure`."""
    return "bleu" if is_spaced(text.tgt_language) else "chrf"


class MetricTexts:
    """Converts the lines of a test set for display and for metrics."""

    def __init__(self, model: LoadedModel, text: TextConfig, tokenized: bool) -> None:
        self.model, self.text, self.tokenized = model, text, tokenized
        languages = text.src_language, text.tgt_language
        src, tgt = (
            None if tokenized else word_tokenizer(language, text.hyphens) for language in languages
        )
        tokenizer = choose_tokenizer(text.tgt_language)
        if tokenizer.note:
            log.info("%s", tokenizer.note)
        self.protocol = ComparisonConfig(
            tokenizer=tokenizer,
            tokenize=tgt,
            detokenize=moses_detokenizer(text.tgt_language) if tokenized else None,
            tokenize_source=src,
        )

    @property
    def no_word_buckets_reason(self) -> str:
        """Say why words cannot be looked up in the shortlist; return an empty text if they can."""
        if self.text.subwords != "none":
            return "the shortlist holds subwords"
        if self.text.case != "keep":
            return "the shortlist holds words in another case (text.case)"
        if self.text.escape and not self.tokenized:
            return "the shortlist holds escaped words (text.escape), the text unescaped ones"
        return ""

    def source(self, line: str) -> TokenizedLine:
        """Split a source line into words."""
        return self._line(line, self.model.src_text)

    def target(self, line: str) -> TokenizedLine:
        """Split a line of a reference or of a translation that no model of the report made."""
        return self._line(line, self.model.tgt_text)

    def _line(self, line: str, pipeline: TextPipeline) -> TokenizedLine:
        if self.tokenized:
            return tokenized_line(line, self.text.escape)
        return split_line(line, pipeline, self.text.raw)


def compare_systems(
    systems: Mapping[str, Sequence[str]],
    columns: Sequence[Sequence[str]],
    test_text: MetricTexts,
    samples: int,
) -> tuple[Comparison, Comparison, tuple[str, ...]]:
    """Return all metrics on the test set, one metric by bucket, and why buckets are missing."""
    by: tuple[str, ...] = ("length", "unknown", "rank")
    left_out: tuple[str, ...] = ()
    if test_text.no_word_buckets_reason:
        by, left_out = (
            by[:1],
            (f"No buckets by unknown words and by rank: {test_text.no_word_buckets_reason}.",),
        )
    texts = EvaluationSet(columns[1], columns[0], test_text.model.src_vocab)
    protocol = replace(test_text.protocol, samples=samples)
    bucketed = replace(
        protocol,
        metrics=(bucket_metric(test_text.text),),
        bucketings=tuple(Bucketing(name) for name in by),
    )
    return compare(systems, texts, protocol), compare(systems, texts, bucketed), left_out
