"""Vectors of sentences and of words; also from Python.

    from nmtkit import Embedder
    for text, vector in Embedder.load("model").embed(["Mary admires John."]):
        print(text, vector)

Each model defines the vector of a sentence itself (`summarise`): the summary c of the models that
have one (Cho et al. 2014), all states of the deep LSTM (Sutskever et al. 2014), and for RNNsearch,
which has none, the backward state at the first word.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import torch

from nmtkit.data.batch import pad
from nmtkit.errors import ModelError, refuse_other
from nmtkit.inference.stream_batching import WINDOW_BATCHES, length_batches, windows
from nmtkit.model_folder import LoadedModel, load_model
from nmtkit.models.base import HasSourceVectors, HasTargetVectors
from nmtkit.special_symbols import EOS
from nmtkit.value_types import NaturalInt, PositiveInt, check_arguments

EMBEDDING_BATCH_SIZE = 1024
"""Number of rows of an embedding matrix that are read together."""


class Embedding(NamedTuple):
    """A text and its vector."""

    text: str
    vector: list[float]


class Embedder:
    """Computes the vectors of sentences and words under a model.

    :param loaded: the model.
    :param batch_size: lines computed together.
    """

    @check_arguments
    def __init__(self, loaded: LoadedModel, batch_size: PositiveInt = 64) -> None:
        self._loaded = loaded
        self._batch_size = batch_size

    @classmethod
    @check_arguments
    def load(
        cls,
        folder: str | Path,
        device: str = "auto",
        batch_size: PositiveInt = 64,
        params: str | Path = "best",
    ) -> "Embedder":
        """Load a model folder.

        :param folder: the model folder.
        :param device: "auto", "cpu", "cuda", "cuda:1" or "mps".
        :param batch_size: sentences encoded together.
        :param params: which parameters: "best", "last", or a file.
        :raises ModelError: a file of the folder is missing or does not fit.
        """
        return cls(load_model(folder, device, params), batch_size)

    @check_arguments
    def embed(self, lines: Iterable[str], tokenized: bool = False) -> Iterator[Embedding]:
        """Compute the vector of each line of source text, in order.

        :param lines: an empty line is `</s>` alone.
        :param tokenized: the lines are already tokenised.
        :raises ModelError: the model reads no source.
        :raises TypeError: `lines` is a single string.
        """
        return self._embed(lines, tokenized, self._source_model())

    @check_arguments
    def embed_words(
        self, side: Literal["source", "target"], limit: NaturalInt = 0
    ) -> Iterator[Embedding]:
        """Read the embedding of each word of a vocabulary, the most frequent first.

        `</s>` and `<unk>`, which are not words, are left out.

        :param side: whose vocabulary.
        :param limit: maximum number of words; 0: all.
        :raises ModelError: the model has no such embeddings.
        """
        if side == "source":
            vocabulary = self._loaded.src_vocab
            embed = self._source_model().source_embeddings
        else:
            model = self._loaded.model
            if not isinstance(model, HasTargetVectors):
                raise ModelError("this model has no vectors of target words")
            vocabulary, embed = self._loaded.tgt_vocab, model.target_embeddings
        ids = range(2, min(len(vocabulary), limit + 2) if limit else len(vocabulary))
        for window in windows(ids, EMBEDDING_BATCH_SIZE):
            with torch.inference_mode():
                rows = embed(torch.tensor(window, device=self._loaded.device)).tolist()
            for word_id, row in zip(window, rows, strict=True):
                yield Embedding(vocabulary.words[word_id], row)

    def _embed(
        self, lines: Iterable[str], tokenized: bool, model: HasSourceVectors
    ) -> Iterator[Embedding]:
        loaded = self._loaded
        for window in windows(lines, self._batch_size * WINDOW_BATCHES):
            for line in window:
                refuse_other(line, str, "each of lines")
            tokens = [loaded.src_text.tokens(line, tokenized) for line in window]
            ids = [[*loaded.src_vocab.ids(sentence), EOS] for sentence in tokens]
            vectors: dict[int, list[float]] = {}  # by index in the window
            for batch in length_batches(list(map(len, ids)), self._batch_size):
                src, src_mask = pad([ids[index] for index in batch])  # [B, T_x]
                with torch.inference_mode():
                    summaries = model.summarise(src.to(loaded.device), src_mask)
                vectors.update(zip(batch, summaries.tolist(), strict=True))
            yield from (Embedding(line, vectors[index]) for index, line in enumerate(window))

    def _source_model(self) -> HasSourceVectors:
        if not isinstance(self._loaded.model, HasSourceVectors):
            raise ModelError(
                "a language model reads no source, so it has vectors of target words only; use"
                " --vocabulary target, or a model that translates"
            )
        return self._loaded.model
