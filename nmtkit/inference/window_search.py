"""Search of the translations of a window of lines, with their terms and prefixes.

A window is searched in batches, on each core some of them. Where terms are wanted, lines are first
searched without, and those again whose translations lack some.
"""

import dataclasses
import itertools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch

from nmtkit.config import SearchConfig
from nmtkit.errors import ModelError, refuse_other
from nmtkit.inference.ensemble import CandidateLists, Ensemble, SourceTokens
from nmtkit.inference.stream_batching import Batches, WindowDone
from nmtkit.inference.translation import (
    Source,
    Translation,
    complete_first,
    empty_translation,
    translation_of,
)
from nmtkit.search.beam import search_batches
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.search_settings import NO_ALIGNMENT, hypotheses_to_rerank
from nmtkit.special_symbols import UNK

if TYPE_CHECKING:
    from nmtkit.inference.confidence.estimator import FeatureReader
    from nmtkit.inference.prefixes import LinePrefix, PrefixFinder
    from nmtkit.inference.term_likelihood import TermLikelihood
    from nmtkit.inference.terms import LineTerms, TermFinder
    from nmtkit.search.constraints import Constraints

log = logging.getLogger("nmtkit")

LONG_LINE = 1000
"""Tokens of a line beyond which a warning says that it takes long."""

NBest = list[Hypothesis]
"""The hypotheses of one sentence, best first, or its samples in the order drawn."""


class Window(NamedTuple):
    """Lines that are translated together.

    names: of each line, for which placeholders stand in its tokens. sources: these tokens. inputs:
    those that the models read. first: number of the first line, from 1. terms: of each line; empty
    without a glossary. prefixes: of the translations of some lines, by their number. done: which
    lines are searched.
    """

    lines: Sequence[str]
    names: Sequence[Sequence[str]]
    sources: Sequence[SourceTokens]
    inputs: Sequence[SourceTokens]
    first: int
    terms: "Sequence[LineTerms]"
    prefixes: "Mapping[int, LinePrefix]"
    done: WindowDone

    def prefix_text(self, number: int) -> str:
        """Return the prefix of a line's translations; empty if there is none."""
        prefix = self.prefixes.get(number)
        return prefix.text.text if prefix else ""

    def on_line(self, number: int, n_best: NBest) -> NBest:
        """Return hypotheses whose alignments are with the tokens of their line, and its terms."""
        if not self.terms:
            return n_best
        from nmtkit.inference.term_links import with_term_links  # rarely needed: start-up

        line = self.terms[number]
        n_best = [with_term_links(one, line.constraints) for one in n_best]
        return n_best if line.annotated is None else [line.annotated.on_line(one) for one in n_best]

    def evidence_on_line(self, number: int, n_best: NBest) -> NBest:
        """Return hypotheses whose evidence has attention to the tokens of their line."""
        annotated = self.terms[number].annotated if self.terms else None
        return n_best if annotated is None else [annotated.evidence_on_line(one) for one in n_best]

    def constraints(self, with_terms: bool) -> "Sequence[Constraints]":
        """Return the constraints on translations of each line; nothing if no line has some."""
        if not self.prefixes and not with_terms:
            return ()
        from nmtkit.search.constraints import Constraints  # rarely needed: start-up

        terms = [line.constraints for line in self.terms] if with_terms else []
        found = terms or [Constraints()] * len(self.lines)
        for number, prefix in self.prefixes.items():
            found[number] = dataclasses.replace(found[number], prefix=prefix.node)
        return found


class WindowSearch:
    """Reads windows of lines, searches them, and makes translations of the hypotheses.

    :param ensemble: the models, optimised for search.
    :param candidates: words that each translation may use; None: all.
    :param terms: finds the terms of lines; None: none are wanted.
    :param likelihood: returns what knows how likely models use terms by themselves.
    :param prefixes: returns what finds prefixes.
    :param replacements: of `<unk>`, for which alignments are needed; None: it is kept.
    :param confidence: reads the features of translations; None: none are wanted.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        search: SearchConfig,
        candidates: CandidateLists | None,
        terms: "TermFinder | None",
        likelihood: "Callable[[], TermLikelihood]",
        prefixes: "Callable[[], PrefixFinder]",
        replacements: Mapping[str, str] | None = None,
        confidence: "FeatureReader | None" = None,
    ) -> None:
        self.ensemble, self.search, self.candidates = ensemble, search, candidates
        self._terms, self._likelihood, self._prefixes = terms, likelihood, prefixes
        self._replacements, self._confidence = replacements, confidence

    def check_alignments(self, wanted: bool) -> None:
        """Raise ModelError if alignments are needed and no model has them, before any search.

        :param wanted: they are requested; `<unk>` and coverage may need them, too.
        """
        needed = wanted or self._replacements is not None or self.search.coverage_penalty > 0
        if needed and not self.ensemble.has_attention:
            with self.ensemble.error_context():
                raise ModelError(NO_ALIGNMENT)

    def read(
        self, pairs: Sequence[tuple[str, str]], first: int, tokenized: bool, done: WindowDone
    ) -> Window:
        """Read lines, with the prefixes of their translations.

        :param first: number of the first line, from 1.
        :param done: marks the lines that are searched.
        :raises TypeError: a line is no string.
        """
        lines = [line for line, _ in pairs]
        for line in lines:
            if not isinstance(line, str):  # a right line is not sent through one more file
                refuse_other(line, str, "each of lines")
        names = [self._find_names(line, tokenized) for line in lines]
        sources = [
            self.ensemble.source_tokens(line, tokenized, own)
            for line, own in zip(lines, names, strict=True)
        ]
        for number, tokens in enumerate(sources, start=first):
            if (length := max(map(len, tokens))) > LONG_LINE:
                log.warning(
                    "line %d: %s tokens: this may take minutes; divide the line, or leave it out",
                    number, f"{length:,}",
                )  # fmt: skip
        terms = self._find_terms(lines, sources)
        inputs: Sequence[SourceTokens] = sources
        annotated = [line.annotated for line in terms]
        if any(annotated):  # for models that were trained with such terms
            from nmtkit.inference.term_annotation import annotated_sources  # rarely needed

            inputs = annotated_sources(self.ensemble, sources, annotated)
        prefixes = self._find_prefixes(pairs, names, tokenized)
        return Window(lines, names, sources, inputs, first, terms, prefixes, done)

    def _find_names(self, line: str, tokenized: bool) -> list[str]:
        """Return the names of a line, which the model copies, without those that are terms."""
        names = self.ensemble.find_names(line, tokenized)
        return self._terms.without_terms(names, line, tokenized) if self._terms else names

    def _find_terms(
        self, lines: Sequence[str], sources: Sequence[SourceTokens]
    ) -> "Sequence[LineTerms]":
        """Return the terms of each line; nothing without a glossary."""
        if self._terms is None:
            return []
        pairs = zip(lines, sources, strict=True)
        found = [self._terms.find(line, tokens[0]) for line, tokens in pairs]
        likelihood = self._likelihood()
        likelihood.ask(found)
        return [likelihood.with_rests(line) for line in found]

    def _find_prefixes(
        self, pairs: Sequence[tuple[str, str]], names: Sequence[Sequence[str]], tokenized: bool
    ) -> "Mapping[int, LinePrefix]":
        """Return the prefixes that are not empty, by the number of the line."""
        return {
            number: self._prefixes().find(prefix, tokenized, names[number])
            for number, (_, prefix) in enumerate(pairs)
            if prefix
        }

    def translations(
        self, window: Window, batches: Batches, n_best: int, alignments: bool
    ) -> list[NBest]:
        """Find the n best translations of the sentences of some batches, in their order."""
        symbols, numbers = self.ensemble.copied_symbols, [*itertools.chain.from_iterable(batches)]
        width = hypotheses_to_rerank(self.search, n_best)
        width = max(width, self.search.beam) if symbols or self._prefers_terms else width
        with self.ensemble.error_context():
            results = iter(self._search(window, batches, width, n_best))
            n_best_lists: list[NBest] = []
            for batch in batches:
                batch_lists = list(itertools.islice(results, len(batch)))
                n_best_lists += self.with_alignments(window, batch, batch_lists, alignments)
        if self.search.coverage_penalty:
            from nmtkit.search.coverage import rerank_by_coverage

            n_best_lists = [rerank_by_coverage(line, self.search, width) for line in n_best_lists]
        if self._terms is not None and self._prefers_terms:
            n_best_lists = [
                self._terms.prefer(window.terms[number], line, self.search)
                for number, line in zip(numbers, n_best_lists, strict=True)
            ]
        if symbols:
            n_best_lists = [
                complete_first(line, window.sources[number][0], symbols)
                for number, line in zip(numbers, n_best_lists, strict=True)
            ]
        n_best_lists = [hypotheses[:n_best] for hypotheses in n_best_lists]
        if self._confidence is None:
            return n_best_lists
        seen = self._confidence.observe(self.ensemble, window.inputs, batches, n_best_lists)
        return [window.evidence_on_line(*pair) for pair in zip(numbers, seen, strict=True)]

    def _search(self, window: Window, batches: Batches, width: int, n_best: int) -> list[NBest]:
        """Search, first without terms; then again where n_best translations lack some.

        Lines with a term that the models are not expected to translate so, or that no candidates
        can, are searched with terms at once.
        """
        terms = self._terms
        if terms is None:
            return self._constrained_search(window, batches, width, False)
        numbers = list(itertools.chain.from_iterable(batches))
        size = max(map(len, batches), default=0)
        first = [number for number in numbers if not self._is_hopeless(window, number)]
        found = dict(self._search_some(window, first, size, width, False))
        kept = {number: terms.kept(window.terms[number], found[number]) for number in first}
        enough = {number: lists for number, lists in kept.items() if len(lists) >= n_best}
        again = [number for number in numbers if number not in enough]
        for number, lists in self._search_some(window, again, size, width, True):
            line = window.terms[number]
            enough[number] = [terms.without_forbidden_end(line, one) for one in lists]
        return [enough[number] for number in numbers]

    def _is_hopeless(self, window: Window, number: int) -> bool:
        """Return whether a search without terms is not expected to find those of a line."""
        terms, line = self._terms, window.terms[number]
        if terms is None or not line.terms:
            return False
        if self._likelihood().is_hopeless(line):
            return True
        if self.candidates is None:
            return False
        candidates = self.candidates.candidates(window.sources[number][0])
        return not terms.may_be_kept(line, candidates)

    def _search_some(
        self, window: Window, numbers: Sequence[int], size: int, width: int, with_terms: bool
    ) -> Iterator[tuple[int, NBest]]:
        """Return pairs of the numbers of some lines and their translations.

        :param size: lines that are searched together.
        """
        starts = range(0, len(numbers), size or 1)
        batches = [[*numbers[start : start + size]] for start in starts]
        return zip(
            numbers, self._constrained_search(window, batches, width, with_terms), strict=True
        )

    def _constrained_search(
        self, window: Window, batches: Batches, width: int, with_terms: bool
    ) -> list[NBest]:
        """Search for translations with the prefixes of their lines."""
        constraints, boundaries = window.constraints(with_terms), None
        if with_terms and self._terms is not None:
            boundaries = self._terms.boundaries
        elif constraints:
            boundaries = self._prefixes().boundaries
        encoded = self.ensemble.encoded_batches(
            window.inputs, batches, self.candidates, constraints, window.done
        )
        models, averaging = self.ensemble.models, self.ensemble.averaging
        return search_batches(models, encoded, self.search, width, averaging, boundaries)

    @property
    def _prefers_terms(self) -> bool:
        """Whether translations without terms are possible, but rank behind others."""
        return self._terms is not None and self._terms.mode == "soft"

    def with_alignments(
        self,
        window: Window,
        batch: Sequence[int],
        n_best_lists: list[NBest],
        alignments: bool,
    ) -> list[NBest]:
        """Add alignments to hypotheses if requested, or if `<unk>` or coverage needs them."""
        if self._replacements is not None:
            alignments = alignments or any(
                UNK in hypothesis.ids for n_best in n_best_lists for hypothesis in n_best
            )
        if not alignments and not self.search.coverage_penalty:
            return n_best_lists
        sources = [window.inputs[number] for number in batch]
        from nmtkit.search.alignments import with_alignments

        models, aligned = self.ensemble.models, dict[int, NBest]()
        for same_tokens, rows in _rows_by_models(sources).items():
            encoded, lengths = self.ensemble.encode([sources[row] for row in rows])
            with torch.inference_mode():
                n_bests = with_alignments(
                    [models[number] for number in same_tokens],
                    [encoded[number] for number in same_tokens],
                    lengths,
                    [n_best_lists[row] for row in rows],
                )
            aligned.update(zip(rows, n_bests, strict=True))
        return [window.on_line(number, aligned[row]) for row, number in enumerate(batch)]

    def converted(
        self, window: Window, found: Sequence[NBest], tokenized: bool, copies: int = 1
    ) -> list[list[Translation]]:
        """Make translations of hypotheses, with their confidences if these are wanted.

        :param found: the hypotheses of each line; none for a line without words.
        :param copies: number of empty translations for such a line.
        """
        translations = [
            self._converted_line(window, number, n_best, tokenized)
            or [empty_translation(window.prefix_text(number))] * copies
            for number, n_best in enumerate(found)
        ]
        if self._confidence is None:
            return translations
        return self._confidence.rate(
            self.ensemble.first, window.lines, found, translations, tokenized
        )

    def _converted_line(
        self, window: Window, number: int, n_best: NBest, tokenized: bool
    ) -> list[Translation]:
        if not n_best:
            return []
        source = Source(window.sources[number][0], window.names[number])
        return [
            translation_of(
                self.ensemble.first,
                source,
                hypothesis,
                self.search,
                tokenized,
                self._replacements,
                self._missing_terms(window, number, hypothesis),
                window.prefixes.get(number),
            )
            for hypothesis in n_best
        ]

    def _missing_terms(self, window: Window, number: int, hypothesis: Hypothesis) -> list[str]:
        """Return the terms of a line that a translation lacks."""
        if self._terms is None:
            return []
        # Looked for in strict mode, too: what search guarantees is checked on its result.
        absent = self._terms.missing(window.terms[number], hypothesis.words)
        return [term.source for term in absent]


def _rows_by_models(sources: Sequence[SourceTokens]) -> dict[tuple[int, ...], list[int]]:
    """Return the rows of lines by the models that split them into the same tokens as the first."""
    rows: dict[tuple[int, ...], list[int]] = {}
    for row, tokens in enumerate(sources):
        same_tokens = tuple(number for number, own in enumerate(tokens) if own == tokens[0])
        rows.setdefault(same_tokens, []).append(row)
    return rows
