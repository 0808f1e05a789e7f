"""Rehearsal of what a model predicts, where the data that it was trained on is gone.

Lines of random words are translated by the old model, and at each word of the translation the new
one is to predict what the old one does (Robins 1995: "pseudorehearsal"; Li and Hoiem 2016). Nothing
changes where both predict alike. If the translations were learned as if they were right, much
would: they are as poor as their sources.
"""

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from nmtkit.data.batch import Batch
from nmtkit.data.batching import Batches
from nmtkit.data.corpus import Corpus
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.translator import Translator
from nmtkit.model_folder import LoadedModel
from nmtkit.models import Model
from nmtkit.special_symbols import EOS, SPECIAL_WORDS
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.adaptation.corrections import batching, corpus_of

BLOCK = 200
"""Lines that are drawn and translated at a time; each is used once."""

MEAN_LENGTH = 15
"""Mean number of tokens of a line, if the vocabulary does not tell that of the training data."""


class Rehearsal:
    """Endless batches of random lines, with a model's translations.

    teacher: the model.
    """

    def __init__(self, model: LoadedModel, teacher: Model, tokens: int, seed: int) -> None:
        """Translate nothing yet.

        :param model: whose vocabularies and text are those of the teacher.
        :param teacher: the model that predicts; its parameters must not change.
        :param tokens: target tokens of a batch, at most.
        """
        self.teacher = teacher
        self._model = dataclasses.replace(model, model=teacher)
        self._translator = Translator(Ensemble((self._model,)))
        self._tokens = tokens
        self._seed = seed
        text = model.config.text
        self._tags = ["", *text.tags]
        self._frequencies = _frequencies(model.src_vocab, self._tags)
        mean = min(_mean_length(model.src_vocab), model.config.data.max_length / 2)
        self._max_length = max(1, round(2 * mean))

    def __iter__(self) -> Iterator[Batch]:
        """Yield batches whose targets are not learned, but what the teacher predicts there."""
        data = batching(self._model.config.data, self._tokens)
        for number in itertools.count():
            batches = Batches(self._corpus(number), data, self._seed)
            for batch in batches:
                yield batch._replace(dropout=False, rehearsed=True)
                if batches.position.epoch:
                    break

    def _corpus(self, number: int) -> Corpus:
        """Return the lines of a block and their translations, as the model's ids."""
        lines = self._lines(np.random.default_rng([self._seed, number]))
        limit = self._model.config.data.max_length
        pairs = []
        for [best] in self._translator.translate(lines, beam=1):
            src = self._model.src_vocab.ids(best.src_tokens[:limit])
            tgt = self._model.tgt_vocab.ids(best.tokens[:limit])
            pairs.append(((*src, EOS), (*tgt, EOS)))
        return corpus_of(pairs, self._model, "what is rehearsed")

    def _lines(self, random: np.random.Generator) -> list[str]:
        """Draw the lines of a block, as raw text; each may begin with one of the model's tags."""
        words, text = self._model.src_vocab.words, self._model.src_text
        lines = []
        for length in random.integers(1, self._max_length, BLOCK, endpoint=True):
            drawn = random.choice(len(words), length, p=self._frequencies)
            line = text.line([words[index] for index in drawn])
            lines.append(text.with_tag(line, random.choice(self._tags)))
        return lines


def _frequencies(vocabulary: Vocabulary, tags: list[str]) -> npt.NDArray[np.float64]:
    """Return the relative frequency of each word, 0 for special words and tags.

    Where words were not counted, they are taken to be in the order of their frequency, which is
    then inversely proportional to their rank (Zipf's law).
    """
    counts = np.array(vocabulary.counts, np.float64)
    if not counts[len(SPECIAL_WORDS) :].any():
        counts = 1 / np.arange(1, len(vocabulary) + 1)
    counts[[word in SPECIAL_WORDS or word in tags for word in vocabulary]] = 0
    frequencies: npt.NDArray[np.float64] = counts / counts.sum()
    return frequencies


def _mean_length(vocabulary: Vocabulary) -> float:
    """Return the mean number of tokens of a sentence of the training data."""
    sentences, *words = vocabulary.counts
    return sum(words) / sentences if sentences and any(words) else MEAN_LENGTH
