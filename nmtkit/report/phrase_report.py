"""Comparison of a phrase table with a model, as in Cho et al. 2014; also from Python.

    from nmtkit.model_folder import load_model
    from nmtkit.report.phrase_report import compare
    from nmtkit.smt.phrase_sampling import PhraseSamplingConfig
    from nmtkit.smt.phrase_table import read_phrase_table

    table = "phrase-table.gz"
    config = PhraseSamplingConfig()
    comparison = compare(read_phrase_table(table), table, config, load_model("model"))
    for phrase in comparison.frequent:
        print(phrase.src, [pair.tgt for pair in phrase.best_of_model(3)])

The result holds the scores of both for pairs of the table (figure 3), the targets that each scores
highest (table 2), and samples from the model (table 3). The table is read once, as a stream; the
model scores only the chosen pairs.

Departures and readings:

- In table 2 both choose among the targets of the phrase table.
- Table 3 shows "the top-5 target phrases out of 50 samples", sorted by score: the likeliest of the
  different samples, even if others were drawn more often. Samples that reached the maximum length
  before `</s>` are counted, not shown, because their score is that of a prefix.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nmtkit.errors import ConfigError, ModelError
from nmtkit.evaluation.phrase_comparison import ComparedPhrase, PhraseComparison, Sample, ScoredPair
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.translation import Translation, count_duplicates
from nmtkit.inference.translator import Translator
from nmtkit.model_folder import LoadedModel
from nmtkit.smt.phrase_sampling import (
    MIN_LOG_PROB,
    PhraseSamplingConfig,
    SourcePhrase,
    sample_phrase_table,
)
from nmtkit.smt.phrase_scorer import PHRASES_PER_SENTENCE
from nmtkit.smt.phrase_table import PhrasePair


def compare(
    table: Iterable[PhrasePair],
    path: str | Path,
    config: PhraseSamplingConfig,
    model: LoadedModel | None = None,
    samples: int = 50,
    batch_size: int = 64,
) -> PhraseComparison:
    """Choose pairs and phrases of a table, score them with the model, and draw samples.

    :param path: Path of the table, for messages.
    :param config: How pairs and phrases are chosen.
    :param model: Required unless `config` names a column of the table with the model's scores;
        without a model there are no samples.
    :param samples: Number of samples per source phrase, drawn with `config.seed`.
    :raises ConfigError: There are no model scores.
    :raises DataError: As `sample_phrase_table`.
    :raises ModelError: The model is a language model, or its parameters are damaged.
    """
    if model is None and config.model_column is None:
        raise ConfigError("model scores come from a model or from a column of the table; give one")
    scorer = None if model is None else _PhraseModel(model, samples, config.seed, batch_size)
    sampled = sample_phrase_table(table, path, config)
    pairs, source_phrases = sampled.drawn, [*sampled.frequent, *sampled.rare]
    if scorer and config.model_column is None:
        pairs, source_phrases = scorer.score(pairs, source_phrases)
    phrases = [ComparedPhrase(phrase.src, phrase.count, phrase.pairs) for phrase in source_phrases]
    if scorer:
        phrases = scorer.add_samples(phrases)
    n_frequent = len(sampled.frequent)
    return PhraseComparison(
        sampled.total, pairs, sampled.eligible, phrases[:n_frequent], phrases[n_frequent:]
    )


class _PhraseModel:
    """A model that scores and translates phrases."""

    def __init__(self, model: LoadedModel, samples: int, seed: int, batch_size: int) -> None:
        ensemble = Ensemble((model,))
        if not ensemble.reads_source:
            raise ModelError("a language model cannot score phrase pairs; give another model")
        self._scorer = Scorer(ensemble, batch_size * PHRASES_PER_SENTENCE)
        self._translator = Translator(ensemble, batch_size=batch_size)
        self._samples = samples
        self._seed = seed

    def score(
        self, drawn: Sequence[ScoredPair], phrases: Sequence[SourcePhrase]
    ) -> tuple[list[ScoredPair], list[SourcePhrase]]:
        """Return the pairs and phrases with the model's scores."""
        pairs = self._score_pairs([*drawn, *itertools.chain(*(phrase.pairs for phrase in phrases))])
        with_scores = list(itertools.islice(pairs, len(drawn)))
        return with_scores, [
            dataclasses.replace(phrase, pairs=list(itertools.islice(pairs, len(phrase.pairs))))
            for phrase in phrases
        ]

    def add_samples(self, phrases: Sequence[ComparedPhrase]) -> list[ComparedPhrase]:
        """Return the phrases with samples from the model."""
        lines = [phrase.src for phrase in phrases]
        drawn = self._translator.sample(lines, self._samples, self._seed, tokenized=True)
        return [_with_samples(*pair) for pair in zip(phrases, drawn, strict=True)]

    def _score_pairs(self, pairs: Sequence[ScoredPair]) -> Iterator[ScoredPair]:
        def pair_name(number: int) -> str:
            return f"the phrase pair that begins with {pairs[number - 1].src[:50]!r}"

        phrases = ((pair.src, pair.tgt) for pair in pairs)
        scores = self._scorer.score(phrases, tokenized=True, pair_name=pair_name)
        for pair, score in zip(pairs, scores, strict=True):
            yield dataclasses.replace(pair, model=max(score.log_prob, MIN_LOG_PROB))


def _with_samples(phrase: ComparedPhrase, drawn: Sequence[Translation]) -> ComparedPhrase:
    table_targets = {pair.tgt for pair in phrase.pairs}
    samples = [
        Sample(sample.text, sample.score, times, sample.text in table_targets)
        for sample, times in count_duplicates([sample for sample in drawn if sample.finished])
    ]
    samples.sort(key=lambda sample: -sample.score)
    unfinished = sum(not sample.finished for sample in drawn)
    return dataclasses.replace(phrase, samples=samples, unfinished=unfinished)
