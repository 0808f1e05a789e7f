"""Translates lines of text with a trained model or an ensemble; also from Python.

    from nmtkit import Translator
    for best in Translator.load("model").translate(["A man is reading."]):
        print(best[0].text, best[0].score)

Lines are taken in windows, sorted by length, searched in batches and put back in order: there is
always one result for each line, and it is the same whatever else is in the stream. Where torch may
use several CPU cores, each searches for a share of the lines.
"""

import copy
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt
import torch
from torch import Tensor

from nmtkit.config import SearchConfig, rename_settings
from nmtkit.config_io import warn_of_old_names
from nmtkit.errors import ModelError
from nmtkit.inference.aligner import Alignment, best_sources, pieces_of_words, word_alignment
from nmtkit.inference.ensemble import Ensemble, SourceTokens
from nmtkit.inference.stream_batching import WINDOW_BATCHES, length_batches, windows
from nmtkit.parallel.fork import run_parallel
from nmtkit.search import EncodedBatch, Hypothesis, sample_read, search_batches, with_alignments
from nmtkit.search.candidates import NONE
from nmtkit.search.coverage import best_covering, hypotheses_to_find
from nmtkit.search.search_settings import check_settings
from nmtkit.seeds import seed_of
from nmtkit.special_symbols import UNK, UNK_WORD
from nmtkit.text.vocabulary import Vocabulary

Batches = list[list[int]]
"""Lines of a window, by number, in batches of like length."""

Decode = Callable[[list[SourceTokens], Batches], Iterable[list[Hypothesis]]]
"""The lines of a window and some batches of them in; the translations of each line of these
batches out."""

LEAST_LINES = 8
"""Lines of a window for each core, where cores are to work apart."""


class CandidateLists(Protocol):
    """Says from which words the translation of a line is made."""

    def candidates(self, source_tokens: Sequence[str]) -> npt.ArrayLike:
        """Words for one line.

        :param source_tokens: what the first model reads, without `</s>`.
        :return: ids of target words in rising order, each once, `</s>` and `<unk>` among them.
        """
        ...


@dataclass(frozen=True)
class Translation:
    """One translation of one line.

    text: detokenised, unless the model's corpus was tokenised or that was asked for; with other
        words in the place of `<unk>` where that was asked for.
    tokens: as the model chose them (pieces of words, with BPE), without `</s>`.
    score: log p of the tokens and `</s>` together, natural log: what `Scorer` gives them.
    ranking_score: the score over what its length says, by which the best was chosen.
    word_scores: log p of each token, and of `</s>`.
    finished: False where the longest length was met before `</s>`.
    src_tokens: what the (first) model read, without `</s>`.
    alignment: alpha_ij, where asked for; of an ensemble the mean over the models that read the same
        tokens as the first. The last row and column are those of `</s>`.
        Shape: [len(tokens) + 1, len(src_tokens) + 1], one row fewer where unfinished.
    word_alignment: the same between words.
    """

    text: str
    tokens: list[str]
    score: float
    ranking_score: float
    word_scores: list[float]
    finished: bool
    src_tokens: list[str]
    alignment: Tensor | None = None
    word_alignment: Alignment | None = None


class Translator:
    """Translates with one model, or with several that translate into the same words.

    :param ensemble: the models.
    :param search: how to look for translations; by default as the first model's config says.
    :param batch_size: sentences searched together; fewer where they are very long.
    :param quantize: multiply with matrices of 8 bits: faster on a CPU, nearly the same.
    :param candidates: from which words each translation is made; all by default. Probabilities
        and scores are then those of a softmax over these words.
    :raises ConfigError: `quantize` where a model is not on a CPU.
    :raises ModelError: all models are language models, which read no source.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        search: SearchConfig | None = None,
        batch_size: int = 64,
        quantize: bool = False,
        candidates: CandidateLists | None = None,
    ) -> None:
        if not ensemble.reads_source:
            raise ModelError(
                "a language model does not translate; use it beside a model that does, or in"
                " 'nmtkit score'"
            )
        self._ensemble = ensemble.for_inference(quantize)
        self.search = ensemble.first.config.search if search is None else search
        self._batch_size = batch_size
        self._candidates = candidates
        self._replacements: Mapping[str, str] | None = None

    @classmethod
    def load(
        cls,
        *folders: str | Path,
        device: str = "auto",
        search: SearchConfig | None = None,
        batch_size: int = 64,
        params: str = "best",
        quantize: bool = False,
    ) -> "Translator":
        """Open one model folder, or several as an ensemble.

        :param device: "auto", "cpu" or "cuda".
        :param params: which parameters: "best", "last", or a file.
        :raises ModelError: a folder lacks something, or the target vocabularies differ.
        """
        return cls(Ensemble.load(folders, device, params), search, batch_size, quantize)

    def with_search(self, **changes: Any) -> "Translator":
        """The same models, searching otherwise.

        :param changes: fields of `SearchConfig`, such as beam=5.
        """
        table, renamed = rename_settings({"search": changes}, "with_search")
        warn_of_old_names(renamed)
        translator = copy.copy(self)
        translator.search = dataclasses.replace(self.search, **table["search"])
        return translator

    def with_candidates(self, candidates: CandidateLists | None) -> "Translator":
        """The same translator, choosing from these words alone."""
        translator = copy.copy(self)
        translator._candidates = candidates
        return translator

    def with_replacements(self, table: Mapping[str, str] | None) -> "Translator":
        """The same translator, which replaces each `<unk>` in the text of a translation.

        Jean et al. 2015, section 3.4: by the source word that it owes most to, or that word's
        entry in a table; `</s>` does not count. The tokens and scores stay the model's.

        :param table: source word -> translation; empty: all are copied; None: nothing is replaced.
        """
        translator = copy.copy(self)
        translator._replacements = table
        return translator

    @property
    def ensemble(self) -> Ensemble:
        """The models, ready for search."""
        return self._ensemble

    @property
    def tgt_vocab(self) -> Vocabulary:
        """The words of translations."""
        return self._ensemble.first.tgt_vocab

    @property
    def window(self) -> int:
        """Lines that are worth translating together."""
        return self._batch_size * WINDOW_BATCHES

    def translate(
        self,
        lines: Iterable[str],
        n_best: int = 1,
        tokenized: bool = False,
        alignments: bool = False,
    ) -> Iterator[list[Translation]]:
        """Translate lines, in the order given.

        :param lines: source text; an empty line, or one of whitespace, has an empty translation.
        :param n_best: translations wanted of each line.
        :param tokenized: the lines are tokenised already, and so is the text that is given.
        :param alignments: give alignments.
        :return: for each line its translations, best first: at least one, at most n_best.
        :raises ConfigError: n_best is above the beam's width, or a setting is out of range.
        :raises ModelError: alignments are asked for and the model has none.
        """
        for window in windows(lines, self.window):
            yield from self.translate_window(window, n_best, tokenized, alignments)

    def translate_window(
        self,
        lines: Sequence[str],
        n_best: int = 1,
        tokenized: bool = False,
        alignments: bool = False,
    ) -> list[list[Translation]]:
        """Translate some lines together; see `translate`."""

        check_settings(self.search, n_best)

        def decode(sources: list[SourceTokens], batches: Batches) -> Iterable[list[Hypothesis]]:
            readings = (self._read(sources, batch) for batch in batches)
            models, averaging = self._ensemble.models, self._ensemble.averaging
            width = hypotheses_to_find(self.search, n_best)
            found = iter(search_batches(models, readings, self.search, width, averaging))
            for batch in batches:
                of_batch = list(itertools.islice(found, len(batch)))
                for of_line in self._aligned(sources, batch, of_batch, alignments):
                    yield best_covering(of_line, self.search, n_best)

        return self._in_order(lines, decode, tokenized)

    def sample(
        self,
        lines: Iterable[str],
        n: int = 1,
        seed: int = 1,
        tokenized: bool = False,
        alignments: bool = False,
    ) -> Iterator[list[Translation]]:
        """Draw translations of lines from the model's distribution.

        :param n: samples of each line; the same one may come more than once.
        :param seed: with the line's number, decides its samples, whatever the other lines are.
        :return: for each line its samples, in the order drawn.
        """
        first = 1
        for window in windows(lines, self.window):
            yield from self.sample_window(window, n, seed, tokenized, alignments, first)
            first += len(window)

    def sample_window(
        self,
        lines: Sequence[str],
        n: int = 1,
        seed: int = 1,
        tokenized: bool = False,
        alignments: bool = False,
        first: int = 1,
    ) -> list[list[Translation]]:
        """Draw translations of some lines together; see `sample`.

        :param first: number of the first line in its stream, from 1.
        """

        def decode(sources: list[SourceTokens], batches: Batches) -> Iterable[list[Hypothesis]]:
            for batch in batches:
                seeds = [seed_of(seed, first + number) for number in batch]
                read = self._read(sources, batch)
                models, averaging = self._ensemble.models, self._ensemble.averaging
                drawn = sample_read(models, read, self.search, n, seeds, averaging=averaging)
                yield from self._aligned(sources, batch, drawn, alignments)

        return self._in_order(lines, decode, tokenized, copies=n)

    def _in_order(
        self, lines: Sequence[str], decode: Decode, tokenized: bool, copies: int = 1
    ) -> list[list[Translation]]:
        """Search for translations in batches of like length.

        :param copies: how often the empty translation of an empty line is given.
        """
        sources: list[SourceTokens]
        sources = [self._ensemble.source_tokens(line, tokenized) for line in lines]
        found = {number: [empty_translation()] * copies for number in range(len(lines))}
        shares = self._shares(sources)

        def work(batches: Batches) -> list[list[Hypothesis]]:
            with self._ensemble.error_context():
                return list(decode(sources, batches))

        results = run_parallel([functools.partial(work, batches) for batches in shares])
        for batches, of_share in zip(shares, results, strict=True):
            numbers = itertools.chain.from_iterable(batches)
            for number, hypotheses in zip(numbers, of_share, strict=True):
                found[number] = [self._told(sources[number], h, tokenized) for h in hypotheses]
        return [found[number] for number in range(len(lines))]

    def _shares(self, sources: list[SourceTokens]) -> list[Batches]:
        """Part the lines that have words between the cores, alike in length, and into batches."""
        full = [number for number, tokens in enumerate(sources) if tokens[0]]
        full.sort(key=lambda number: -len(sources[number][0]))
        on_cpu = all(member.device.type == "cpu" for member in self._ensemble.members)
        cores = torch.get_num_threads() if on_cpu else 1
        cores = max(1, min(cores, len(full) // LEAST_LINES))
        size = self._batch_size * (2 if self.search.beam == 1 else 1)
        shares = []
        for share in (full[core::cores] for core in range(cores)):
            lengths = [len(sources[number][0]) + 1 for number in share]
            batches = length_batches(lengths, size)
            shares.append([[share[place] for place in batch] for batch in batches])
        return shares

    def _read(self, sources: list[SourceTokens], batch: list[int]) -> EncodedBatch:
        """Let every model read a batch."""
        read = [sources[number] for number in batch]
        encoded, lengths = self._ensemble.encode(read)
        if self._candidates is None:
            return EncodedBatch(encoded, lengths)
        ids = [self._candidates.candidates(tokens[0]) for tokens in read]
        rows = [torch.as_tensor(of_one, dtype=torch.int64) for of_one in ids]
        lists = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=NONE)
        return EncodedBatch(encoded, lengths, lists.to(lengths.device))

    def _aligned(
        self,
        sources: list[SourceTokens],
        batch: list[int],
        found: list[list[Hypothesis]],
        wanted: bool,
    ) -> list[list[Hypothesis]]:
        """The same hypotheses with alignments, where they are wanted, or needed for an `<unk>` or
        for coverage."""
        wanted = wanted or self.search.coverage_penalty > 0
        if self._replacements is not None:
            wanted = wanted or any(UNK in h.ids for of_line in found for h in of_line)
        if not wanted:
            return found
        read = [sources[number] for number in batch]
        encoded, lengths = self._ensemble.encode(read)
        models = self._ensemble.models
        alike = [n for n in range(len(models)) if all(tokens[n] == tokens[0] for tokens in read)]
        with torch.inference_mode():
            return with_alignments(
                [models[n] for n in alike], [encoded[n] for n in alike], lengths, found
            )

    def _told(self, source: SourceTokens, hypothesis: Hypothesis, tokenized: bool) -> Translation:
        """A hypothesis in words."""
        first = self._ensemble.first
        tokens = first.tgt_vocab.tokens(hypothesis.words)
        matrix = None if hypothesis.alignment is None else hypothesis.alignment.cpu()
        between_words = None
        if matrix is not None:
            between_words = word_alignment(source[0], tokens, matrix, self._ensemble.has_subwords)
        shown = tokens
        if self._replacements is not None and matrix is not None:
            words = pieces_of_words(source[0], self._ensemble.has_subwords)
            shown = replaced(tokens, words, matrix, self._replacements)
        return Translation(
            text=first.tgt_text.line(shown, tokenized),
            tokens=tokens,
            score=hypothesis.score,
            ranking_score=hypothesis.ranking_score(self.search),
            word_scores=hypothesis.word_scores,
            finished=hypothesis.finished,
            src_tokens=list(source[0]),
            alignment=matrix,
            word_alignment=between_words,
        )


def counted(drawn: Sequence[Translation]) -> list[tuple[Translation, int]]:
    """Each different translation of a line, and how often it was drawn (Cho et al. 2014, table 3).

    :return: the most frequent first; of equals the likelier.
    """
    times: dict[tuple[str, ...], list[Translation]] = {}
    for translation in drawn:
        times.setdefault((*translation.tokens, str(translation.finished)), []).append(translation)
    pairs = [(same[0], len(same)) for same in times.values()]
    return sorted(pairs, key=lambda pair: (-pair[1], -pair[0].score))


def replaced(
    tokens: Sequence[str],
    source: tuple[Sequence[str], Sequence[int]],
    matrix: Tensor,
    table: Mapping[str, str],
) -> list[str]:
    """Tokens with a word of the source, or what the table has for it, in the place of `<unk>`.

    :param tokens: of a translation, without `</s>`.
    :param source: words, and for each token the number of its word.
    :param matrix: alpha_ij. Shape: [len(tokens) or one more, source tokens + 1].
    """
    words, numbers = source
    places = best_sources(matrix, len(tokens))
    chosen = [words[numbers[place]] for place in places]
    return [
        table.get(word, word) if token == UNK_WORD else token
        for token, word in zip(tokens, chosen, strict=True)
    ]


def empty_translation() -> Translation:
    """Of a line without words. No model is asked: it has this one translation, of score 0."""
    matrix = torch.ones(1, 1)
    return Translation("", [], 0.0, 0.0, [0.0], True, [], matrix, Alignment([], [], matrix))
