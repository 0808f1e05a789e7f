"""Terms of a glossary as constraints on the translations of lines."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from nmtkit.config import SearchConfig
from nmtkit.inference.target_words import TargetWords, ends_in_sign
from nmtkit.inference.term_annotation import AnnotatedSource, annotate
from nmtkit.model_folder import LoadedModel
from nmtkit.search.constraints import ConstrainedSentence, Constraints
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.search_settings import length_divisor
from nmtkit.search.token_trees import TokenNode, Tokens, places_of
from nmtkit.search.word_boundaries import WordBoundaries
from nmtkit.special_symbols import UNK
from nmtkit.text.glossary import Glossary, Occurrence, Term
from nmtkit.text.markers import JOINED, SYMBOLS
from nmtkit.text.markup_symbols import take_symbols
from nmtkit.text.memo import Memo
from nmtkit.text.scripts import is_in_word, unspaced_characters

if TYPE_CHECKING:
    import numpy.typing as npt

TermsMode = Literal["strict", "soft"]

TERM_BONUS = 5.0
"""Difference of log p by which a translation with a term may be worse, and is preferred."""

MAX_TERMS = 50
"""Terms of a line that are used; the time of a step grows with their number."""


class LineTerms(NamedTuple):
    """The terms of a line.

    constraints: on its translations. boundaries: of target words. terms: that of each constraint.
    impossible: terms that the model cannot write or that are forbidden at the same time, and those
    beyond `MAX_TERMS`. annotated: the line as a model that was trained with annotated terms reads
    it, which the positions in the constraints are of; None for another model.
    """

    constraints: Constraints
    boundaries: WordBoundaries
    terms: tuple[Term, ...] = ()
    impossible: tuple[Term, ...] = ()
    annotated: AnnotatedSource | None = None

    @property
    def sentence(self) -> ConstrainedSentence:
        """Return the states that its translations pass through."""
        return self.constraints.sentence(self.boundaries)


class TermFinder:
    """Finds the terms of lines, and the tokens that their translations must have.

    :param glossary: the terms.
    :param model: the model whose target words the constraints are for.
    :param mode: "strict": each occurrence has one of its translations, in every translation;
        "soft": it is preferred.
    :param words: target words of the model, if they are known.
    """

    def __init__(
        self,
        glossary: Glossary,
        model: LoadedModel,
        mode: TermsMode = "strict",
        words: TargetWords | None = None,
    ) -> None:
        language = model.config.text.src_language
        self._glossary = glossary.in_language(language, model.src_text.rules)
        self._model = model
        self.mode = mode
        self._sequences = Memo(self._token_sequences)
        self._words = TargetWords(model) if words is None else words

    @property
    def boundaries(self) -> WordBoundaries:
        """Where target words end."""
        return self._words.boundaries

    @cached_property
    def _everywhere(self) -> tuple[Tokens, ...]:
        return self._tokens_of(self._glossary.forbidden_everywhere)

    def _tokens_of(self, phrases: Sequence[str]) -> tuple[Tokens, ...]:
        """Return the tokens of forbidden phrases, also with a capital, as where a line begins."""
        forms = (form for phrase in phrases for form in self._forms(phrase))
        return tuple(tokens for form in forms for tokens in self._sequences[form])

    @cached_property
    def _automata_everywhere(self) -> tuple[TokenNode, ...]:
        return self._automata(self._glossary.forbidden_everywhere)

    def _automata(self, phrases: Sequence[str]) -> tuple[TokenNode, ...]:
        """Return automata for those phrases that have no blanks around them."""
        written = map(self._model.tgt_text.as_read, phrases)
        return tuple(self._words.automata[phrase] for phrase in written if _is_unspaced(phrase))

    def _forms(self, phrase: str) -> list[str]:
        capitalized = self._model.tgt_text.capitalized(phrase)
        is_allowed = self._glossary.may_be_capitalized(phrase, capitalized)
        return [phrase] if capitalized == phrase or is_allowed else [phrase, capitalized]

    def find(self, line: str, source_tokens: Sequence[str]) -> LineTerms:
        """Return the terms of a source line.

        :param source_tokens: tokens of the line.
        """
        line = self._plain(line)
        unwanted = self._glossary.forbidden(line)
        forbidden = self._everywhere + self._tokens_of(unwanted)
        automata = self._automata_everywhere + self._automata(unwanted)
        all_found = self._glossary.find(line)
        found, beyond = all_found[:MAX_TERMS], all_found[MAX_TERMS:]
        words = ConstrainedSentence(
            Constraints(forbidden=forbidden, automata=automata), self.boundaries
        )
        choices = [self._alternatives(one, line, words) for one in found]
        possible = [one for one, choice in zip(found, choices, strict=True) if choice]
        wanted = tuple(filter(None, choices))
        spans = self._spans(line, source_tokens, possible)
        annotated = self._annotated(source_tokens, spans, wanted)
        if annotated is not None:
            spans = tuple(annotated.positions(span) for span in spans)
        is_strict = self.mode == "strict"
        # other tokens than those proposed count, too, so that none comes twice, as in `再配置配置`
        spelled = tuple(self._automata(one.term.targets) for one in possible)
        constraints = Constraints(
            wanted, spans, forbidden, strict=is_strict, automata=automata, spelled=spelled
        )
        impossible = [one.term for one, choice in zip(found, choices, strict=True) if not choice]
        impossible += [one.term for one in beyond]
        terms = tuple(one.term for one in possible)
        return LineTerms(constraints, self.boundaries, terms, tuple(impossible), annotated)

    def _plain(self, line: str) -> str:
        """Return a line as it is read, without its tag and symbols of markup, as in a term."""
        line = self._model.src_text.as_read(self._model.src_text.split_tag(line)[1])
        return line if self._symbols.isdisjoint(line) else take_symbols(line)[0]

    @cached_property
    def _symbols(self) -> frozenset[str]:
        return SYMBOLS if self._model.config.text.markup != "none" else frozenset()

    def _offsets(self, words: Sequence[str], line: str) -> list[tuple[int, int]]:
        """Return where words stand in a line without symbols; symbols stand nowhere."""
        shown = ["" if word in self._symbols else word for word in words]
        return self._model.src_text.offsets(shown, line)

    def without_terms(self, names: Sequence[str], line: str, tokenized: bool) -> list[str]:
        """Return the names of a line that are no words of its terms, which a model must read.

        :param names: words that placeholders would stand for.
        :param tokenized: the line is already tokenised.
        """
        plain = self._plain(line)
        found = self._glossary.find(plain) if names else []
        if not found:
            return [*names]
        words = self._model.src_text.words(line, tokenized).split(" ")
        read = {
            word
            for word, (start, end) in zip(words, self._offsets(words, plain), strict=True)
            if any(start < one.end and one.start < end for one in found)
        }
        return [name for name in names if name not in read]

    def _annotated(
        self,
        source_tokens: Sequence[str],
        spans: Sequence[Sequence[int]],
        wanted: Sequence[Sequence[Tokens]],
    ) -> AnnotatedSource | None:
        """Annotate the terms of a line, each with the first of its translations.

        One in which an element begins or ends is not annotated, so that its symbol stays.

        :param spans: positions of the tokens of each term. wanted: its translations.
        """
        term_words = self._model.term_words
        if term_words is None or not spans:
            return None
        ids = (term_words.of_target(translations[0]) for translations in wanted)
        words = [self._model.src_vocab.tokens(translation) for translation in ids]
        whole = [() if self._has_symbols(source_tokens, span) else span for span in spans]
        return annotate(source_tokens, whole, words)

    def _has_symbols(self, tokens: Sequence[str], span: Sequence[int]) -> bool:
        return bool(span) and not self._symbols.isdisjoint(tokens[span[0] : span[-1] + 1])

    def _spans(
        self, line: str, source_tokens: Sequence[str], found: Sequence[Occurrence]
    ) -> tuple[tuple[int, ...], ...]:
        """Return the positions of the tokens of each term."""
        if not found:
            return ()
        words, indices = self._model.src_text.join(source_tokens)
        offsets = self._offsets(words, line)
        return tuple(
            tuple(
                position
                for position, (start, end) in enumerate(offsets[index] for index in indices)
                if start < one.end and one.start < end
            )
            for one in found
        )

    def _alternatives(
        self, found: Occurrence, line: str, words: ConstrainedSentence
    ) -> tuple[Tokens, ...]:
        """Return the token sequences of a term's translations that are not forbidden.

        Where the term begins the line with a capital, they may have one, too.

        :param words: knows the forbidden words.
        """
        targets = list(found.term.targets)
        if not line[: found.start].strip() and line[found.start].isupper():
            targets += [self._model.tgt_text.capitalized(target) for target in targets]
        sequences = (tokens for target in targets for tokens in self._sequences[target])
        return tuple(dict.fromkeys(tokens for tokens in sequences if words.allows(tokens)))

    def _token_sequences(self, phrase: str) -> list[Tokens]:
        """Return the tokens of a phrase, in each way that it may stand in a line."""
        ids = map(self._model.tgt_vocab.ids, self._model.tgt_text.phrase_tokens(phrase))
        return [tuple(tokens) for tokens in ids if UNK not in tokens]

    def missing(self, line: LineTerms, tokens: Sequence[int]) -> list[Term]:
        """Return the terms that a translation of a line lacks.

        :param tokens: ids of the translation.
        """
        absent = self._absent(line, tokens) if line.terms else ()
        return [*(line.terms[number] for number in absent), *line.impossible]

    def unwritable(self, sources: Iterable[str]) -> list[str]:
        """Return those of some terms for whose translations the target vocabulary has no tokens.

        :param sources: terms of the glossary, as it names them.
        """
        targets = {source: self._targets.get(source, []) for source in sources}
        return [
            source
            for source, own in targets.items()
            if own and not any(self._sequences[target] for target in own)
        ]

    @cached_property
    def _targets(self) -> dict[str, list[str]]:
        """Return the translations of each term."""
        targets: dict[str, list[str]] = {}
        for term in self._glossary.terms:
            targets.setdefault(term.source, []).extend(term.targets)
        return targets

    def may_be_kept(self, line: LineTerms, candidates: "npt.ArrayLike") -> bool:
        """Return whether each term has a translation of candidates alone.

        :param candidates: ids of the words that translations may use, ascending.
        """
        known = np.asarray(candidates)
        return all(
            any(bool(np.isin(tokens, known).all()) for tokens in alternatives)
            for alternatives in line.constraints.terms
        )

    def kept(self, line: LineTerms, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return the hypotheses that have the terms of their line, and no forbidden words."""
        if not line.constraints:
            return list(hypotheses)
        allows = line.sentence.allows
        return [one for one in hypotheses if allows(one.words) and not self._lacks(line, one)]

    def without_forbidden_end(self, line: LineTerms, hypothesis: Hypothesis) -> Hypothesis:
        """Return a hypothesis that is unfinished without the end of it that is a forbidden word.

        Search meant to make a longer word of it, but the hypothesis had no tokens left.
        """
        if hypothesis.finished or not line.constraints.has_forbidden:
            return hypothesis
        count = line.sentence.allowed_length(hypothesis.ids)
        scores = hypothesis.word_scores[:count]
        return replace(
            hypothesis, ids=hypothesis.ids[:count], word_scores=scores, score=sum(scores)
        )

    def _lacks(self, line: LineTerms, hypothesis: Hypothesis) -> bool:
        words = hypothesis.words
        return line.sentence.lacks_tokens(words) or bool(self._absent(line, words))

    def _absent(self, line: LineTerms, tokens: Sequence[int]) -> Tokens:
        """Return the numbers of the terms that a translation lacks."""
        alternatives = [words for term in line.constraints.terms for words in term]
        return line.sentence.missing(self._whole_words(tokens, alternatives))

    def _whole_words(self, tokens: Sequence[int], alternatives: Sequence[Tokens]) -> Sequence[int]:
        """Return the tokens of a translation, with `<unk>` for words that a marker joins.

        Search does not know what stands behind a marker: in `A ￭ B`, A is no word by itself, but in
        `A ￭ (` it is. A marker within a term, as in `m ￭ ²`, joins what belongs together.

        :param alternatives: translations of the terms.
        """
        (marker,) = self._model.tgt_vocab.ids([JOINED])
        if marker == UNK or marker not in tokens:
            return tokens
        words, result = self._model.tgt_vocab.words, list(tokens)
        inside = _places_within(tokens, [one for one in alternatives if marker in one], marker)
        last = {one[-1] for one in alternatives}
        for i in range(1, len(tokens) - 1):
            before, after = words[tokens[i - 1]], words[tokens[i + 1]]
            if tokens[i] != marker or i in inside or not is_in_word(after[0]):
                continue
            if is_in_word(before[-1]):
                result[i - 1] = result[i + 1] = UNK
            elif tokens[i - 1] in last and ends_in_sign(before):
                result[i - 1] = UNK  # as in `C++er`
        return result

    def prefer(
        self, line: LineTerms, hypotheses: Sequence[Hypothesis], search: SearchConfig
    ) -> list[Hypothesis]:
        """Return hypotheses, those first that have the terms of their line.

        Each term is worth `TERM_BONUS` in the log p by which they are ranked.
        """

        def rank(hypothesis: Hypothesis) -> float:
            missing = len(self.missing(line, hypothesis.words))
            penalty = TERM_BONUS * missing / float(length_divisor(search, len(hypothesis.ids) or 1))
            return penalty - hypothesis.ranking_score(search)

        return sorted(hypotheses, key=rank) if line.terms else list(hypotheses)


def _is_unspaced(phrase: str) -> bool:
    """Return whether no blanks separate a phrase from other words."""
    return unspaced_characters(phrase[:1]) > 0 and unspaced_characters(phrase[-1:]) > 0


def _places_within(tokens: Sequence[int], phrases: Sequence[Tokens], token: int) -> set[int]:
    """Return where a token stands within one of some phrases.

    :param phrases: that have the token.
    """
    return {
        number
        for place in places_of(phrases, tokens)
        for number in place
        if tokens[number] == token
    }


def describe_missing(terms: Sequence[str], finder: TermFinder | None) -> str:
    """Return a sentence on the terms that a translation lacks.

    :param terms: as `Translation.missing_terms` has them.
    :param finder: knows which of them the vocabulary can write; None: nothing is said of that.
    """
    unwritable = finder.unwritable(dict.fromkeys(terms)) if finder else []
    sentence = f"no translation of {_quoted(terms)}"
    if not unwritable:
        return sentence
    return (
        f"{sentence}; the model's vocabulary cannot write what the glossary has for"
        f" {_quoted(unwritable)}; give other words"
    )


def _quoted(terms: Iterable[str]) -> str:
    return ", ".join(f"'{term}'" for term in terms)
