"""Word alignment of sentence pairs by the attention of a model; also from Python.

    from nmtkit import Aligner
    for alignment in Aligner.load("model").align([("I see him.", "Je le vois.")]):
        print(alignment.links())

The model reads the given target word by word (teacher forcing); alpha_ij of Bahdanau et al. 2015,
eq. (6), is the weight of source word j for target word i. As it does not depend on the target word,
links are learned from all pairs together (`link_learning.py`), unless one asks for the attention.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING

from nmtkit.errors import ModelError
from nmtkit.inference.link_learning import ROUNDS, learn_links, with_translations
from nmtkit.inference.scorer import PairName, Score, Scorer, pair_number
from nmtkit.inference.symmetrization import Link, Symmetrization, symmetrize
from nmtkit.inference.word_alignment import Alignment, best_sources, word_alignment
from nmtkit.model_folder import LoadedModel
from nmtkit.text.names import unmask

if TYPE_CHECKING:
    from nmtkit.text.lexicon import LinkCounts


class Aligner:
    """Aligns the words of sentence pairs by attention.

    :param scorer: scorer of the model; of several models, the first gives the alignments.
    """

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    @classmethod
    def load(
        cls,
        folder: str | Path,
        device: str = "auto",
        batch_size: int = 64,
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

    def with_tag(self, tag: str) -> "Aligner":
        """Return an aligner with the same model that puts a tag before each source line.

        :param tag: see `Translator.with_tag`. It is the first word of the source.
        :raises ConfigError: the model has no such tag; the message lists those that it has.
        """
        return Aligner(self._scorer.with_tag(tag))

    def align(
        self,
        pairs: Iterable[tuple[str, str]],
        tokenized: bool = False,
        counts: "LinkCounts | None" = None,
        pair_name: PairName = pair_number,
        rounds: int | None = None,
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
        scores = self._scorer.score(pairs, tokenized, alignments=True, pair_name=pair_name)
        rounds = ROUNDS if rounds is None else rounds
        return self._align(self._learned(scores, rounds) if rounds else scores, counts)

    def _learned(self, scores: Iterable[Score], rounds: int) -> Iterator[Score]:
        """Yield scores with weights that take the target word into account."""
        model = self._scorer.ensemble.first
        table, scores = learn_links(scores, model, rounds)
        for score in scores:
            assert score.alignment is not None
            tokens = score.src_tokens, score.tgt_tokens
            yield replace(
                score, alignment=with_translations(score.alignment, *tokens, model, table)
            )

    def _align(self, scores: Iterable[Score], counts: "LinkCounts | None") -> Iterator[Alignment]:
        first = self._scorer.ensemble.first
        for score in scores:
            assert score.alignment is not None
            if counts is not None and score.src_tokens:
                links = best_sources(score.alignment, len(score.tgt_tokens))
                counts.add(score.src_tokens, score.tgt_tokens, links)
            src_words, columns = first.src_text.join(score.src_tokens)
            tgt_words, rows = first.tgt_text.join(score.tgt_tokens)
            src = unmask(src_words, score.names), columns
            tgt = unmask(tgt_words, score.names), rows
            yield word_alignment(src, tgt, score.alignment)


def symmetric_links(
    forward: Aligner,
    backward: Aligner,
    pairs: Iterable[tuple[str, str]],
    method: Symmetrization,
    tokenized: bool = False,
    pair_name: PairName = pair_number,
    rounds: int | None = None,
) -> Iterator[list[Link]]:
    """Link the words of sentence pairs by two models, in the order given.

    :param backward: aligner of the other direction, which reads the targets.
    :param method: how the links of both are combined.
    :return: for each pair (source, target), positions from 0, in order.
    :raises ModelError: the models do not split a pair into the same words.

    The other parameters and errors are those of `Aligner.align`.
    """
    pairs, again = tee(pairs)
    flipped = ((tgt, src) for src, tgt in again)
    there = forward.align(pairs, tokenized, None, pair_name, rounds)
    back = backward.align(flipped, tokenized, None, pair_name, rounds)
    for number, (one, other) in enumerate(zip(there, back, strict=True), start=1):
        if (one.src_words, one.tgt_words) != (other.tgt_words, other.src_words):
            raise ModelError(
                f"{pair_name(number)}: the two models split it into different words; give models"
                " of one prepared folder, the other trained with data.swap_sides"
            )
        reverse = {(source, target) for target, source in other.links()}
        yield symmetrize(set(one.links()), reverse, method)
