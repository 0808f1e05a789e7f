"""Ways in which a translation may go on after what a user has typed."""

import dataclasses
import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import torch

from nmtkit.config import SearchConfig
from nmtkit.inference.ensemble import CandidateLists, Ensemble, SourceTokens, candidate_rows
from nmtkit.inference.prefixes import LinePrefix, PrefixFinder
from nmtkit.inference.translation import Source, Translation, translation_of
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.beam import search_batches
from nmtkit.search.branches import Branch, find_branches
from nmtkit.search.candidates import CandidateScorer
from nmtkit.search.constraints import Constraints
from nmtkit.search.forced_decoding import Begun, decode_forced
from nmtkit.search.forced_prefix import chain
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.next_token import NextTokenScorer, scorer_of
from nmtkit.special_symbols import EOS
from nmtkit.text.characters import mark_ranges
from nmtkit.text.scripts import unspaced_characters

SPARE_BRANCHES = 2
"""Branches besides half as many again as words are wanted: different tokens may begin one word."""

_LETTERS = rf"\w{mark_ranges()}"
_IN_WORD = re.compile(rf"[{_LETTERS}'’-]")
_WORD = re.compile(
    rf"\s*(['’-]*[{_LETTERS}](?:{_IN_WORD.pattern}*[{_LETTERS}])?|\S[{mark_ranges()}]*)"
)


class Alternative(NamedTuple):
    """A way in which a translation may go on.

    text: the whole translation, with its prefix. word: the word that it goes on with, or the one
    that the end of the prefix has become; "" if the translation ends. score: log p of the whole
    translation, as `Translation.score`.
    """

    text: str
    word: str
    score: float


class AlternativesFinder:
    """Finds continuations of translations of a source line, which is encoded once.

    :param ensemble: the models, optimised for search.
    :param search: search settings; the best token is chosen at each step, as if the beam were 1.
    :param candidates: words that translations may use; None: all.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        search: SearchConfig,
        prefixes: PrefixFinder,
        candidates: CandidateLists | None = None,
    ) -> None:
        self._ensemble, self._prefixes, self._candidates = ensemble, prefixes, candidates
        self._search = dataclasses.replace(search, beam=1, coverage_penalty=0.0)
        self._last: tuple[str, tuple[SourceTokens, EncodedBatch]] | None = None
        self._begun: Begun | None = None  # of the last line

    def find(self, line: str, text: str, n: int) -> list[Alternative]:
        """Return at most n continuations, the best translation first; nothing for a blank line.

        :param text: prefix of the translations.
        """
        tokens, encoded = self._encoded(line)
        if not tokens[0]:
            return []
        names = self._ensemble.find_names(line)
        prefix = self._prefixes.find(text, names=names)
        count = n + n // 2 + SPARE_BRANCHES
        with self._ensemble.error_context(), torch.inference_mode():
            batch, scorer = self._with_candidates(encoded, tokens, prefix)
            models, texts = self._ensemble.models, self._prefixes.texts
            begun = self._begin(batch, scorer, prefix.ids)
            branches = find_branches(
                models, batch, scorer, self._search, begun, prefix.rest, count, texts
            )
            continued = self._continue(branches, batch._replace(begun=begun)) if branches else []
        source, found = Source(tokens[0], names), []
        for branch, hypothesis in zip(branches, continued, strict=True):
            best = translation_of(
                self._ensemble.first, source, hypothesis, self._search, False, None, (), prefix
            )
            found.append((best, _word_at(best.text, prefix, branch)))
        return _with_different_words(found, n)

    def _encoded(self, line: str) -> tuple[SourceTokens, EncodedBatch]:
        """Return the tokens of a line, and the line encoded; those of the last line are kept."""
        last = self._last
        if last is None or last[0] != line:
            tokens = self._ensemble.source_tokens(line)
            [encoded] = self._ensemble.encoded_batches([tokens], [[0]])
            last = self._last = (line, (tokens, encoded))
            self._begun = None
        return last[1]

    def _with_candidates(
        self, batch: EncodedBatch, tokens: SourceTokens, prefix: LinePrefix
    ) -> tuple[EncodedBatch, NextTokenScorer | CandidateScorer]:
        """Return a sentence with its candidates, if there are any, and the scorer of tokens."""
        layers = [model.output_layer() for model in self._ensemble.models]
        averaging = self._ensemble.averaging
        if self._candidates is not None:
            rows = candidate_rows([tokens], self._candidates, [prefix.constraints])
            batch = batch._replace(candidates=rows.to(batch.lengths.device))
        return batch, scorer_of(layers, batch.candidates, averaging)

    def _begin(
        self,
        batch: EncodedBatch,
        scorer: NextTokenScorer | CandidateScorer,
        ids: tuple[int, ...],
    ) -> Begun:
        """Return the whole words of a prefix, decoded; what was decoded last is kept."""
        before = self._begun
        is_known = before is not None and ids[: len(before.tokens)] == before.tokens
        if not is_known or self._candidates is not None:  # probabilities are of other candidates
            before = None
        self._begun = decode_forced(self._ensemble.models, batch, scorer, ids, before)
        return self._begun

    def _continue(self, branches: Sequence[Branch], batch: EncodedBatch) -> list[Hypothesis]:
        """Return the best translation that begins as each branch does."""
        copies = batch.select(torch.zeros(len(branches), dtype=torch.int64).to(batch.lengths))
        own = [Constraints(prefix=chain(branch.tokens)) for branch in branches]
        found = search_batches(
            self._ensemble.models,
            [copies._replace(constraints=own)],
            self._search,
            averaging=self._ensemble.averaging,
            boundaries=self._prefixes.boundaries,
        )
        return [best for best, *_ in found]


def _word_at(text: str, prefix: LinePrefix, branch: Branch) -> str:
    """Return the word of a translation that follows a prefix, or that its last word has become.

    In scripts without blanks it is the token that follows.
    """
    given = prefix.text.text
    start = len(given)
    while prefix.rest is not None and start and _IN_WORD.match(given, start - 1):
        start -= 1
    match = _WORD.match(text, start)
    if match is None or branch.tokens[-1] == EOS:
        return ""
    if unspaced_characters(match[1]):
        return branch.spelling.decode("utf-8", errors="ignore").strip()
    return match[1]


def _with_different_words(found: Sequence[tuple[Translation, str]], n: int) -> list[Alternative]:
    """Return the n best translations, the best of each next word."""
    words: dict[str, Translation] = {}
    for one, word in sorted(found, key=lambda pair: -pair[0].ranking_score):
        words.setdefault(word, one)
    return [Alternative(one.text, word, one.score) for word, one in islice(words.items(), n)]
