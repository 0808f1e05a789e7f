"""Words of a translation and of its reference are matched as documented."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.evaluation.word_matching import (
    DIFFERENT,
    MATCHED,
    MIN_SIMILARITY,
    UNMATCHED,
    common_subsequence,
    match_words,
    word_similarity,
)

words = st.lists(st.sampled_from(["le", "chat", "noir", "dort", "chats", ".", "Le"]), max_size=12)


def length_by_dynamic_programming(first, second):
    """Length of a longest common subsequence, by the textbook's table."""
    row = [0] * (len(second) + 1)
    for a in first:
        above = row
        row = [0]
        for j, b in enumerate(second):
            row.append(above[j] + 1 if a == b else max(above[j + 1], row[j]))
    return row[-1]


@given(words, words)
def test_the_common_subsequence_is_common_and_longest(first, second):
    pairs = common_subsequence(first, second)
    assert all(first[i] == second[j] for i, j in pairs)
    assert all(a < b and c < d for (a, c), (b, d) in zip(pairs, pairs[1:], strict=False))
    assert len(pairs) == length_by_dynamic_programming(first, second)


@given(words, words)
def test_unmatched_words_stand_on_one_side_only_between_two_anchors(translation, reference):
    match = match_words(translation, reference)
    folded = [[word.casefold() for word in side] for side in (translation, reference)]
    anchors = common_subsequence(*folded)
    ends = [(-1, -1), *anchors, (len(translation), len(reference))]
    for (i, j), (i_end, j_end) in zip(ends, ends[1:], strict=False):
        added = UNMATCHED in match.translation[i + 1 : i_end]
        missing = UNMATCHED in match.reference[j + 1 : j_end]
        assert not (added and missing)


@given(words)
def test_a_sentence_matches_itself_and_its_words_in_any_case(sentence):
    match = match_words(sentence, [word.upper() for word in sentence])
    assert match.translation == match.reference == [MATCHED] * len(sentence)


@pytest.mark.parametrize(
    ("translation", "reference", "missing", "added"),
    [
        ("le chat dort", "le chat noir dort", ["noir"], []),
        ("le chat noir dort", "le chat dort", [], ["noir"]),
        ("la chat dort", "le chat dort", [], []),  # another word in its place
        ("dort le chat", "le chat dort", [], []),  # another order
        ("les chats dorment", "le chat dort", [], []),  # other forms
        ("", "le chat", ["le", "chat"], []),
        ("un garçon joue", "un garçon joue avec un adulte", ["avec", "un", "adulte"], []),
    ],
)
def test_missing_and_added_words(translation, reference, missing, added):
    ours, theirs = translation.split(), reference.split()
    match = match_words(ours, theirs)
    assert [w for w, s in zip(theirs, match.reference, strict=True) if s == UNMATCHED] == missing
    assert [w for w, s in zip(ours, match.translation, strict=True) if s == UNMATCHED] == added


def test_similar_words_are_different_but_not_missing():
    match = match_words(["regarder"], ["regardant"])
    assert match.translation == match.reference == [DIFFERENT]


def slow_similarity(first, second):
    """Mean F1 of n-grams, by their lists; 0 for different words without a common bigram."""
    scores = []
    for n in range(1, 7):
        ours, theirs = (
            [word[i : i + n] for i in range(len(word) - n + 1)] for word in (first, second)
        )
        common = sum(min(ours.count(ngram), theirs.count(ngram)) for ngram in set(ours))
        if ours or theirs:
            scores.append(2 * common / (len(ours) + len(theirs)))
        if n == 2 and not common and first != second:
            return 0
    return sum(scores) / len(scores) if scores else 0


@given(st.text("abc", max_size=9), st.text("abc", max_size=9))
def test_similarity_is_the_mean_f1_of_ngrams(first, second):
    assert word_similarity(first, second) == pytest.approx(slow_similarity(first, second))
    assert word_similarity(first + "a", first + "a") == 1


def test_only_the_beginnings_of_long_words_are_compared():
    assert word_similarity("a" * 64 + "b", "a" * 64 + "c") == 1 > word_similarity("ab", "ac")


def test_very_long_sentences_are_not_compared():
    match = match_words(["a"] * 3000, ["b"] * 3000)
    assert set(match.translation) == set(match.reference) == {MATCHED}


FORMS = st.sampled_from(["regarde", "regarder", "regardons", "garder", "gardons", "dort"])


@given(FORMS, st.lists(FORMS, min_size=1, max_size=5))
def test_a_word_is_taken_for_a_form_of_the_most_similar_word(word, reference):
    reference = [other for other in reference if other != word] or ["le"]
    similarities = [word_similarity(word, other) for other in reference]
    best = similarities.index(max(similarities))
    if similarities[best] >= MIN_SIMILARITY:
        states = match_words([word], reference).reference
        assert [n for n, state in enumerate(states) if state == DIFFERENT] == [best]


@given(st.permutations(["de", "la", "montagne", "verte"]), st.integers(0, 4))
def test_the_shortest_words_are_missing_where_others_stand_in_their_place(reference, count):
    states = match_words(["xyz"] * count, reference).reference
    different = {word for word, state in zip(reference, states, strict=True) if state == DIFFERENT}
    assert len(different) == count
    missing = set(reference) - different
    assert not (different and missing) or max(map(len, missing)) <= min(map(len, different))
