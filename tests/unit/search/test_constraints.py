"""What hypotheses have so far, against a look at the whole sequence."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmtkit.search.constraint_states import ConstraintState
from nmtkit.search.constraints import ConstrainedSentence, Constraints
from nmtkit.search.forced_prefix import chain
from nmtkit.search.spelled_phrases import SpelledPhrases
from nmtkit.search.token_trees import Tokens
from nmtkit.search.word_boundaries import WordBoundaries
from tests.unit.search.slow_rules import slow_rule

WORDS = WordBoundaries.none(8)
PIECES = WordBoundaries([(token % 2 == 1, True) for token in range(8)])
"""As with BPE: pieces with odd ids are followed by another piece of their word."""
LETTERS = WordBoundaries([(token % 2 == 1, token % 2 == 1) for token in range(8)])
"""As with SentencePiece: pieces with odd ids are letters, which stand together."""

tokens = st.integers(1, 7)
sequences = st.lists(tokens, min_size=1, max_size=3).map(tuple)
texts = st.lists(tokens, max_size=12)


def sentence(*terms: Tokens, boundaries: WordBoundaries = WORDS, **rest) -> ConstrainedSentence:
    return ConstrainedSentence(Constraints(tuple((term,) for term in terms), **rest), boundaries)


def stands_in(text: Sequence[int], part: Tokens, boundaries: WordBoundaries) -> bool:
    """Return whether a part stands in a text as whole words, by looking at every place."""
    for start in range(len(text) - len(part) + 1):
        end = start + len(part)
        edges = [(start - 1, start), (end - 1, end)]
        inside = [
            bool(boundaries.opens[text[a]]) and bool(boundaries.goes_on[text[b]])
            for a, b in edges
            if a >= 0 and b < len(text)
        ]
        ends_open = end == len(text) and bool(boundaries.opens[text[-1]] and boundaries.goes_on[0])
        if tuple(text[start:end]) == part and not any(inside) and not ends_open:
            return True
    return False


@given(texts, sequences)
def test_a_term_of_whole_words_is_met_if_it_stands_there(text: list[int], term: Tokens) -> None:
    assert (not sentence(term).missing(text)) == stands_in(text, term, WORDS)


@example([1, 3], (1,), LETTERS)
@given(texts, sequences, st.sampled_from([WORDS, PIECES, LETTERS]))
def test_terms_begin_and_end_where_words_do(
    text: list[int], term: Tokens, boundaries: WordBoundaries
) -> None:
    if boundaries is PIECES and boundaries.opens[term[-1]]:
        term = (*term, 2)  # a term ends with its word
    met = not sentence(term, boundaries=boundaries).missing(text)
    assert met == stands_in(text, term, boundaries)


@given(texts, st.lists(sequences, min_size=1, max_size=4))
def test_met_terms_stand_there_without_overlap(text: list[int], terms: list[Tokens]) -> None:
    missing = sentence(*terms).missing(text)
    met = [term for number, term in enumerate(terms) if number not in missing]

    def fit(start: int, left: list[Tokens]) -> bool:
        if not left:
            return True
        return any(
            tuple(text[place : place + len(term)]) == term
            and fit(place + len(term), [*left[:number], *left[number + 1 :]])
            for place in range(start, len(text))
            for number, term in enumerate(left)
        )

    assert fit(0, met)


def test_the_same_term_twice_needs_two_places() -> None:
    twice = sentence((1, 2), (1, 2))
    assert len(twice.missing([1, 2, 3])) == 1
    assert twice.missing([1, 2, 1, 2]) == ()


def test_any_alternative_meets_a_term() -> None:
    either = ConstrainedSentence(Constraints((((1, 2), (3,)),)), WORDS)
    assert either.missing([3]) == either.missing([1, 2]) == ()
    assert either.missing([1, 3]) == () and either.missing([1, 4, 2]) == (0,)


def test_a_longer_alternative_meets_a_term_whose_word_goes_on() -> None:
    either = ConstrainedSentence(Constraints((((1,), (1, 3)),)), LETTERS)
    assert either.missing([1]) == either.missing([1, 3]) == either.missing([1, 3, 2]) == ()
    assert either.missing([1, 5]) == either.missing([1, 3, 5]) == either.missing([3, 1]) == (0,)
    assert either.missing([1, 5, 2, 1]) == ()


def test_a_prefix_that_goes_on_with_the_word_of_a_term_does_not_meet_it() -> None:
    term = sentence((1,), boundaries=LETTERS, prefix=chain((1, 3)))
    state = term.move(term.start, 1).state
    assert not term.unmet(state)
    assert term.unmet(term.move(state, 3).state) == (0,)


@given(texts, sequences, st.sampled_from([WORDS, PIECES, LETTERS]))
def test_rules_keep_forbidden_words_out_and_nothing_else(
    text: list[int], word: Tokens, boundaries: WordBoundaries
) -> None:
    """A text that follows the rules to its end has no forbidden word; one without it may stand."""
    constrained = sentence(forbidden=(word,), boundaries=boundaries)
    state, follows = ConstraintState(), True
    for token in text:
        rule = slow_rule(constrained, state, 100)
        allowed = token not in rule.banned
        if rule.goes_on is not None:
            allowed &= bool(boundaries.goes_on[token]) == rule.goes_on
        follows &= allowed
        state = constrained.move(state, token).state
    follows &= slow_rule(constrained, state, 100).may_end
    if boundaries.opens[word[-1]] and boundaries is PIECES:
        return  # no word ends there
    assert follows == (not stands_in(text, word, boundaries))


def test_no_letter_stands_behind_a_sign_that_ends_a_term() -> None:
    """As in `C++er`, with pieces that begin no word."""
    signs = WordBoundaries([(token == 3, token == 3) for token in range(8)], signs={5})
    term = sentence((1, 5), boundaries=signs)
    state = after(term, [1, 5])
    assert not term.unmet(state) and slow_rule(term, state, 100).goes_on is False
    assert term.missing([1, 5, 3]) == term.missing([1, 5, 3, 1]) == (0,)
    assert term.missing([1, 5, 2, 3]) == term.missing([1, 5, 3, 1, 5]) == ()
    assert not sentence((5, 1), boundaries=signs).missing([5, 1, 3])  # a sign that ends nothing


SPELLINGS = ["", "い", "ろ", "いろ", "ろい", "いい", "はい", "ろは"]
SPELLED = SpelledPhrases(spelling.encode() for spelling in SPELLINGS)


@given(texts, st.lists(tokens, min_size=1, max_size=3).map(tuple))
def test_a_spelled_term_is_met_in_whatever_tokens(text: list[int], term: Tokens) -> None:
    phrase = "".join(SPELLINGS[token] for token in term)
    spelled = ((SPELLED.automaton(phrase),),)
    one = sentence(term, spelled=spelled)
    assert (not one.missing(text)) == (phrase in "".join(SPELLINGS[token] for token in text))
    proposed = sentence(term)
    assert [step.token for step in one.steps(ConstraintState())] == [
        step.token for step in proposed.steps(ConstraintState())
    ]


@given(texts, st.lists(tokens, min_size=1, max_size=2).map(tuple), st.integers(2, 3))
def test_equal_spelled_terms_need_as_many_places(text: list[int], term: Tokens, times: int) -> None:
    phrase = "".join(SPELLINGS[token] for token in term)
    one = sentence(*[term] * times, spelled=((SPELLED.automaton(phrase),),) * times)
    met = times - len(one.missing(text))
    assert met <= "".join(SPELLINGS[token] for token in text).count(phrase)


def test_a_word_ends_with_its_term() -> None:
    term = sentence((3, 5), boundaries=LETTERS)
    state = term.move(term.move(ConstraintState(), 3).state, 5).state
    assert not term.unmet(state) and slow_rule(term, state, 100).goes_on is False


def only(one: ConstrainedSentence, state: ConstraintState, left: int) -> list[int]:
    tokens = slow_rule(one, state, left).only
    return [] if tokens is None else tokens.tolist()


def test_the_prefix_comes_first() -> None:
    with_prefix = sentence((2,), prefix=chain((5, 6)))
    state = with_prefix.start
    for token in (5, 6):
        assert only(with_prefix, state, 100) == [token]
        state = with_prefix.move(state, token).state
    assert slow_rule(with_prefix, state, 100).only is None


def test_a_forbidden_word_goes_on_before_terms_are_forced() -> None:
    one = sentence((2, 4), boundaries=LETTERS, forbidden=((3,),))
    state = one.move(ConstraintState(), 3).state
    assert slow_rule(one, state, 4).goes_on is True  # there is room for it
    assert slow_rule(one, state, 3).goes_on is True
    assert only(one, after(one, [3, 5]), 3) == [2]


def test_terms_are_forced_while_there_is_room() -> None:
    term = sentence((2, 3))
    assert slow_rule(term, ConstraintState(), 4).only is None
    assert only(term, ConstraintState(), 3) == [2]
    state = term.move(ConstraintState(), 2).state
    assert only(term, state, 2) == [3]
    assert slow_rule(term, term.move(state, 3).state, 1).may_end


def test_steps_know_how_likely_the_rest_of_a_term_is() -> None:
    """Of alternatives that begin alike, the sum of what may follow."""
    alternatives = ((1, 2), (1, 3, 4), (5,))
    rests = ((-1.0, 0.0), (-2.0, -0.5, 0.0), (0.0,))
    one = ConstrainedSentence(Constraints((alternatives, ((6,),)), rests=(rests, ())), WORDS)
    known = {step.token: step.rest for step in one.steps(ConstraintState())}
    assert known == {1: pytest.approx(math.log(math.exp(-1) + math.exp(-2))), 5: 0.0, 6: 0.0}
    behind = {step.token: step.rest for step in one.steps(after(one, [1]))}
    assert behind == {**known, 2: 0.0, 3: -0.5}


def test_of_equal_terms_that_whose_source_is_looked_at_begins() -> None:
    both = sentence((1, 2), (1, 2))
    move = both.move(ConstraintState(), 1, (1, 0))
    assert (move.term, move.is_first, move.rivals) == (1, True, (1,))
    assert both.unmet(both.move(move.state, 2).state) == (0,)


@given(sequences, st.sampled_from([WORDS, PIECES]))
def test_phrases_with_forbidden_words_are_not_allowed(
    text: Tokens, boundaries: WordBoundaries
) -> None:
    assert not sentence(forbidden=((2,),), boundaries=boundaries).allows((2,))
    assert sentence(forbidden=((1, 2),), boundaries=WORDS).allows((2, 1))
    constrained = sentence(forbidden=((2,),), boundaries=boundaries)
    assert constrained.allows(text) == (not stands_in(text, (2,), boundaries))


@given(texts, st.lists(sequences, min_size=1, max_size=4), st.sampled_from([WORDS, PIECES]))
def test_steps_are_the_tokens_that_move_on_with_a_term(
    text: list[int], terms: list[Tokens], boundaries: WordBoundaries
) -> None:
    one = sentence(*terms, boundaries=boundaries)
    state = ConstraintState()
    for token in text:
        steps = {step.token: step for step in one.steps(state)}
        moves = {other: one.move(state, other) for other in range(1, 8)}
        assert set(steps) == {other for other, move in moves.items() if move.rivals}
        for other, step in steps.items():
            move = moves[other]
            assert (step.term, step.is_first) == (move.term, move.is_first)
            assert step.is_last == (not move.state.begun)
            assert one.view(move.state).level == state.met.bit_count() + 1
        state = moves[token].state


def after(one: ConstrainedSentence, text: Sequence[int]) -> ConstraintState:
    state = one.start
    for token in text:
        state = one.move(state, token).state
    return state


def test_going_on_from_a_later_beginning_gives_the_earlier_one_up() -> None:
    one = sentence((1, 2, 1, 3))
    state = after(one, [1, 2, 1])
    assert {step.token: step.is_first for step in one.steps(state)} == {3: False, 2: True, 1: True}
    assert [one.move(state, token).is_first for token in (3, 2, 1)] == [False, True, True]


def test_terms_that_begin_with_the_same_tokens_are_begun_together() -> None:
    one = sentence((1, 2, 3), (1, 2, 4))
    state = after(one, [1, 2])
    assert {step.token: step.is_first for step in one.steps(state)} == {3: False, 4: False, 1: True}


def test_a_character_that_is_written_in_bytes_is_not_left_unfinished() -> None:
    boundaries = WordBoundaries([(True, True)] * 8, {3: 0xC5, 4: 0x81})  # Ł
    one = sentence((2, 3, 4, 5), boundaries=boundaries, strict=False)
    expected = {(2,): None, (2, 3): [4], (2, 3, 4): None, (2, 3, 4, 5): None}
    for text, tokens in expected.items():
        rule = slow_rule(one, after(one, text), 100)
        assert (None if rule.only is None else rule.only.tolist()) == tokens
        assert rule.may_end == (tokens is None)
