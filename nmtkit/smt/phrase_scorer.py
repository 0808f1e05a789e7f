"""Neural scores for phrase tables: p(target phrase | source phrase) as new columns.

From Python:

from nmtkit.smt.phrase_scorer import PhraseScorer
from nmtkit.smt.phrase_table import read_phrase_table
for line in PhraseScorer.load("model").lines(read_phrase_table("phrase-table.gz")):
    print(line.decode())

Cho et al. 2014, section 3.1: the score of the RNN Encoder-Decoder is one more feature of a phrase
pair in Moses's log-linear model; section 4.2: so is the number of words unknown to the network, the
word penalty WP, because it overestimates the probability of words outside of its shortlists.

Departures and readings:

- A phrase table holds probabilities, and Moses takes their natural logarithm when it reads them.
  Therefore p is written, not log p, and e^-w for w unknown words, so that Moses's features are
  log p and -w. Moses raises probabilities below e^-100 to e^-100.
- The unknown words of both sides are counted together, because the paper has one feature. Unknown
  are words outside the first model's shortlists or, if its tokens are subwords, unknown subwords.
"""

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch

from nmtkit.errors import ModelError
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Score, Scorer
from nmtkit.inference.stream_batching import WINDOW_BATCHES, windows
from nmtkit.io.text_content import STANDARD
from nmtkit.model_folder import LoadedModel, load_models
from nmtkit.parallel.fork import run_parallel
from nmtkit.smt.phrase_table import PhrasePair

PHRASES_PER_SENTENCE = 4
"""Phrases computed together instead of one sentence, because they are so much shorter."""

MIN_PAIRS_PER_CORE = 64
"""Minimum number of pairs for each core that works in parallel."""


class PhraseScorer:
    """Appends scores to the lines of a phrase table.

    :param models: each adds one column.
    :param batch_size: in sentences; `PHRASES_PER_SENTENCE` times as many phrase pairs are computed
        together.
    :param logs: write log p and -w instead of p and e^-w.
    :param count_unknown: add a last column for the unknown words of the pair.
    :raises ModelError: a model is a language model.
    """

    def __init__(
        self,
        models: Sequence[LoadedModel],
        batch_size: int = 64,
        logs: bool = False,
        count_unknown: bool = False,
    ) -> None:
        self._models = models
        size = batch_size * PHRASES_PER_SENTENCE
        self._scorers = [Scorer(Ensemble((model,)), size) for model in models]
        if not all(scorer.reads_source for scorer in self._scorers):
            raise ModelError("a language model cannot score phrase pairs; leave it out")
        self._window = size * WINDOW_BATCHES
        self._logs = logs
        self._count_unknown = count_unknown
        self._original_scores = 0  # number of scores of the first line

    @classmethod
    def load(
        cls,
        *folders: str | Path,
        device: str = "auto",
        batch_size: int = 64,
        logs: bool = False,
        count_unknown: bool = False,
        params: str | Path = "best",
    ) -> "PhraseScorer":
        """Load models from their folders.

        :param params: which parameters: "best", "last", or the file of a single model.
        :raises ModelError: a folder is incomplete, or its model is a language model.
        :raises ConfigError: `params` is a file, and there are several models.
        """
        return cls(load_models(folders, device, params), batch_size, logs, count_unknown)

    def lines(self, pairs: Iterable[PhrasePair]) -> Iterator[bytes]:
        """Yield the lines of a phrase table in order, with the new scores after their own.

        :raises ModelError: a model gives log-probabilities that are not numbers.
        :raises DataError: a pair is too long for its alignment to fit in memory.
        """
        self._original_scores = 0
        for window in windows(pairs, self._window):
            self._original_scores = self._original_scores or len(window[0].scores)
            for pair, values in zip(window, self._new_scores(window), strict=True):
                yield pair.with_scores(values)

    def moses_lines(self, table: str | Path) -> str:
        """Return what to change in moses.ini for the table that was written last, if it can."""
        before, added = self._original_scores, len(self._models) + self._count_unknown
        if not before:
            return "the phrase table is empty"
        if self._logs:
            return "not for Moses, which takes logarithms itself: it needs a table without --logs"
        path = "" if str(table) == STANDARD else f" path={table}"
        return (
            f"moses.ini: in the line of PhraseDictionaryMemory write num-features={before + added}"
            f"{path}; in [weight], write {added} more after the {before} of"
            f" TranslationModel0=, such as {' '.join(['0.1'] * added)}, and tune them"
        )

    def _new_scores(self, window: Sequence[PhrasePair]) -> list[list[str]]:
        """Compute the new scores of each pair, as text, on all cores."""
        on_cpu = all(model.device.type == "cpu" for model in self._models)
        cores = torch.get_num_threads() if on_cpu else 1
        cores = max(1, min(cores, len(window) // MIN_PAIRS_PER_CORE))
        tasks = [
            functools.partial(self._new_scores_of_part, window[core::cores])
            for core in range(cores)
        ]
        results = run_parallel(tasks)
        return [results[index % cores][index // cores] for index in range(len(window))]

    def _new_scores_of_part(self, pairs: Sequence[PhrasePair]) -> list[list[str]]:
        """Compute the new scores of each pair, as text, on one core."""
        phrases = [(pair.src, pair.tgt) for pair in pairs]

        def location(number: int) -> str:
            return pairs[number - 1].location

        per_model = [
            scorer.score(phrases, tokenized=True, pair_name=location) for scorer in self._scorers
        ]
        return [
            [self._formatted(value) for value in self._columns(scores)]
            for scores in zip(*per_model, strict=True)
        ]

    def _columns(self, scores: Sequence[Score]) -> list[float]:
        """Return the natural logarithms of the new columns of one pair."""
        columns = [score.log_prob for score in scores]
        return [*columns, 0.0 - self._unknown_tokens(scores[0])] if self._count_unknown else columns

    def _unknown_tokens(self, score: Score) -> int:
        """Count the tokens of a pair that are not in the first model's vocabularies."""
        known = self._models[0].src_vocab
        return score.unknown + sum(token not in known for token in score.src_tokens)

    def _formatted(self, log: float) -> str:
        return f"{log if self._logs else math.exp(log):.6g}"
