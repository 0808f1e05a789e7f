"""Errors of sentences are found as documented, and counted with intervals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.evaluation.translation_errors import (
    KINDS,
    REPEATED,
    count_errors,
    error_counts,
    find_errors,
    wilson_interval,
)

words = st.lists(st.sampled_from(["le", "chat", "noir", "dort", "12", "Paris", ",", "<unk>"]))


def kinds(source, reference, translation, **options):
    sides = (source.split(), reference.split(), translation.split())
    return set(find_errors(*sides, **options).kinds)


@pytest.mark.parametrize(
    ("source", "reference", "translation", "expected"),
    [
        ("the black cat sleeps", "le chat noir dort", "le chat noir dort", set()),
        ("the black cat sleeps", "le chat noir dort", "le chat dort", {"missing"}),
        ("the cat sleeps", "le chat dort", "le chat noir dort", {"added"}),
        ("the cat", "le chat", "chat", set()),  # a function word
        ("a b c", "un de la vie", "vie", {"missing"}),  # several in a row
        ("a b c", "un chat la noir de dort", "chat noir dort", set()),  # not in a row
        ("a b c", "chat noir dort", "un chat la noir de dort", set()),
        ("the cat", "le chat", "le chat chat", {"repeated", "added"}),
        ("very very good", "très très bon", "très très bon", set()),  # as in the reference
        ("we get up", "nous nous levons", "vous vous levez", set()),
        ("we get up", "nous nous levons", "nous nous nous levons", {"repeated", "added"}),
        ("in 1,200 days", "en 1 200 jours", "en 1.200 jours", set()),
        ("in 12 days", "en 12 jours", "en 13 jours", {"differs"}),
        ("in 3 days", "en trois jours", "en trois jours", set()),
        ("in 1,012 days", "১,০১২ দিনে", "দিনে", {"missing", "differs"}),
        ("in 1,012 days", "في ١٬٠١٢ يوم", "في 1012 يوم", set()),
        ("he saw Paris", "il a vu Paris", "il a vu Rome", {"differs"}),
        ("in London", "à Londres", "à Londres", set()),  # names that are translated
        ("a cat", "un chat", "un <unk>", {"unknown"}),
    ],
)
def test_kinds_of_errors(source, reference, translation, expected):
    assert kinds(source, reference, translation) == expected


def test_source_words_with_little_attention_are_uncovered():
    sides = ["the", "black", "cats"], ["des", "chats"], ["des", "chats"]
    errors = find_errors(*sides, attention=[0.0, 0.1, 1.0])
    assert errors.source == [0, 2, 0] and errors.kinds == {"uncovered"}
    assert find_errors(*sides).source == []


def test_unfinished_and_unknown_are_passed_on():
    assert kinds("a", "b", "b", finished=False, unknown=True) == {"unfinished", "unknown"}


def test_repeated_words_are_marked():
    errors = find_errors([], ["un", "chat"], "un chat un chat un chat".split())
    assert errors.translation[2:] == [REPEATED] * 4


@given(words, words, words)
def test_every_word_has_a_state(source, reference, translation):
    errors = find_errors(source, reference, translation, [0.0] * len(source))
    assert len(errors.translation) == len(translation)
    assert len(errors.reference) == len(reference) and len(errors.source) == len(source)
    assert errors.kinds <= set(KINDS)


@given(words)
def test_the_reference_itself_has_nothing_missing_added_or_repeated(sentence):
    found = find_errors(sentence, sentence, sentence).kinds
    assert not found & {"missing", "added", "repeated", "differs"}


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_of_a_share_holds_it(count_of_total):
    interval = wilson_interval(*count_of_total)
    assert (
        0 <= interval.low <= interval.mean + 1e-9 and interval.mean - 1e-9 <= interval.high <= 100
    )


def test_the_interval_of_a_share_is_wilsons():
    interval = wilson_interval(10, 100)  # as in Newcombe 1998
    assert (interval.low, interval.high) == pytest.approx((5.52, 17.44), abs=0.01)


def test_counts_leave_out_what_no_system_has_and_what_cannot_be_found():
    errors = [find_errors([], ["chat"], []), find_errors([], ["chat"], ["chat"])]
    counts = error_counts({"A": errors, "B": errors}, {"A": KINDS, "B": ["added"]})
    assert set(counts) == {"missing"}
    assert counts["missing"]["A"].count == 1 and counts["missing"]["A"].share == 50
    assert counts["missing"]["B"].count is None
    assert count_errors([], True, "missing").interval is None
