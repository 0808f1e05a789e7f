"""How likely models translate a term as the glossary says, without being told.

Each term is asked for once, alone: the probability of the first token of its translation says
enough. Where it is tiny, a search without terms would be in vain. Of several alternatives the
probabilities of all tokens are asked for: a search that writes the first one must know what comes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING

import torch

from nmtkit.data.batch import pad
from nmtkit.inference.term_annotation import AnnotatedSource, annotated_sources
from nmtkit.search.constraints import Rests
from nmtkit.search.token_trees import Tokens

if TYPE_CHECKING:
    from nmtkit.inference.ensemble import Ensemble, SourceTokens
    from nmtkit.inference.terms import LineTerms

MIN_LOG_PROB = -0.7
"""Log p of the first token below which a translation is not to be expected: that of one half."""

BATCH_SIZE = 256
"""Translations of terms that are asked for together."""

MAX_KNOWN = 100_000
"""Terms that are remembered; a server may be given any number of them."""

TermKey = tuple[str, tuple[Tokens, ...]]


class TermLikelihood:
    """Knows which lines have terms that the models are not expected to translate so.

    :param ensemble: the models.
    """

    def __init__(self, ensemble: "Ensemble") -> None:
        self._ensemble = ensemble
        self._log_probs: dict[TermKey, float] = {}
        self._rests: dict[TermKey, Rests] = {}

    def ask(self, lines: Iterable["LineTerms"]) -> None:
        """Ask the models for the terms of lines that they were not asked for before."""
        if len(self._log_probs) > MAX_KNOWN:
            self._log_probs.clear()
            self._rests.clear()
        keys = dict.fromkeys(key for line in lines for key in _keys(line))
        new = [key for key in keys if key not in self._log_probs]
        pairs = [(key, tokens) for key in new for tokens in key[1]]
        starts = range(0, len(pairs), BATCH_SIZE)
        rows = (self._token_log_probs(pairs[start : start + BATCH_SIZE]) for start in starts)
        found = chain.from_iterable(rows)
        for key in new:
            self._note(key, [*islice(found, len(key[1]))])

    def _note(self, key: TermKey, log_probs: Sequence[Sequence[float]]) -> None:
        """Note what is known of a term.

        :param log_probs: of the tokens of each alternative.
        """
        self._log_probs[key] = max(row[0] for row in log_probs)
        rests = tuple(tuple(sum(row[n:]) for n in range(1, len(row) + 1)) for row in log_probs)
        if len(rests) > 1 and any(map(any, rests)):
            self._rests[key] = rests

    def with_rests(self, line: "LineTerms") -> "LineTerms":
        """Return a line whose constraints know what comes behind the tokens of alternatives.

        The models must have been asked for the line.
        """
        keys = _keys(line)
        if not any(key in self._rests for key in keys):
            return line
        rests = tuple(self._rests.get(key, ()) for key in keys)
        return line._replace(constraints=replace(line.constraints, rests=rests))

    def _token_log_probs(self, pairs: Sequence[tuple[TermKey, Tokens]]) -> list[list[float]]:
        """Return log p of each token of translations of terms, each term alone."""
        keys = [key for key, _ in pairs]
        sources = [self._ensemble.source_tokens(source, names=()) for source, _ in keys]
        tgt, tgt_mask = pad([tokens for _, tokens in pairs])
        tgt = tgt.to(self._ensemble.first.device, non_blocking=True)
        with torch.inference_mode(), self._ensemble.error_context():
            scored = self._ensemble.score(self._as_read(sources, keys), tgt, tgt_mask)
            mean = self._ensemble.averaging([part.log_probs for part in scored])
        rows: list[list[float]] = mean.tolist()
        return [row[: len(tokens)] for row, (_, tokens) in zip(rows, pairs, strict=True)]

    def _as_read(
        self, sources: "Sequence[SourceTokens]", keys: Sequence[TermKey]
    ) -> "Sequence[SourceTokens]":
        """Return terms as models read them: annotated, if they were trained with such terms."""
        first = self._ensemble.first
        if first.term_words is None:
            return sources
        ids = (first.term_words.of_target(alternatives[0]) for _, alternatives in keys)
        annotated = [AnnotatedSource(first.src_vocab.tokens(one), [], 0) for one in ids]
        return annotated_sources(self._ensemble, sources, annotated)

    def is_hopeless(self, line: "LineTerms") -> bool:
        """Return whether a search without terms is not expected to find the terms of a line."""
        return any(self._log_probs[key] < MIN_LOG_PROB for key in _keys(line))


def _keys(line: "LineTerms") -> list[TermKey]:
    """Return the source and the target tokens of each term of a line."""
    sources = (term.source for term in line.terms)
    return list(zip(sources, line.constraints.terms, strict=True))
