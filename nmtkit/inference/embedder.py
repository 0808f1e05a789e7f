"""The vectors that a model makes of words and of sentences; also from Python.

    from nmtkit.inference.embedder import line_vectors, word_vectors
    from nmtkit.model_folder import load_model

    model = load_model("model")
    for text, vector in line_vectors(model, ["Mary admires John."]):
        print(text, vector)

What the vector of a sentence is, each model says itself (`summarise`): the summary c of the models
that have one (Cho et al. 2014), all states of the deep LSTM (Sutskever et al. 2014), and of
RNNsearch, which has none, the backward state at the first word.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

import torch

from nmtkit.data.batch import pad
from nmtkit.errors import ModelError
from nmtkit.inference.stream_batching import WINDOW_BATCHES, length_batches, windows
from nmtkit.model_folder import LoadedModel
from nmtkit.models.base import HasSourceVectors, HasTargetVectors
from nmtkit.special_symbols import EOS

Named = tuple[str, list[float]]
"""A text and its vector."""

LOOKED_UP = 1024
"""Words of a vocabulary that are looked up together."""


def line_vectors(
    loaded: LoadedModel, lines: Iterable[str], tokenized: bool = False, batch_size: int = 64
) -> Iterator[Named]:
    """The vector of each line of source text, in the order given; an empty line is `</s>` alone.

    :param tokenized: the lines are tokenised already.
    :raises ModelError: the model reads no source.
    """
    model = _reader(loaded)
    for window in windows(lines, batch_size * WINDOW_BATCHES):
        ids = [
            [*loaded.src_vocab.ids(loaded.src_text.tokens(line, tokenized)), EOS] for line in window
        ]
        found: dict[int, list[float]] = {}
        for batch in length_batches([len(of_line) for of_line in ids], batch_size):
            src, mask = pad([ids[number] for number in batch])
            with torch.inference_mode():
                summary = model.summarise(src.to(loaded.device), mask.to(loaded.device))
            found.update(zip(batch, summary.tolist(), strict=True))
        yield from ((line, found[number]) for number, line in enumerate(window))


def word_vectors(
    loaded: LoadedModel, side: Literal["source", "target"], limit: int = 0
) -> Iterator[Named]:
    """The embedding of each word of a vocabulary, the most frequent first.

    `</s>` and `<unk>` are left out: they are no words.

    :param limit: words at most; 0 takes all.
    :raises ModelError: the model has no such embeddings.
    """
    if side == "source":
        vocabulary, embed = loaded.src_vocab, _reader(loaded).source_embeddings
    else:
        model = loaded.model
        if not isinstance(model, HasTargetVectors):
            raise ModelError("this model has no vectors of target words")
        vocabulary, embed = loaded.tgt_vocab, model.target_embeddings
    numbers = range(2, min(len(vocabulary), limit + 2) if limit else len(vocabulary))
    for some in windows(numbers, LOOKED_UP):
        with torch.inference_mode():
            rows = embed(torch.tensor(some, device=loaded.device)).tolist()
        yield from zip((vocabulary.words[number] for number in some), rows, strict=True)


def _reader(loaded: LoadedModel) -> HasSourceVectors:
    if not isinstance(loaded.model, HasSourceVectors):
        raise ModelError(
            "a language model reads no source, so it has vectors of target words only; use"
            " --words target, or a model that translates"
        )
    return loaded.model
