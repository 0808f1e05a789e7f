"""Ensembles: one model, or several with the same target vocabulary."""

import contextlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from nmtkit.data.batch import pad
from nmtkit.errors import ConfigError, ModelError, counted
from nmtkit.inference.stream_batching import Batches, WindowDone
from nmtkit.model_folder import LoadedModel, load_models
from nmtkit.models import kernels
from nmtkit.models.base import Scored, TranslationModel
from nmtkit.models.fast.int8 import is_int8_fast
from nmtkit.models.precision import BFLOAT16_SIZE, Precision, multiplies_bfloat16
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.model_averaging import EQUAL_WEIGHTS, ModelAveraging
from nmtkit.special_symbols import EOS
from nmtkit.text.names import PLACEHOLDERS, same_names
from nmtkit.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy.typing as npt

    from nmtkit.search.constraints import Constraints

log = logging.getLogger("nmtkit")

SearchPrecision: TypeAlias = Literal["auto", "float32", "bfloat16"]
"""The choice of a user: "auto" is bfloat16 where that pays, else float32."""

SourceTokens = Sequence[Sequence[str]]
"""The tokens of a source sentence, for each model."""


class CandidateLists(Protocol):
    """Target words that the translation of a line may use."""

    def candidates(self, source_tokens: Sequence[str]) -> "npt.ArrayLike":
        """Return the words that the translation of a line may use.

        :param source_tokens: tokens of the line for the first model, without `</s>`.
        :return: ids of target words, ascending and distinct, `</s>` and `<unk>` included.
        """
        ...


@dataclass(frozen=True)
class Ensemble:
    """Models with one target vocabulary; their source vocabularies may differ.

    tag: word that is put before each source line, of the models' tags; "" for none.
    :raises ModelError: there is no model, or target vocabularies or names to copy differ.
    """

    members: tuple[LoadedModel, ...]
    averaging: ModelAveraging = EQUAL_WEIGHTS
    tag: str = ""

    def __post_init__(self) -> None:
        if not self.members:
            raise ModelError("no model folder was given; name at least one")
        for number, member in enumerate(self.members[1:], start=2):
            _check_same_words(self.members[0].tgt_vocab, member.tgt_vocab, number)
            _check_same_names(self.members[0], member, number)

    def averaged(self, weights: Sequence[float] = (), log_linear: bool = False) -> "Ensemble":
        """Return the same models with other weights or averaging; see `ModelAveraging`.

        :raises ConfigError: there is not one weight per model, a weight is not above 0, or
            logarithms of a single model are to be averaged.
        """
        if log_linear and len(self.members) == 1:
            raise ConfigError(
                "an average of logarithms needs several models; repeat --model, or leave --average"
                " out"
            )
        if weights and len(weights) != len(self.members):
            raise ConfigError(
                f"{counted(len(weights), 'weight')} for {counted(len(self.members), 'model')};"
                " give one for each, or none"
            )
        if any(not 0 < weight < float("inf") for weight in weights):
            raise ConfigError("the weight of a model must be above 0; leave the model out instead")
        if any(weight / sum(weights) == 0 for weight in weights):
            raise ConfigError("the weights of models are too large or too different; scale them")
        return replace(self, averaging=ModelAveraging(tuple(weights), log_linear))

    @classmethod
    def load(
        cls, folders: Sequence[str | Path], device: str, params: str | Path = "best"
    ) -> "Ensemble":
        """Load model folders.

        :param params: "best", "last", or the parameter file of a single model.
        :raises ModelError: a file is missing or does not fit, or target vocabularies differ.
        :raises ConfigError: `params` is a file, and there are several models.
        """
        return cls(tuple(load_models(folders, device, params)))

    @property
    def first(self) -> LoadedModel:
        """The first model, whose settings, target text and alignments are used."""
        return self.members[0]

    @contextlib.contextmanager
    def error_context(self) -> Iterator[None]:
        """Put the models' files before the message of a ModelError raised in the block."""
        try:
            yield
        except ModelError as error:
            files = ", ".join(str(member.path or "a model in memory") for member in self.members)
            raise ModelError(f"{files}: {error}") from error

    @property
    def models(self) -> list[TranslationModel]:
        """The models alone, without vocabularies and settings."""
        return [member.model for member in self.members]

    @property
    def reads_source(self) -> bool:
        """Return True if at least one model translates; the others may be language models."""
        return any(model.reads_source for model in self.models)

    @property
    def has_attention(self) -> bool:
        """Return True if at least one model weighs the source words for each target word."""
        return any(model.has_attention for model in self.models)

    def for_inference(self, precision: Precision | SearchPrecision = "float32") -> "Ensemble":
        """Return the same models, optimised for many steps of search.

        :param precision: type of the matrix products; "auto": bfloat16 for models of at least 512
            units on a processor that multiplies it, else float32.
        :raises ConfigError: int8 or bfloat16 with a model that is not on a CPU, or with
            NMTKIT_PLAIN=1.
        """
        if precision not in ("auto", "float32"):
            option = "--quantize" if precision == "int8" else f"--precision {precision}"
            if any(member.device.type != "cpu" for member in self.members):
                raise ConfigError(f"{option} is for translating on a CPU; add --device cpu")
            if kernels.PLAIN:
                raise ConfigError(f"{option} cannot run with NMTKIT_PLAIN=1; leave one of them out")
        if precision == "int8" and not is_int8_fast():
            log.warning("--quantize: this processor multiplies 8 bits slowly; leave it out")
        prepared = (
            replace(member, model=member.model.for_inference(_precision_of(member, precision)))
            for member in self.members
        )
        return replace(self, members=tuple(prepared))

    def source_tokens(
        self, line: str, tokenized: bool = False, names: Sequence[str] | None = None
    ) -> list[list[str]]:
        """Split a source line into tokens, for each model.

        :param names: words for which placeholders stand; by default those of `find_names`.
        """
        return [
            member.src_text.tokens(member.src_text.with_tag(line, self.tag), tokenized, names)
            for member in self.members
        ]

    def find_names(self, line: str, tokenized: bool = False) -> list[str]:
        """Return the names of a source line, for which placeholders stand in its tokens."""
        text = self.first.src_text
        return text.find_names(text.with_tag(line, self.tag), tokenized)

    def with_tag(self, tag: str) -> "Ensemble":
        """Return the same models with a tag before each source line.

        :raises ConfigError: a model has no such tag; the message lists those that it has.
        """
        for member in self.members:
            if member.model.reads_source:
                member.check_tag(tag)
        return replace(self, tag=tag)

    @property
    def copied_symbols(self) -> dict[str, int]:
        """The tokens that a translation has as often as its source, with their ids."""
        text, vocabulary = self.first.config.text, self.first.tgt_vocab
        symbols = [*PLACEHOLDERS] if text.copy_names else []
        if text.markup != "none":
            from nmtkit.text.markers import SYMBOLS  # rarely needed: start-up

            symbols += sorted(SYMBOLS)
        known = [symbol for symbol in symbols if symbol in vocabulary]
        return dict(zip(known, vocabulary.ids(known), strict=True))

    def encode(self, sentences: Sequence[SourceTokens]) -> tuple[list[Any], Tensor]:
        """Encode a batch with every model.

        :return: the encoded source of each model; T_x of each sentence for the first. Shape: [B].
        """
        batches = [self.source_batch(sentences, number) for number in range(len(self.members))]
        with torch.inference_mode():
            encoded = [
                model.encode(*batch) for model, batch in zip(self.models, batches, strict=True)
            ]
        src, src_mask = batches[0]
        return encoded, src_mask.sum(1).to(src.device, non_blocking=True)

    def encoded_batches(
        self,
        sentences: Sequence[SourceTokens],
        batches: Batches,
        candidates: CandidateLists | None = None,
        constraints: "Sequence[Constraints]" = (),
        done: WindowDone | None = None,
    ) -> Iterator[EncodedBatch]:
        """Yield batches for search, each encoded when search asks for it.

        :param batches: indices of sentences.
        :param candidates: words that each translation may use, besides those of its constraints;
            all by default.
        :param constraints: of each sentence; empty if there are none.
        :param done: marks the sentences of a batch when search asks for the next one.
        """
        symbols = [*self.copied_symbols.values()]
        for batch in batches:
            batch_sentences = [sentences[number] for number in batch]
            encoded, lengths = self.encode(batch_sentences)
            own = [constraints[number] for number in batch] if constraints else ()
            lists = None
            if candidates is not None:
                lists = candidate_rows(batch_sentences, candidates, own)
                lists = lists.to(lengths.device, non_blocking=True)
            yield EncodedBatch(encoded, lengths, lists, own, repeatable=symbols)
            if done is not None:
                done.mark(batch)

    def score(
        self,
        sentences: Sequence[SourceTokens],
        tgt: Tensor,
        tgt_mask: Tensor,
        src_rows: Tensor | None = None,
    ) -> list[Scored]:
        """Score target tokens with every model; see `TranslationModel.score`."""
        return [
            model.score(*self.source_batch(sentences, number), tgt, tgt_mask, src_rows)
            for number, model in enumerate(self.models)
        ]

    def source_batch(self, sentences: Sequence[SourceTokens], number: int) -> tuple[Tensor, Tensor]:
        """Return the source ids of a batch for one model, and their mask. Shapes: [B, T_x].

        The mask stays in the host's memory, so that `encode` does not wait for the device.
        """
        member = self.members[number]
        ids, mask = pad([[*member.src_vocab.ids(tokens[number]), EOS] for tokens in sentences])
        return ids.to(member.device, non_blocking=True), mask


def _precision_of(member: LoadedModel, precision: Precision | SearchPrecision) -> Precision:
    """Choose the type of a model's matrix products; see `Ensemble.for_inference`."""
    if precision != "auto":
        return precision
    on_cpu = member.device.type == "cpu" and not kernels.PLAIN
    pays = on_cpu and member.config.model.hidden >= BFLOAT16_SIZE
    return "bfloat16" if pays and multiplies_bfloat16(member.device) else "float32"


def candidate_rows(
    sentences: Sequence[SourceTokens],
    candidates: CandidateLists,
    constraints: "Sequence[Constraints]",
) -> Tensor:
    """Return the words that the translation of each sentence may use; see `EncodedBatch`.

    :param constraints: of each sentence, whose tokens are added; empty if there are none.
    :return: Shape: [B, K], int64.
    """
    from nmtkit.search.candidates import PADDING  # rarely needed: start-up

    ids = [candidates.candidates(tokens[0]) for tokens in sentences]
    rows = [torch.as_tensor(line_ids, dtype=torch.int64) for line_ids in ids]
    if constraints:
        wanted = [torch.tensor(one.tokens).long() for one in constraints]
        pairs = zip(rows, wanted, strict=True)
        rows = [torch.unique(torch.cat(pair)) for pair in pairs]  # ascending
    return pad_sequence(rows, batch_first=True, padding_value=PADDING)


def _check_same_names(first: LoadedModel, other: LoadedModel, number: int) -> None:
    """Raise ModelError if placeholders would stand for other names in another model's source.

    :param number: number of the other model, from 1.
    """
    lists = [member.src_text.names for member in (first, other) if member.model.reads_source]
    if len(lists) == 2 and not same_names(*lists):
        raise ModelError(
            f"model {number} copies other names than the first; give models that were trained on"
            " one prepared folder"
        )


def _check_same_words(first: Vocabulary, other: Vocabulary, number: int) -> None:
    """Raise ModelError if the target vocabularies of the first and another model differ.

    :param number: number of the other model, from 1.
    """
    if first.words == other.words:
        return
    sizes = f"{len(first)} and {len(other)} words"
    index = next((i for i, (a, b) in enumerate(zip(first, other, strict=False)) if a != b), None)
    difference = f"{sizes}; " + (
        "one continues where the other ends"
        if index is None
        else f"word {index + 1} is '{first.words[index]}' in one, '{other.words[index]}' in the"
        " other"
    )
    raise ModelError(
        f"models 1 and {number} have different target vocabularies ({difference}); an ensemble"
        " needs models trained on the same prepared folder"
    )


@contextlib.contextmanager
def one_thread_if(small: bool) -> Iterator[None]:
    """Compute with one thread in the block if its work is small, as for a line that comes alone.

    Its matrix products are so small that several threads, which wait for each other after every
    operation, are slower than one. Setting the number takes about a microsecond.
    """
    threads = torch.get_num_threads()
    if not small or threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
