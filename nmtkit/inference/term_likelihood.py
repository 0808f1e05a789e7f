"""How likely models translate a term as the glossary says, without being told.

Each term is asked for once, alone: the probability of the first token of its translation says
enough. Where it is tiny, a search without terms would be in vain.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import torch

from nmtkit.inference.term_annotation import AnnotatedSource, annotated_sources
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.forced_decoding import first_token_log_probs
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

    def ask(self, lines: Iterable["LineTerms"]) -> None:
        """Ask the models for the terms of lines that they were not asked for before."""
        if len(self._log_probs) > MAX_KNOWN:
            self._log_probs.clear()
        keys = dict.fromkeys(key for line in lines for key in _keys(line))
        new = [key for key in keys if key not in self._log_probs]
        for start in range(0, len(new), BATCH_SIZE):
            self._ask_batch(new[start : start + BATCH_SIZE])

    def _ask_batch(self, keys: Sequence[TermKey]) -> None:
        """Note log p of the best first token of each term."""
        tokens = [self._ensemble.source_tokens(source, names=()) for source, _ in keys]
        sources = self._as_read(tokens, keys)
        models, averaging = self._ensemble.models, self._ensemble.averaging
        with torch.inference_mode(), self._ensemble.error_context():
            encoded, lengths = self._ensemble.encode(sources)
            batch = EncodedBatch(encoded, lengths)
            log_probs = first_token_log_probs(models, batch, averaging)
        for key, row in zip(keys, log_probs, strict=True):
            first = sorted({tokens[0] for tokens in key[1]})
            self._log_probs[key] = float(row[first].max())

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
