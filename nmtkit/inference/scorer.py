"""Scores of translations, log p(target | source); also from Python.

    from nmtkit import Scorer
    for score in Scorer.load("model").score([("I see him.", "Je le vois.")]):
        print(score.log_prob)

A language model gives log p(text): `Scorer.load("cslm").score_text(["Je le vois."])`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import torch
from torch import Tensor

from nmtkit.data.batch import pad
from nmtkit.errors import DataError, ModelError, counted, refuse_other
from nmtkit.inference.ensemble import Ensemble, SourceTokens
from nmtkit.inference.stream_batching import WINDOW_BATCHES, LinesDone, length_batches, windows
from nmtkit.models.search_state import upload
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup
from nmtkit.search.prefix_tree import PrefixTree, tree_log_probs
from nmtkit.special_symbols import EOS, UNK
from nmtkit.value_types import PositiveInt, check_arguments

MAX_ALIGNMENT_WEIGHTS = 1 << 28
"""Largest product of source and target tokens of a pair: its alignment takes 1 GiB at most."""

PairName: TypeAlias = Callable[[int], str]
"""Returns the name of a pair in messages, given its number from 1."""


def pair_number(number: int) -> str:
    """Return "pair NUMBER", the default name of a pair in messages."""
    return f"pair {number}"


@dataclass(frozen=True)
class Score:
    """The log-probability of a translation, also token by token.

    log_prob: log p(target | source), natural log, `</s>` included; 0 or less.
    word_scores: log p of each target token given those before it; the last is that of `</s>`.
    src_tokens, tgt_tokens: tokens of the (first) model, without `</s>`.
    alignment: alpha_ij of the first model, if requested; the last row and column are those of
        `</s>`. Shape: [len(tgt_tokens) + 1, len(src_tokens) + 1]. `==` does not
        compare it.
    unknown: number of target tokens that are not in the vocabulary.
    names: words for which placeholders stand in the tokens of both sides.
    """

    log_prob: float
    word_scores: list[float]
    src_tokens: list[str]
    tgt_tokens: list[str]
    alignment: Tensor | None = field(default=None, compare=False)
    unknown: int = 0
    names: Sequence[str] = ()

    @property
    def normalized(self) -> float:
        """The mean of `word_scores`."""
        return self.log_prob / len(self.word_scores)


class Totals:
    """Sums over many scores.

    pairs: sentence pairs.
    tokens: target tokens, `</s>` of each pair counted.
    unknown: target tokens that are not in the vocabulary.
    log_prob: sum of log-probabilities, natural log.
    """

    def __init__(self) -> None:
        self.pairs, self.tokens, self.unknown, self.log_prob = 0, 0, 0, 0.0

    def add(self, score: Score) -> None:
        """Count one sentence pair."""
        self.pairs += 1
        self.tokens += len(score.word_scores)
        self.unknown += score.unknown
        self.log_prob += score.log_prob

    @property
    def cost_per_token(self) -> float:
        """Mean -log p of a target token, natural log; 0 without tokens."""
        return -self.log_prob / self.tokens if self.tokens else 0.0

    @property
    def perplexity(self) -> float:
        """The exponential of `cost_per_token`; infinite if it overflows."""
        return math.exp(self.cost_per_token) if self.cost_per_token < 700 else math.inf

    def summary(self, unit: str = "pair") -> str:
        """Format the totals in one line for the log; without pairs there are no means.

        :param unit: "pair", or "line" of text without a source.
        """
        if not self.pairs:
            return counted(0, unit)
        return (
            f"{counted(self.pairs, unit)}, {counted(self.tokens, 'target token')} (</s>"
            f" counted): cost per token {self.cost_per_token:.4f}, per sentence"
            f" {-self.log_prob / self.pairs:.4f} (natural log), perplexity {self.perplexity:.4f}"
        )


class Scorer:
    """Computes log p(target | source) of sentence pairs.

    :param ensemble: one model, or several whose next-word probabilities are averaged.
    :param batch_size: sentence pairs computed together; see `sentences_per_batch`.
    """

    @check_arguments
    def __init__(self, ensemble: Ensemble, batch_size: PositiveInt = 64) -> None:
        self._ensemble = ensemble
        self._batch_size = batch_size
        self.lines_done = LinesDone()

    @classmethod
    @check_arguments
    def load(
        cls,
        *folders: str | Path,
        device: str = "auto",
        batch_size: PositiveInt = 64,
        params: str | Path = "best",
    ) -> "Scorer":
        """Load one model folder, or several as an ensemble.

        :param folders: model folders; models of an ensemble have one target vocabulary.
        :param device: "auto", "cpu", "cuda", "cuda:1" or "mps".
        :param batch_size: sentence pairs scored together.
        :param params: which parameters: "best", "last", or the file of a single model.
        :raises ModelError: a file is missing or does not fit, or target vocabularies differ.
        """
        return cls(Ensemble.load(folders, device, params), batch_size)

    def with_tag(self, tag: str) -> "Scorer":
        """Return a scorer with the same models that puts a tag before each source line.

        :param tag: see `Translator.with_tag`.
        :raises ConfigError: a model has no such tag; the message lists those that it has.
        """
        return Scorer(self._ensemble.with_tag(tag), self._batch_size)

    @property
    def ensemble(self) -> Ensemble:
        """The models."""
        return self._ensemble

    @property
    def reads_source(self) -> bool:
        """Return True if a model translates; language models ignore the source."""
        return self._ensemble.reads_source

    @check_arguments
    def score_text(
        self,
        lines: Iterable[str],
        tokenized: bool = False,
        process_group: ProcessGroup = SINGLE_PROCESS,
    ) -> Iterator[Score]:
        """Score lines of text with language models, in the order given.

        :param lines: text of the models' target side. An empty line is `</s>` alone.
        :param tokenized: the lines are already tokenised.
        :param process_group: see `score`.
        :raises ModelError: a model translates.
        """
        if self.reads_source:
            with self._ensemble.error_context():
                raise ModelError(
                    "the model translates, so that it scores a target given its source; give both,"
                    " SRC and TGT"
                )
        return self.score((("", line) for line in lines), tokenized, process_group=process_group)

    @check_arguments
    def score(
        self,
        pairs: Iterable[tuple[str, str]],
        tokenized: bool = False,
        alignments: bool = False,
        process_group: ProcessGroup = SINGLE_PROCESS,
        pair_name: PairName = pair_number,
    ) -> Iterator[Score]:
        """Score sentence pairs, in the order given.

        :param pairs: source line and target line. An empty target is `</s>` alone, and so is an
            empty source; every pair has a score.
        :param tokenized: the lines are already tokenised.
        :param alignments: also return the first model's alignments.
        :param process_group: shares the pairs; rank 0 reads them and yields the scores, the other
            ranks yield nothing.
        :param pair_name: returns the name of a pair in messages, given its number from 1.
        :raises ModelError: alignments are requested and the model has none, or it gives
            log-probabilities that are not finite.
        :raises DataError: a pair is too long for its alignment to fit into memory.
        :raises TypeError: `pairs` is a single string.
        """
        size = self._batch_size * WINDOW_BATCHES * process_group.size
        for shard in process_group.shards(windows(pairs, size)):
            scores = self._score_window(shard.items, shard.first, tokenized, alignments, pair_name)
            yield from process_group.gather(scores)

    @check_arguments
    def score_list(
        self,
        source: str,
        targets: Sequence[str],
        tokenized: bool = False,
        pair_name: PairName = pair_number,
    ) -> list[Score]:
        """Score many translations of one source, in order.

        The scores equal those of `score` except for rounding. Common prefixes are computed once,
        which reduces the work for the hypotheses of an n-best list to a third.

        :param source: the source line.
        :param targets: its translations.
        :param tokenized: the lines are already tokenised.
        :param pair_name: returns the name of a translation in messages, given its number from 1.
        :raises ModelError: the model gives log-probabilities that are not finite.
        :raises DataError: a pair is too long for its alignment to fit into memory.
        :raises TypeError: `targets` is a single string.
        """
        first = self._ensemble.first
        src_tokens = self._ensemble.source_tokens(source, tokenized)
        names = self._ensemble.find_names(source, tokenized)
        tgt_tokens = [first.tgt_text.tokens(target, tokenized, names) for target in targets]
        _check_sizes([(len(src_tokens[0]), len(target)) for target in tgt_tokens], pair_name)
        ids = [[*first.tgt_vocab.ids(target), EOS] for target in tgt_tokens]
        tree = PrefixTree(ids)
        with torch.inference_mode():
            ensemble = self._for_inference
            model_log_probs = [
                tree_log_probs(model, *ensemble.source_batch([src_tokens], number), tree)
                for number, model in enumerate(ensemble.models)
            ]
            log_probs = ensemble.averaging(model_log_probs).cpu().double()  # [nodes]
        with self._ensemble.error_context():
            _check_finite(log_probs)
        node_scores: list[float] = log_probs.tolist()
        scores = []
        for path, target, target_ids in zip(tree.paths, tgt_tokens, ids, strict=True):
            word_scores = [node_scores[node] for node in path]
            unknown = target_ids.count(UNK)
            scores.append(
                Score(sum(word_scores), word_scores, src_tokens[0], target, None, unknown, names)
            )
        return scores

    @cached_property
    def _for_inference(self) -> Ensemble:
        """The models, optimised for many steps of search."""
        return self._ensemble.for_inference()

    def _score_window(
        self,
        pairs: Sequence[tuple[str, str]],
        first: int,
        tokenized: bool,
        alignments: bool,
        pair_name: PairName,
    ) -> list[Score]:
        for line in chain.from_iterable(pairs):
            refuse_other(line, str, "each line of pairs")
        lines = dict.fromkeys(source for source, _ in pairs)
        src_tokens = {line: self._ensemble.source_tokens(line, tokenized) for line in lines}
        text = self._ensemble.first.tgt_text
        names = {line: self._ensemble.find_names(line, tokenized) for line in lines}
        targets = [text.tokens(target, tokenized, names[source]) for source, target in pairs]
        sizes = [(len(src_tokens[s][0]), len(t)) for (s, _), t in zip(pairs, targets, strict=True)]
        _check_sizes(sizes, pair_name, first)
        lengths = [max(size) + 1 for size in sizes]
        done = self.lines_done.begin(first, len(pairs))
        scores: dict[int, Score] = {}
        for batch in length_batches(lengths, self._batch_size):
            sources = [pairs[i][0] for i in batch]
            batch_targets = [targets[i] for i in batch]
            batch_scores = self._score_batch(sources, src_tokens, batch_targets, alignments)
            for index, score in zip(batch, batch_scores, strict=True):
                scores[index] = replace(score, names=names[pairs[index][0]])
            done.mark(batch)
        return [scores[number] for number in range(len(pairs))]

    def _score_batch(
        self,
        sources: Sequence[str],
        src_tokens: Mapping[str, SourceTokens],
        targets: Sequence[list[str]],
        alignments: bool,
    ) -> list[Score]:
        """Score pairs of similar length; a source that several pairs share is encoded once.

        :param src_tokens: source line -> its tokens for each model.
        """
        first = self._ensemble.first
        ids = [first.tgt_vocab.ids(target) for target in targets]
        tgt, tgt_mask = pad([[*target, EOS] for target in ids])  # [B, T_y]
        tgt = tgt.to(first.device, non_blocking=True)
        row_of = {source: row for row, source in enumerate(dict.fromkeys(sources))}
        unique_sources = [src_tokens[source] for source in row_of]
        rows = upload([row_of[source] for source in sources], first.device)  # [B]
        src_rows = rows if len(row_of) < len(sources) else None
        with torch.inference_mode():
            scored = self._ensemble.score(unique_sources, tgt, tgt_mask, src_rows)
            mean = self._ensemble.averaging([part.log_probs for part in scored])
            log_probs = mean.cpu().double()  # [B, T_y]
        matrices = scored[0].alignment  # [B, T_y, T_x]
        with self._ensemble.error_context():
            if alignments and matrices is None:
                raise ModelError("the model has no attention, and so no alignment")
            _check_finite(log_probs[tgt_mask])
        matrices = matrices.cpu() if alignments and matrices is not None else None
        return [
            _pair_score(
                src_tokens[source][0],
                target,
                log_probs[row],
                None if matrices is None else matrices[row],
                ids[row].count(UNK),
            )
            for row, (source, target) in enumerate(zip(sources, targets, strict=True))
        ]


def _pair_score(
    source: Sequence[str],
    target: list[str],
    log_probs: Tensor,
    matrix: Tensor | None,
    unknown: int,
) -> Score:
    """Return the score of one pair, padding cut off.

    :param log_probs: log p of each target token, natural log. Shape: [T_y].
    :param matrix: alpha_ij. Shape: [T_y, T_x].
    :param unknown: target tokens that are not in the vocabulary.
    """
    word_scores: list[float] = log_probs[: len(target) + 1].tolist()
    alignment = None if matrix is None else matrix[: len(target) + 1, : len(source) + 1]
    return Score(sum(word_scores), word_scores, list(source), target, alignment, unknown)


def _check_sizes(sizes: Sequence[tuple[int, int]], pair_name: PairName, first: int = 1) -> None:
    """Raise DataError if a pair has too many source and target tokens."""
    for number, (src_len, tgt_len) in enumerate(sizes, start=first):
        if src_len * tgt_len > MAX_ALIGNMENT_WEIGHTS:
            raise DataError(
                f"{pair_name(number)}: {src_len:,} source and {tgt_len:,} target tokens are too"
                " many for the memory; leave the pair out, or shorten it"
            )


def _check_finite(log_probs: Tensor) -> None:
    """Raise ModelError if a log-probability is not a finite number."""
    if not bool(log_probs.isfinite().all()):
        raise ModelError(
            "the model gives log-probabilities that are not numbers: its parameters are"
            " damaged, or its training diverged; use another checkpoint"
        )
