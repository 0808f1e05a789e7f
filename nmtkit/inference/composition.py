"""The composition that a grConv model builds over a sentence; also from Python.

    from nmtkit.inference.composition import compositions
    for composition in compositions(load_model("model"), ["A man is reading."]):
        print(composition.words, composition.levels)

grConv (Cho et al. 2014b) builds a pyramid over the words; the coefficients of its nodes can be read
as a soft parse.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch

from nmtkit.data.batch import pad
from nmtkit.errors import ModelError, refuse_string
from nmtkit.inference.stream_batching import WINDOW_BATCHES, length_batches, windows
from nmtkit.model_folder import LoadedModel
from nmtkit.models.base import HasComposition
from nmtkit.special_symbols import EOS, EOS_WORD


@dataclass(frozen=True)
class Composition:
    """The pyramid over one sentence.

    words: tokens as the model read them, ending with `</s>`.
    levels: weights (w_c, w_l, w_r) of the new activation, the left child and the right child, which
        sum to 1: for each level above the words, for each node from the left.
    """

    words: list[str]
    levels: list[list[list[float]]]


def compositions(
    loaded: LoadedModel, lines: Iterable[str], tokenized: bool = False, batch_size: int = 64
) -> Iterator[Composition]:
    """Compute the composition of each line, in the order given.

    :param tokenized: the lines are already tokenised.
    :raises ModelError: the model is not a grConv.
    :raises TypeError: `lines` is a single string.
    """
    refuse_string(lines, "lines")
    model = loaded.model
    if not isinstance(model, HasComposition):
        raise ModelError("this model builds no structure over a sentence; use a grConv model")
    for window in windows(lines, batch_size * WINDOW_BATCHES):
        sentences = [loaded.src_text.tokens(line, tokenized) for line in window]
        results: dict[int, Composition] = {}
        for batch in length_batches([len(tokens) + 1 for tokens in sentences], batch_size):
            ids, mask = pad([[*loaded.src_vocab.ids(sentences[n]), EOS] for n in batch])
            with torch.inference_mode():
                pyramids = model.compositions(ids.to(loaded.device), mask)
            for number, pyramid in zip(batch, pyramids, strict=True):
                words = [*sentences[number], EOS_WORD]
                results[number] = Composition(words, [level.tolist() for level in pyramid])
        yield from (results[number] for number in range(len(window)))
