"""Model folders used together: one model, or several that translate into the same words."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from nmtkit.data.batch import pad
from nmtkit.errors import ConfigError, ModelError
from nmtkit.inference.stream_batching import Batches
from nmtkit.model_folder import LoadedModel, load_model
from nmtkit.models import kernels
from nmtkit.models.base import TranslationModel
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.candidates import PADDING
from nmtkit.search.model_averaging import EQUAL_WEIGHTS, ModelAveraging
from nmtkit.special_symbols import EOS
from nmtkit.text.vocabulary import Vocabulary

SourceTokens = Sequence[Sequence[str]]
"""A source sentence as each model splits it into tokens."""


class CandidateLists(Protocol):
    """Restricts the translation of a line to some words."""

    def candidates(self, source_tokens: Sequence[str]) -> npt.ArrayLike:
        """Return the words for one line.

        :param source_tokens: of the first model, without `</s>`.
        :return: ids of target words in rising order, each once, `</s>` and `<unk>` among them.
        """
        ...


@dataclass(frozen=True)
class Ensemble:
    """Models with one target vocabulary; on the source side each may have words of its own.

    :raises ModelError: there is none, or their target vocabularies differ.
    """

    members: tuple[LoadedModel, ...]
    averaging: ModelAveraging = EQUAL_WEIGHTS

    def __post_init__(self) -> None:
        if not self.members:
            raise ModelError("no model folder was given; name at least one")
        for number, member in enumerate(self.members[1:], start=2):
            _check_same_words(self.members[0].tgt_vocab, member.tgt_vocab, number)

    def averaged(self, weights: Sequence[float] = (), log_linear: bool = False) -> "Ensemble":
        """The same models, averaged otherwise; see `ModelAveraging`.

        :raises ConfigError: there are not as many weights as models, or one is not above 0.
        """
        if weights and len(weights) != len(self.members):
            raise ConfigError(
                f"{len(weights)} weights for {len(self.members)} models; give one for each, or none"
            )
        if any(not 0 < weight < float("inf") for weight in weights):
            raise ConfigError("the weight of a model must be above 0; leave the model out instead")
        return replace(self, averaging=ModelAveraging(tuple(weights), log_linear))

    @classmethod
    def load(cls, folders: Sequence[str | Path], device: str, params: str = "best") -> "Ensemble":
        """Open model folders.

        :raises ModelError: a folder lacks something, or the target vocabularies differ.
        """
        return cls(tuple(load_model(folder, device, params) for folder in folders))

    @property
    def first(self) -> LoadedModel:
        """The model whose settings, target text and alignments count."""
        return self.members[0]

    @contextlib.contextmanager
    def error_context(self) -> Iterator[None]:
        """Name the models' files in what is raised of the models meanwhile.

        :raises ModelError: one was raised; here it begins with the files.
        """
        try:
            yield
        except ModelError as error:
            files = ", ".join(str(member.path or "a model in memory") for member in self.members)
            raise ModelError(f"{files}: {error}") from error

    @property
    def models(self) -> list[TranslationModel]:
        """The models alone."""
        return [member.model for member in self.members]

    @property
    def reads_source(self) -> bool:
        """Whether a model translates. One is enough: language models may join it."""
        return any(model.reads_source for model in self.models)

    def for_inference(self, quantize: bool = False) -> "Ensemble":
        """The same models, ready for many steps of search in one thread.

        :param quantize: multiply with matrices of 8 bits.
        :raises ConfigError: 8 bits with a model that is not on a CPU, or with NMTKIT_PLAIN=1.
        """
        if quantize and any(member.device.type != "cpu" for member in self.members):
            raise ConfigError("--quantize is for translating on a CPU; add --device cpu")
        if quantize and kernels.PLAIN:
            raise ConfigError("--quantize cannot run with NMTKIT_PLAIN=1; leave one of them out")
        ready = (
            replace(member, model=member.model.for_inference(quantize)) for member in self.members
        )
        return replace(self, members=tuple(ready))

    @property
    def has_subwords(self) -> bool:
        """Whether the first model's tokens are pieces of words."""
        return self.first.config.text.bpe != "none"

    def source_tokens(self, line: str, tokenized: bool = False) -> list[list[str]]:
        """A source line as each model splits it."""
        return [member.src_text.tokens(line, tokenized) for member in self.members]

    def encode(self, sentences: Sequence[SourceTokens]) -> tuple[list[Any], Tensor]:
        """Let every model read a batch.

        :return: what each read, and T_x of each sentence for the first model [batch].
        """
        batches = [self.source_batch(sentences, number) for number in range(len(self.members))]
        with torch.inference_mode():
            encoded = [
                model.encode(*batch) for model, batch in zip(self.models, batches, strict=True)
            ]
        return encoded, batches[0][1].sum(1)

    def encoded_batches(
        self,
        sentences: Sequence[SourceTokens],
        batches: Batches,
        candidates: CandidateLists | None = None,
    ) -> Iterator[EncodedBatch]:
        """Yield batches for search, each encoded when search asks for it.

        :param batches: indices of sentences.
        :param candidates: restricts the words of each translation.
        """
        for batch in batches:
            chosen = [sentences[number] for number in batch]
            encoded, lengths = self.encode(chosen)
            lists = None
            if candidates is not None:
                ids = [candidates.candidates(tokens[0]) for tokens in chosen]
                rows = [torch.as_tensor(of_one, dtype=torch.int64) for of_one in ids]
                lists = pad_sequence(rows, batch_first=True, padding_value=PADDING)
                lists = lists.to(lengths.device)
            yield EncodedBatch(encoded, lengths, lists)

    def source_batch(self, sentences: Sequence[SourceTokens], number: int) -> tuple[Tensor, Tensor]:
        """The ids of a batch in the words of one model, and their mask. Shapes: [batch, T_x]."""
        member = self.members[number]
        ids, mask = pad([[*member.src_vocab.ids(tokens[number]), EOS] for tokens in sentences])
        return ids.to(member.device), mask.to(member.device)


def _check_same_words(one: Vocabulary, other: Vocabulary, number: int) -> None:
    if one.words == other.words:
        return
    sizes = f"{len(one)} and {len(other)} words"
    place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    told = f"{sizes}; " + (
        "one goes on where the other ends"
        if place is None
        else f"word {place + 1} is '{one.words[place]}' in one, '{other.words[place]}' in the other"
    )
    raise ModelError(
        f"models 1 and {number} have different target vocabularies ({told}); an ensemble needs"
        " models trained on the same prepared folder"
    )
