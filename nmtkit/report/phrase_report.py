"""Puts a phrase table and a model side by side, as Cho et al. 2014 did; also from Python.

    from nmtkit.model_folder import load_model
    from nmtkit.report.phrase_report import compare
    from nmtkit.smt.phrase_sampling import Choosing
    from nmtkit.smt.phrase_table import read_phrase_table

    table = "phrase-table.gz"
    found = compare(read_phrase_table(table), table, Choosing(), load_model("model"))
    for phrase in found.frequent:
        print(phrase.src, [pair.tgt for pair in phrase.best_of_model(3)])

Scores of both for pairs of the table (figure 3), the targets that either prefers (table 2), and
what the model says when it is asked without the table (table 3). The table is read once, as a
stream; the model scores what was chosen, not the table.

Departures and readings:

- Table 2 chooses among the targets that the phrase table has, for both.
- Table 3 shows "the top-5 target phrases out of 50 samples", sorted by score: of the different
  samples the likeliest are shown, also where others were drawn more often. Samples that met the
  longest length before `</s>` are counted, not shown: their score is that of a beginning.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nmtkit.errors import ConfigError, ModelError
from nmtkit.evaluation.phrase_comparison import ComparedPhrase, Comparison, Sample, ScoredPair
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
    how: PhraseSamplingConfig,
    model: LoadedModel | None = None,
    samples: int = 50,
    batch_size: int = 64,
) -> Comparison:
    """Choose pairs and phrases of a table, and let the model speak of them.

    :param path: of the table, for messages.
    :param model: needed unless `how` names a column of the table with its scores; without a model
        there are no samples.
    :param samples: drawn of each source phrase; `how.seed` decides them.
    :raises ConfigError: there are no scores of a model.
    :raises DataError: as `sample_phrase_table`.
    :raises ModelError: the model reads no source, or its parameters are damaged.
    """
    if model is None and how.model_column is None:
        raise ConfigError("the scores of a model come from a model or from a column; give one")
    voice = None if model is None else _Voice(model, samples, how.seed, batch_size)
    choice = sample_phrase_table(table, path, how)
    drawn, chosen = choice.drawn, [*choice.frequent, *choice.rare]
    if voice and how.model_column is None:
        drawn, chosen = voice.scored(drawn, chosen)
    phrases = [ComparedPhrase(block.src, block.count, block.pairs) for block in chosen]
    if voice:
        phrases = voice.sampled(phrases)
    cut = len(choice.frequent)
    return Comparison(choice.total, drawn, choice.eligible, phrases[:cut], phrases[cut:])


class _Voice:
    """What the model says of phrases."""

    def __init__(self, model: LoadedModel, samples: int, seed: int, batch_size: int) -> None:
        ensemble = Ensemble((model,))
        if not ensemble.reads_source:
            raise ModelError("a language model gives a phrase pair no score; give another model")
        self._scorer = Scorer(ensemble, batch_size * PHRASES_PER_SENTENCE)
        self._translator = Translator(ensemble, batch_size=batch_size)
        self._samples = samples
        self._seed = seed

    def scored(
        self, drawn: Sequence[ScoredPair], blocks: Sequence[SourcePhrase]
    ) -> tuple[list[ScoredPair], list[SourcePhrase]]:
        """The same pairs with the model's scores."""
        pairs = self._scored([*drawn, *itertools.chain(*(block.pairs for block in blocks))])
        with_scores = list(itertools.islice(pairs, len(drawn)))
        return with_scores, [
            dataclasses.replace(block, pairs=list(itertools.islice(pairs, len(block.pairs))))
            for block in blocks
        ]

    def sampled(self, phrases: Sequence[ComparedPhrase]) -> list[ComparedPhrase]:
        """The same phrases with samples."""
        lines = [phrase.src for phrase in phrases]
        drawn = self._translator.sample(lines, self._samples, self._seed, tokenized=True)
        return [_with_samples(*pair) for pair in zip(phrases, drawn, strict=True)]

    def _scored(self, pairs: Sequence[ScoredPair]) -> Iterator[ScoredPair]:
        def place(number: int) -> str:
            return f"the phrase pair that begins with {pairs[number - 1].src[:50]!r}"

        phrases = ((pair.src, pair.tgt) for pair in pairs)
        scores = self._scorer.score(phrases, tokenized=True, pair_name=place)
        for pair, score in zip(pairs, scores, strict=True):
            yield dataclasses.replace(pair, model=max(score.log_prob, MIN_LOG_PROB))


def _with_samples(phrase: ComparedPhrase, drawn: Sequence[Translation]) -> ComparedPhrase:
    known = {pair.tgt for pair in phrase.pairs}
    samples = [
        Sample(sample.text, sample.score, times, sample.text in known)
        for sample, times in count_duplicates([sample for sample in drawn if sample.finished])
    ]
    samples.sort(key=lambda sample: -sample.score)
    unfinished = sum(not sample.finished for sample in drawn)
    return dataclasses.replace(phrase, samples=samples, unfinished=unfinished)
