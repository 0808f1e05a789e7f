"""Word alignment of sentence pairs by the attention of a model; also from Python.

    from nmtkit import Aligner
    for alignment in Aligner.load("model").align([("I see him.", "Je le vois.")]):
        print(alignment.links())

The model reads the given target word by word (teacher forcing); alpha_ij of Bahdanau et al. 2015,
eq. (6), is the weight of source word j for target word i. As it does not depend on the target word,
links are learned from all pairs together (`link_learning.py`), unless one asks for the attention.
Both directions are learned, so that one model is enough for symmetric links.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, repeat, tee
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nmtkit.errors import ModelError
from nmtkit.inference.link_learning import ROUNDS, WINDOW_CELLS, AttendedPair, LinkModel, learnable
from nmtkit.inference.scorer import PairName, Score, Scorer, pair_number
from nmtkit.inference.stream_batching import LinesDone
from nmtkit.inference.symmetrization import Symmetrization, symmetrize
from nmtkit.inference.word_alignment import (
    Alignment,
    JoinedTokens,
    LinkedPair,
    best_sources,
    word_alignment,
)
from nmtkit.model_folder import LoadedModel
from nmtkit.text.names import unmask
from nmtkit.text.pair_cells import Weights, chunks
from nmtkit.value_types import NaturalInt, PositiveInt, check_arguments

if TYPE_CHECKING:
    from nmtkit.text.lexicon import LinkCounts


class Aligner:
    """Aligns the words of sentence pairs by attention.

    :param scorer: scorer of the model; of several models, the first gives the alignments.
    """

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    @classmethod
    @check_arguments
    def load(
        cls,
        folder: str | Path,
        device: str = "auto",
        batch_size: PositiveInt = 64,
        params: str | Path = "best",
    ) -> "Aligner":
        """Load a model folder.

        :param folder: the model folder.
        :param device: "auto", "cpu", "cuda", "cuda:1" or "mps".
        :param batch_size: sentence pairs computed together.
        :param params: which parameters: "best", "last", or a file.
        :raises ModelError: a file of the folder is missing or does not fit.
        """
        return cls(Scorer.load(folder, device=device, batch_size=batch_size, params=params))

    @property
    def model(self) -> LoadedModel:
        """The model whose attention aligns."""
        return self._scorer.ensemble.first

    @property
    def lines_done(self) -> LinesDone:
        """Counts the pairs whose attention is known, before any of them is linked."""
        return self._scorer.lines_done

    def with_tag(self, tag: str) -> "Aligner":
        """Return an aligner with the same model that puts a tag before each source line.

        :param tag: see `Translator.with_tag`. It is the first word of the source.
        :raises ConfigError: the model has no such tag; the message lists those that it has.
        """
        return Aligner(self._scorer.with_tag(tag))

    @check_arguments
    def align(
        self,
        pairs: Iterable[tuple[str, str]],
        tokenized: bool = False,
        counts: "LinkCounts | None" = None,
        pair_name: PairName = pair_number,
        rounds: NaturalInt | None = None,
    ) -> Iterator[Alignment]:
        """Align sentence pairs, in the order given.

        :param pairs: source line and target line; either may be empty.
        :param tokenized: the lines are already tokenised.
        :param counts: if given, collects the links of each pair's hard alignment, between the
            model's tokens (with BPE, between subwords).
        :param pair_name: returns the name of a pair in messages, given its number from 1.
        :param rounds: rounds of learning which words translate each other, from the pairs
            themselves; some 30,000 are read first. None: `ROUNDS`; 0: the attention alone.
        :raises ModelError: the model has no alignment.
        :raises DataError: a pair is too long for its alignment to fit into memory.
        :raises TypeError: `pairs` is a single string.
        """
        scores = self._scores(pairs, tokenized, pair_name)
        rounds = ROUNDS if rounds is None else rounds
        if rounds:
            scores = (
                linked.score for linked in learn(zip(scores, repeat(None), strict=False), rounds)
            )
        return self._align(scores, counts)

    def _scores(
        self, pairs: Iterable[tuple[str, str]], tokenized: bool, pair_name: PairName
    ) -> Iterator[Score]:
        """Yield the scores of pairs, with attention; parameters and errors as in `align`."""
        return self._scorer.score(pairs, tokenized, alignments=True, pair_name=pair_name)

    def _align(self, scores: Iterable[Score], counts: "LinkCounts | None") -> Iterator[Alignment]:
        for score in scores:
            assert score.alignment is not None
            if counts is not None and score.src_tokens:
                links = best_sources(score.alignment, len(score.tgt_tokens))
                counts.add(score.src_tokens, score.tgt_tokens, links)
            yield word_alignment(*self._words(score), score.alignment)

    def _words(self, score: Score) -> tuple[JoinedTokens, JoinedTokens]:
        """Return the words of both sides of a pair, and the word of each of their tokens."""
        src_words, columns = self.model.src_text.join(score.src_tokens)
        tgt_words, rows = self.model.tgt_text.join(score.tgt_tokens)
        return (unmask(src_words, score.names), columns), (unmask(tgt_words, score.names), rows)


class Linked(NamedTuple):
    """A pair whose links were learned.

    score: its alignment has a weight for no link in the last column. backward: the same for each
    source word. Shape: [len(src_tokens), len(tgt_tokens) + 1].
    """

    score: Score
    backward: Tensor


def learn(scores: Iterable[tuple[Score, Score | None]], rounds: int) -> Iterator[Linked]:
    """Yield scored pairs with links that are learned from all of them.

    :param scores: of each pair, with alignment, and that of a model of the other direction or None;
        read until there is enough to learn from.
    :param rounds: at least 1.
    """
    read: list[tuple[Score, AttendedPair]] = []
    attended = ((score, _attended(score, other)) for score, other in scores)

    def reading() -> Iterator[AttendedPair]:
        for score, pair in attended:
            read.append((score, pair))
            yield pair

    model = LinkModel.learn(list(learnable(reading())), rounds)
    for window in chunks(chain(read, attended), _positions, WINDOW_CELLS):
        found = iter(model.links([pair for _, pair in window if pair.is_learnable]))
        for score, pair in window:
            assert score.alignment is not None
            if pair.is_learnable:
                links = next(found)
                alignment = score.alignment.clone()
                alignment[: len(pair.tgt)] = _with_no_link(links.forward)
                yield Linked(replace(score, alignment=alignment), _with_no_link(links.backward))
            else:
                nothing = np.zeros((len(pair.src), len(pair.tgt)), np.float32)
                yield Linked(score, _with_no_link(nothing))


def _attended(score: Score, other: Score | None) -> AttendedPair:
    """Return the tokens of a pair and the attention between them.

    With two models it is the geometric mean of both, if they split the pair into the same tokens.
    """
    assert score.alignment is not None
    src, tgt = score.src_tokens, score.tgt_tokens
    attention = score.alignment[: len(tgt), : len(src)]
    if other is not None and (other.src_tokens, other.tgt_tokens) == (tgt, src):
        assert other.alignment is not None
        attention = (attention * other.alignment[: len(src), : len(tgt)].T).sqrt()
    return AttendedPair(src, tgt, attention.numpy())


def _positions(pair: tuple[Score, AttendedPair]) -> int:
    """Return the number of pairs of positions of a scored pair."""
    return pair[1].attention.size


def _with_no_link(weights: Weights) -> Tensor:
    """Return weights with another column, so that rows sum to 1."""
    missing = np.maximum(1 - weights.sum(1, keepdims=True), 0)
    return torch.from_numpy(np.concatenate([weights, missing], axis=1))


def symmetric_links(
    forward: Aligner,
    backward: Aligner | None,
    pairs: Iterable[tuple[str, str]],
    method: Symmetrization,
    tokenized: bool = False,
    pair_name: PairName = pair_number,
    rounds: int | None = None,
) -> Iterator[LinkedPair]:
    """Link the words of sentence pairs in both directions, in the order given.

    Words may have no link, unless links are those of attention alone.

    :param backward: aligner of the other direction, which reads the targets. None: both directions
        are learned with the attention of one.
    :param method: how the links of both are combined.
    :param rounds: as in `Aligner.align`; 0 needs both aligners.
    :return: the links of each pair, in order.
    :raises ModelError: the models do not split a pair into the same words.

    The other parameters and errors are those of `Aligner.align`.
    """
    rounds = ROUNDS if rounds is None else rounds
    if not rounds and backward is None:
        raise ModelError("attention alone has one direction; give a model of the other, too")
    if backward is None:
        scores = forward._scores(pairs, tokenized, pair_name)
        both = _learned(forward, zip(scores, repeat(None), strict=False), rounds)
    else:
        pairs, again = tee(pairs)
        scores = forward._scores(pairs, tokenized, pair_name)
        flipped = ((tgt, src) for src, tgt in again)
        reverse = backward._scores(flipped, tokenized, pair_name)
        scored = _same_words(forward, backward, zip(scores, reverse, strict=True), pair_name)
        both = (
            _learned(forward, scored, rounds) if rounds else _attention(forward, backward, scored)
        )
    for there, back in both:
        one, other = (
            {link for link in alignment.links() if not rounds or alignment.is_linked(link[1])}
            for alignment in (there, back)
        )
        links = symmetrize(one, {(source, target) for target, source in other}, method)
        yield LinkedPair(links, (len(there.src_words), len(there.tgt_words)))


def _same_words(
    forward: Aligner,
    backward: Aligner,
    scores: Iterable[tuple[Score, Score]],
    pair_name: PairName,
) -> Iterator[tuple[Score, Score]]:
    """Yield the scores of both models; raise ModelError if they have different words."""
    for number, (score, other) in enumerate(scores, start=1):
        (src, _), (tgt, _) = forward._words(score)
        if (tgt, src) != tuple(words for words, _ in backward._words(other)):
            raise ModelError(
                f"{pair_name(number)}: the two models split it into different words; give models"
                " of one prepared folder, the other trained with data.swap_sides"
            )
        yield score, other


def _learned(
    forward: Aligner, scores: Iterable[tuple[Score, Score | None]], rounds: int
) -> Iterator[tuple[Alignment, Alignment]]:
    """Yield learned alignments of both directions."""
    for score, backward in learn(scores, rounds):
        assert score.alignment is not None
        src, tgt = forward._words(score)
        yield word_alignment(src, tgt, score.alignment), word_alignment(tgt, src, backward)


def _attention(
    forward: Aligner, backward: Aligner, scores: Iterable[tuple[Score, Score]]
) -> Iterator[tuple[Alignment, Alignment]]:
    """Yield the attention of both models."""
    for score, other in scores:
        assert score.alignment is not None and other.alignment is not None
        yield (
            word_alignment(*forward._words(score), score.alignment),
            word_alignment(*backward._words(other), other.alignment),
        )
