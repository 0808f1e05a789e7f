"""The encoded sentences can be decoded as documented, and stay within the size limit."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.evaluation.translation_errors import KINDS
from nmtkit.report.lines import TokenizedLine
from nmtkit.report.sentences import (
    DIGITS,
    pack_alignment,
    pack_scores,
    pack_sentences,
    positions_without_space,
    script_json,
)
from tests.unit.report.reports import large_report, line, output, report

BYTES_OF_THREE_THOUSAND = 4_700_000  # what the rest of a page leaves of 5 MB


def unpacked_alignment(digits, columns):
    """Decode an alignment as documented: {(row, column): weight in 63rds}."""
    weights, cell, index = {}, 0, 0
    while index < len(digits):
        passed, unit = 0, 1
        while DIGITS.index(digits[index]) >= 32:
            passed += (DIGITS.index(digits[index]) - 32) * unit
            unit *= 32
            index += 1
        passed += DIGITS.index(digits[index]) * unit
        cell += passed
        weights[divmod(cell, columns)] = DIGITS.index(digits[index + 1])
        index += 2
        cell += 1
    return weights


@given(
    st.integers(1, 60).flatmap(
        lambda n: st.lists(
            st.lists(st.sampled_from([0.0, 0.02, 0.03, 0.4, 1.0, 1.0001]), min_size=n, max_size=n),
            max_size=60,
        )
    )
)
def test_alignment_weights_are_rounded_to_a_126th_and_small_ones_omitted(matrix):
    columns = len(matrix[0]) if matrix else 1
    unpacked = unpacked_alignment(pack_alignment(matrix), columns)
    for i, row in enumerate(matrix):
        for j, weight in enumerate(row):
            assert ((i, j) in unpacked) == (weight >= 0.03)
            if weight >= 0.03:
                assert unpacked.pop((i, j)) / 63 == pytest.approx(min(weight, 1), abs=1 / 126)
    assert not unpacked


@given(st.lists(st.floats(-50, 0)))
def test_word_scores_are_rounded_to_hundredths(scores):
    digits = pack_scores(scores)
    pairs = zip(digits[::2], digits[1::2], strict=True)
    unpacked = [-(64 * DIGITS.index(a) + DIGITS.index(b)) / 100 for a, b in pairs]
    for score, expected in zip(unpacked, scores, strict=True):
        assert score == pytest.approx(max(expected, -40.95), abs=0.0051)


def test_impossible_words_have_the_lowest_score():
    assert pack_scores([-1e9]) == "__"


@pytest.mark.parametrize(
    ("text", "words", "indices"),
    [
        ("I see him.", ["I", "see", "him", "."], [3]),
        ("  l'été   va ", ["l'", "été", "va"], [1]),
        ("", [], []),
        ("a", ["b"], None),
        ("a b", ["a"], None),
        ("a", ["a", "b"], None),
        ("non\u00a0!", ["non", "!"], []),
    ],
)
def test_positions_of_words_without_a_space(text, words, indices):
    assert positions_without_space(text, words) == indices


HOSTILE = '</script><script>boom()</script><!-- & "\u2028\u2029\x00'


def test_json_cannot_close_its_script_element():
    text = script_json({"a": HOSTILE})
    assert json.loads(text) == {"a": HOSTILE}
    assert not set("<>&\u2028\u2029\x00") & set(text)


def rows_of(built_report):
    return json.loads(pack_sentences(built_report, 5_000_000).text)


def test_a_sentence_has_all_its_fields():
    source = TokenizedLine("The cat.", ["The", "cat", "."])
    outputs = [output("le chat noir", source)]
    ((src, ref, (packed,)),) = rows_of(report(["x"], ["un chat"], {"A": outputs}, ["A"]))
    assert src == ["x", []] and ref == ["un chat", []]
    text, quality, score, finished, scores, tokens, alignment, alternatives, states, kinds = packed
    best = outputs[0].best
    assert best
    assert text == ["le chat noir", []] and quality == 50.0 and finished is True
    assert score == pytest.approx(best.score, abs=1e-3) and len(scores) == 2 * 4 and tokens == ""
    assert alignment == ""  # of a source with another number of words
    assert [alternative[:3] for alternative in alternatives] == [[3, 0, "etc"], [3, 0, "etc etc"]]
    assert unpacked_alignment(states, 1) == {(0, 0): 1, (2, 0): 2, (3, 0): 1}  # le, noir; un
    assert kinds == 1 << KINDS.index("added")


def test_alignments_include_the_end_of_sentence():
    source = line("a b c")
    system_output = output("x y", source, seed=3)
    ((_, _, (packed,)),) = rows_of(report(["a b c"], ["x"], {"A": [system_output]}, ["A"]))
    unpacked = unpacked_alignment(packed[6], 4)
    assert system_output.alignment
    for i, row in enumerate(system_output.alignment.matrix.tolist()):
        for j, weight in enumerate(row):
            rounded = unpacked.get((i, j), 0) / 63
            assert rounded == pytest.approx(weight if weight >= 0.03 else 0, abs=1 / 126 + 1e-6)


def test_a_text_that_differs_from_its_words_is_appended():
    system_output = output("a  b", line("s"))  # two blanks
    ((_, _, (packed,)),) = rows_of(report(["s"], ["x"], {"A": [system_output]}))
    assert packed[0] == ["a b", [], "a  b"]


def test_three_thousand_newspaper_sentences_by_two_systems_fit():
    """A thirtieth of the sentences in a thirtieth of the size: only n-best lists are left out."""
    built_report = large_report(100, 25)
    packed = pack_sentences(built_report, BYTES_OF_THREE_THOUSAND // 30)
    assert len(packed.text.encode()) <= BYTES_OF_THREE_THOUSAND // 30
    assert all("n-best" in phrase for phrase in packed.left_out)
    assert len(json.loads(packed.text)) == 100


def test_what_does_not_fit_is_left_out_and_reported():
    built_report = large_report(20, 10)
    unlimited = pack_sentences(built_report, 5_000_000)
    assert unlimited.left_out == ()
    size = len(unlimited.text.encode())
    lists = pack_sentences(built_report, size - 1)
    assert lists.left_out == ("the n-best lists of the 1 longest sentences",)
    rows = json.loads(lists.text)
    emptied = [n for n, row in enumerate(rows) if not any(output[7] for output in row[2])]
    lengths = [row[0][0].count(" ") for row in rows]
    assert [lengths[n] for n in emptied] == [max(lengths)]
    smallest = pack_sentences(built_report, 700)
    assert len(smallest.text.encode()) <= 700
    kinds = [text.split(" of ")[0] for text in smallest.left_out[:3]]
    assert kinds == ["the n-best lists", "the word scores", "the alignments"]
    count = len(json.loads(smallest.text))
    assert 0 < count < 20
    assert smallest.left_out[3] == f"all sentences after the first {count}"
    first = json.loads(smallest.text)[0]
    assert first[:2] == json.loads(unlimited.text)[0][:2]
