"""How likely models translate a term as the glossary says, without being told.

Each term is asked for once, alone: the probability of the first token of its translation says
enough. Where it is tiny, a search without terms would be in vain. Of several alternatives the
probabilities of all tokens are asked for: a search that writes the first one must know what comes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from nmtkit.inference.term_annotation import AnnotatedSource, annotated_sources
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.constraints import Rests
from nmtkit.search.forced_decoding import first_token_log_probs, token_log_probs
from nmtkit.search.token_trees import Tokens

if TYPE_CHECKING:
    from nmtkit.inference.ensemble import Ensemble, SourceTokens
    from nmtkit.inference.terms import LineTerms

MIN_LOG_PROB = -0.7
"""Log p of the first token below which a translation is not to be expected: that of one half."""

BATCH_SIZE = 256
"""Terms that are asked for together."""

MAX_KNOWN = 100_000
"""Terms that are remembered; a server may be told any number of them."""

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
        for start in range(0, len(new), BATCH_SIZE):
            self._ask_batch(new[start : start + BATCH_SIZE])
        several = [key for key in new if len(key[1]) > 1 and max(map(len, key[1])) > 1]
        pairs = [(key, tokens) for key in several for tokens in key[1]]
        found: dict[TermKey, list[tuple[float, ...]]] = {key: [] for key in several}
        for start in range(0, len(pairs), BATCH_SIZE):
            some = pairs[start : start + BATCH_SIZE]
            for (key, _), rests in zip(some, self._rests_of(some), strict=True):
                found[key].append(rests)
        self._rests.update((key, tuple(rests)) for key, rests in found.items())

    def with_rests(self, line: "LineTerms") -> "LineTerms":
        """Return a line whose constraints know what comes behind the tokens of alternatives.

        The models must have been asked for the line.
        """
        keys = _keys(line)
        if not any(key in self._rests for key in keys):
            return line
        rests = tuple(self._rests.get(key, ()) for key in keys)
        return line._replace(constraints=replace(line.constraints, rests=rests))

    def _ask_batch(self, keys: Sequence[TermKey]) -> None:
        """Note log p of the best first token of each term."""
        with torch.inference_mode(), self._ensemble.error_context():
            log_probs = first_token_log_probs(
                self._ensemble.models, self._encoded(keys), self._ensemble.averaging
            )
        for key, row in zip(keys, log_probs, strict=True):
            first = sorted({tokens[0] for tokens in key[1]})
            self._log_probs[key] = float(row[first].max())

    def _rests_of(self, pairs: Sequence[tuple[TermKey, Tokens]]) -> list[tuple[float, ...]]:
        """Return for each token of an alternative log p of those behind it."""
        with torch.inference_mode(), self._ensemble.error_context():
            log_probs = token_log_probs(
                self._ensemble.models,
                self._encoded([key for key, _ in pairs]),
                [tokens for _, tokens in pairs],
                self._ensemble.averaging,
            )
        return [tuple(sum(row[place + 1 :]) for place in range(len(row))) for row in log_probs]

    def _encoded(self, keys: Sequence[TermKey]) -> EncodedBatch:
        """Encode terms, each alone."""
        tokens = [self._ensemble.source_tokens(source, names=()) for source, _ in keys]
        return EncodedBatch(*self._ensemble.encode(self._as_read(tokens, keys)))

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
