"""Moses's n-best lists round-trip byte for byte, and malformed lines are reported."""

import gzip

import pytest

from nmtkit.errors import DataError
from nmtkit.smt.nbest import (
    distinct_hypotheses,
    group_by_sentence,
    is_feature_name,
    parse,
    read_nbest,
)

MOSES = (
    "0 ||| Un groupe d&apos; hommes  ||| LexicalReordering0= -2.83239 0 0 Distortion0= 0"
    " LM0= -44.0203 WordPenalty0= -9 TM0= -9.11727 -1e-05 ||| -4.40479"
)
LINES = [
    MOSES,
    "12 ||| x ||| LM0= -1 ||| -0.5 ||| 0-0 1-1 ||| 3=4 ",
    "0 |||  ||| LM0= -1 ||| 1",
    "0 ||| ||| LM0= -1 ||| 1",
    "3 ||| a|||b || c\t\r |||  LM0= -1   |||  -inf  ",
    "3 ||| x ||| ||| 0",
    "3 ||| x |||  ||| 0",
    "  7 ||| \u2028 \x85 |||LM0= 1",
]


def test_a_line_is_parsed():
    entry = parse(MOSES)
    assert (entry.sentence, entry.total) == (0, -4.40479)
    assert entry.hypothesis == "Un groupe d&apos; hommes"
    assert entry.feature_names == [
        "LexicalReordering0",
        "Distortion0",
        "LM0",
        "WordPenalty0",
        "TM0",
    ]
    assert entry.features == {
        "LexicalReordering0": (-2.83239, 0.0, 0.0),
        "Distortion0": (0.0,),
        "LM0": (-44.0203,),
        "WordPenalty0": (-9.0,),
        "TM0": (-9.11727, -1e-05),
    }


@pytest.mark.parametrize("line", LINES[:-1])
def test_a_line_is_written_as_it_was_read(line):
    assert parse(line).line == line


def test_bars_separate_fields_only_between_blanks():
    assert parse(LINES[4]).hypothesis == "a|||b || c"
    assert [parse(line).hypothesis for line in LINES[2:4]] == ["", ""]
    with pytest.raises(DataError, match="at least 4 fields .*, not 2;"):
        parse(LINES[-1])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (MOSES, MOSES.replace(" ||| -4.4", " CSLM0= -12.345679 ||| -4.4")),
        (LINES[1], "12 ||| x ||| LM0= -1 CSLM0= -12.345679 ||| -0.5 ||| 0-0 1-1 ||| 3=4 "),
        (LINES[4], LINES[4].replace("-1   |||", "-1 CSLM0= -12.345679   |||")),
        (LINES[5], "3 ||| x ||| CSLM0= -12.345679 ||| 0"),
        (LINES[6], "3 ||| x ||| CSLM0= -12.345679 ||| 0"),
    ],
)
def test_a_new_feature_is_appended_and_nothing_else_changes(line, expected):
    entry = parse(line)
    changed = entry.with_feature("CSLM0", -12.3456789)
    assert changed.line == expected
    assert parse(expected).features == {**entry.features, "CSLM0": (-12.345679,)}
    assert entry.line == line
    assert changed.with_feature("RNN0", 1).feature_names[-2:] == ["CSLM0", "RNN0"]


@pytest.mark.parametrize(
    "more", ["", " 0-0 1-1 |||", " WordScores= -1 -2 |||", " 0-0 ||| W= 3 |||"]
)
def test_marians_fields_before_the_features_are_kept(more):
    line = f"0 ||| un homme |||{more} F0= -1.5 ||| -0.5"
    entry = parse(line)
    assert (entry.line, entry.total, entry.features) == (line, -0.5, {"F0": (-1.5,)})
    changed = entry.with_feature("RNN0", 2.0).with_total(1.0)
    assert changed.line == f"0 ||| un homme |||{more} F0= -1.5 RNN0= 2.000000 ||| 1.000000"


def test_names_of_older_versions_of_moses_end_in_a_colon():
    line = "0 ||| un homme  ||| d: 0 -1.2 lm: -44.02 tm: -9.1 -12.6 w: -3 ||| -4.4 ||| 0-1=0"
    entry = parse(line)
    assert entry.features == parse(line.replace(":", "=")).features
    assert entry.feature_names == ["d", "lm", "tm", "w"]
    changed = entry.with_feature("RNN0", -2.5)
    assert changed.line == line.replace(" ||| -4.4", " RNN0= -2.500000 ||| -4.4")
    assert changed.features == {**entry.features, "RNN0": (-2.5,)}
    with pytest.raises(DataError, match="has a feature 'lm' already"):
        entry.with_feature("lm", 1)


def test_an_existing_feature_cannot_be_added():
    with pytest.raises(DataError, match=r"l.nb:4: has a feature 'LM0' already; leave out"):
        parse(MOSES, "l.nb", 4).with_feature("LM0", 1)
    assert parse(MOSES).with_feature("LM", 1).feature_names[-1] == "LM"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "expected at least 4 fields .*, not 1; .* number of the sentence, hypothesis, feat"),
        ("0 ||| x ||| LM0= 1", "expected at least 4 fields .*, not 3;"),
        ("0||| x ||| LM0= 1 ||| 1", "expected at least 4 fields .*, not 3;"),
        ("x ||| x ||| LM0= 1 ||| 1", "begins with 'x', not with the number"),
        ("-1 ||| x ||| LM0= 1 ||| 1", "begins with '-1'"),
        ("² ||| x ||| LM0= 1 ||| 1", "begins with '²'"),
        (" ||| x ||| LM0= 1 ||| 1", "begins with ''"),
        ("0 ||| x ||| LM0= 1 ||| much", "the total is 'much', which is not a number"),
        ("0 ||| x ||| LM0= 1 ||| ", "the total is ''"),
    ],
)
def test_a_malformed_line_is_reported(line, message):
    with pytest.raises(DataError, match=f"^some.list:7: {message}"):
        parse(line, "some.list", 7)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("1 LM0= 2", "begin with '1', not with a name"),
        ("= 2", "begin with '=', not with a name"),
        ("LM0= 1 : 2", "a value of the features is ':', which is not a number"),
        ("lm: 1 w: 2 lm= 3", "the feature 'lm' occurs twice"),
        ("LM0= 1 x", "a value of the features is 'x', which is not a number"),
        ("LM0= 1 D= 2 LM0= 3", "the feature 'LM0' occurs twice"),
    ],
)
def test_features_are_checked_at_access(features, message):
    entry = parse(f"0 ||| x ||| {features} ||| 1", "l", 2)
    assert entry.hypothesis == "x"
    with pytest.raises(DataError, match=f"^l:2: .*{message}"):
        _ = entry.features


def test_a_feature_name_has_no_blanks_or_signs():
    assert all(map(is_feature_name, ["CSLM0", "a_b-c.d", "é"]))
    assert not any(map(is_feature_name, ["", "a b", "a=", "a|b", " a", "a#b"]))


def test_a_list_is_read_as_a_stream(tmp_path):
    text = "\n".join(LINES[:-1])
    plain, packed = tmp_path / "list", tmp_path / "list.gz"
    plain.write_bytes(text.encode())
    packed.write_bytes(gzip.compress(f"{text}\n".encode()))
    for path in (plain, packed):
        entries = list(read_nbest(path))
        assert [entry.line for entry in entries] == LINES[:-1]
        assert entries[2].location == f"{path}:3"
    plain.write_text(f"{MOSES}\nnonsense\n")
    stream = read_nbest(plain)
    assert next(stream).line == MOSES
    with pytest.raises(DataError, match="list:2: expected at least 4"):
        next(stream)


def test_invalid_utf_8_is_reported(tmp_path):
    path = tmp_path / "list"
    path.write_bytes(b"0 ||| \xe9 ||| LM0= 1 ||| 1\n")
    with pytest.raises(DataError, match="list:1: not valid UTF-8"):
        list(read_nbest(path))


def entries_of(*sentences):
    return [parse(f"{s} ||| x ||| ||| 1", "l", n) for n, s in enumerate(sentences, start=1)]


def test_entries_are_grouped_by_sentence():
    groups = list(group_by_sentence(entries_of(0, 0, 2, 3, 3, 3)))
    assert [[entry.number for entry in group] for group in groups] == [[1, 2], [3], [4, 5, 6]]
    assert list(group_by_sentence([])) == []


def test_unsorted_sentences_are_reported():
    groups = group_by_sentence(entries_of(0, 2, 2, 1))
    assert len(next(groups)) == 1 and len(next(groups)) == 2
    with pytest.raises(DataError, match="l:4: sentence 1 comes after sentence 2; sort"):
        next(groups)


@pytest.mark.parametrize(
    ("line", "total", "expected"),
    [
        (MOSES, -4.40479, MOSES),
        (MOSES, -4.40479 + 1e-9, MOSES),
        (MOSES, -5, MOSES.replace("-4.40479", "-5.000000")),
        (LINES[1], 2.25, "12 ||| x ||| LM0= -1 ||| 2.250000 ||| 0-0 1-1 ||| 3=4 "),
        ("0 ||| x ||| LM0= -1 |||  1 \t", 2, "0 ||| x ||| LM0= -1 ||| 2.000000 \t"),
    ],
)
def test_a_new_total_replaces_the_old(line, total, expected):
    entry = parse(line)
    changed = entry.with_total(total)
    assert changed.line == expected
    assert changed.total == pytest.approx(total)
    assert entry.line == line


def test_distinct_hypotheses_keep_their_order():
    texts = ["b a", "a", "b a", "", "a", "c"]
    entries = [parse(f"0 ||| {text} ||| LM0= {n} ||| -1", "l", n) for n, text in enumerate(texts)]
    assert distinct_hypotheses(entries) == ["b a", "a", "", "c"]
    assert distinct_hypotheses([]) == []
