"""Scores for a phrase table: p(target phrase | source phrase) as new columns; also from Python.

from nmtkit.smt.phrase_scorer import PhraseScorer
from nmtkit.smt.phrase_table import read_phrase_table
for line in PhraseScorer.load("model").lines(read_phrase_table("phrase-table.gz")):
    print(line.decode())

Cho et al. 2014, section 3.1: the score of the RNN Encoder-Decoder is one more feature of a phrase
pair in Moses's log-linear model; section 4.2: so is the number of words unknown to the network, the
word penalty WP, because it overestimates the probability of words outside of its shortlists.

Departures and readings:

- A phrase table holds probabilities, of which Moses takes the natural logarithm when it reads them.
  So p is written, not log p, and for w unknown words e^-w: the features that Moses then has are
  log p and -w. Of what is below e^-100, Moses makes e^-100.
- The unknown words of both sides are counted together: the paper names one feature. They are those
  of the first model's shortlists; where its tokens are subwords, unknown subwords.
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
from nmtkit.io.lines import STANDARD
from nmtkit.model_folder import LoadedModel, load_model
from nmtkit.parallel.fork import run_parallel
from nmtkit.smt.phrase_table import PhrasePair

PHRASES = 4
"""Phrases that are worked on together for each sentence that would be: they are that short."""

LEAST_PAIRS = 64
"""Pairs for each core, where cores are to work apart."""


class PhraseScorer:
    """Appends scores to the lines of a phrase table.

    :param models: each gives a column of its own.
    :param batch_size: as of sentences; of phrase pairs more are computed together.
    :param logs: write log p and -w instead of p and e^-w.
    :param count_unknown: a last column for the unknown words of the pair.
    :raises ModelError: a model reads no source.
    """

    def __init__(
        self,
        models: Sequence[LoadedModel],
        batch_size: int = 64,
        logs: bool = False,
        count_unknown: bool = False,
    ) -> None:
        self._models = models
        size = batch_size * PHRASES
        self._scorers = [Scorer(Ensemble((model,)), size) for model in models]
        if not all(scorer.reads_source for scorer in self._scorers):
            raise ModelError("a language model gives a phrase pair no score; leave it out")
        self._window = size * WINDOW_BATCHES
        self._logs = logs
        self._count_unknown = count_unknown
        self._scores = 0  # that the first line had before

    @classmethod
    def load(
        cls,
        *folders: str | Path,
        device: str = "auto",
        batch_size: int = 64,
        logs: bool = False,
        count_unknown: bool = False,
    ) -> "PhraseScorer":
        """Open model folders.

        :raises ModelError: a folder lacks something, or its model reads no source.
        """
        models = [load_model(folder, device) for folder in folders]
        return cls(models, batch_size, logs, count_unknown)

    def lines(self, pairs: Iterable[PhrasePair]) -> Iterator[bytes]:
        """The lines of a phrase table in their order, with the new scores behind those they have.

        :raises ModelError: a model gives log-probabilities that are not numbers.
        :raises DataError: a pair is so long that the memory would not hold its alignment.
        """
        for window in windows(pairs, self._window):
            self._scores = self._scores or len(window[0].scores)
            for pair, values in zip(window, self._shared_out(window), strict=True):
                yield pair.with_scores(values)

    def moses_lines(self, table: str | Path) -> str:
        """What to change in moses.ini for the table that was written last."""
        before, added = self._scores, len(self._models) + self._count_unknown
        if not before:
            return "the phrase table is empty"
        path = "" if str(table) == STANDARD else f" path={table}"
        return (
            f"moses.ini: in the line of PhraseDictionaryMemory write num-features={before + added}"
            f"{path}; in [weight], write {added} more behind the {before} of"
            f" TranslationModel0=, such as {' '.join(['0.1'] * added)}, and tune them"
        )

    def _shared_out(self, window: Sequence[PhrasePair]) -> list[list[str]]:
        """What to append to each pair, found by all cores at once."""
        on_cpu = all(model.device.type == "cpu" for model in self._models)
        cores = torch.get_num_threads() if on_cpu else 1
        cores = max(1, min(cores, len(window) // LEAST_PAIRS))
        shares = [functools.partial(self._values, window[core::cores]) for core in range(cores)]
        found = run_parallel(shares)
        return [found[place % cores][place // cores] for place in range(len(window))]

    def _values(self, pairs: Sequence[PhrasePair]) -> list[list[str]]:
        """What to append to each pair."""
        phrases = [(pair.src, pair.tgt) for pair in pairs]

        def place(number: int) -> str:
            return pairs[number - 1].where

        found = [scorer.score(phrases, tokenized=True, pair_name=place) for scorer in self._scorers]
        return [
            [self._number(value) for value in self._columns(scores)]
            for scores in zip(*found, strict=True)
        ]

    def _columns(self, scores: Sequence[Score]) -> list[float]:
        """The natural logarithms of the new columns of one pair."""
        columns = [score.log_prob for score in scores]
        return [*columns, 0.0 - self._unknown(scores[0])] if self._count_unknown else columns

    def _unknown(self, score: Score) -> int:
        """How many tokens of a pair the first model does not know."""
        known = self._models[0].src_vocab
        return score.unknown + sum(token not in known for token in score.src_tokens)

    def _number(self, log: float) -> str:
        return f"{log if self._logs else math.exp(log):.6g}"
