"""Moses's files with any content: they round-trip byte for byte, or a line is reported."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmtkit.errors import DataError
from nmtkit.io.compression import DamagedInput
from nmtkit.smt.nbest import Entry, parse, read_nbest
from nmtkit.smt.phrase_table import PhrasePair, read_phrase_blocks, read_phrase_table
from nmtkit.smt.weights import Weights, read_weights

anything = settings(derandomize=True)
"""The same cases each time; the file is written anew for each of them."""

ODD = ["|||", "|", " ", "  ", "\t", "\r", "\u2028", "\x85", "\x00", "é", "<unk>", "</s>", "&#124;"]
NUMBERS = ["0", "1e-05", "-4.40479", "nan", "inf", "-100", "0x1", "1_0", "٣", "--1"]

pieces = st.sampled_from([*ODD, *NUMBERS, "LM0=", "TM0=", "un", "homme", " ||| ", "||| |||"])
texts = st.lists(pieces | st.text(max_size=4), max_size=12).map("".join)
lines = texts.map(lambda text: text.replace("\n", " "))
raw_lines = lines.map(str.encode) | st.binary(max_size=30).map(lambda b: b.replace(b"\n", b" "))
check_finite = st.floats(-1e100, 1e100)
words = st.text("abé=_0:", min_size=1, max_size=5).filter(lambda word: not word.endswith("="))
features = st.dictionaries(
    words, st.lists(check_finite, min_size=1, max_size=3), min_size=1, max_size=3
)


@anything
@given(lines)
def test_a_line_of_a_list_round_trips_or_is_reported(line: str) -> None:
    try:
        entry = parse(line, "list", 7)
    except DataError as error:
        assert str(error).startswith("list:7: ")
        return
    assert entry.line == line
    assert entry.sentence >= 0 and entry.hypothesis == entry.fields[1].strip(" \t\r\v\f")


@anything
@given(st.integers(0, 10**9), lines.filter(lambda x: "|||" not in x), features, check_finite)
def test_values_written_into_a_line_are_read_back(
    sentence: int, hypothesis: str, features_of_line: dict[str, list[float]], total: float
) -> None:
    feature_text = " ".join(
        f"{name}= {' '.join(map(repr, v))}" for name, v in features_of_line.items()
    )
    entry = parse(f"{sentence} ||| {hypothesis} ||| {feature_text} ||| {total!r}")
    assert (entry.sentence, entry.total) == (sentence, total)
    assert entry.features == {name: tuple(values) for name, values in features_of_line.items()}
    longer = entry.with_feature("RNN0", -1.5)
    assert longer.features == {**entry.features, "RNN0": (-1.5,)}
    assert longer.line.replace(" RNN0= -1.500000", "", 1) == entry.line


@anything
@given(st.lists(lines, max_size=4))
def test_a_list_round_trips_or_a_line_is_reported(tmp_path: Path, content: list[str]) -> None:
    (tmp_path / "list").write_bytes("".join(f"{line}\n" for line in content).encode())
    entries: list[Entry] = []
    try:
        entries.extend(read_nbest(tmp_path / "list"))
    except DataError as error:
        assert f"list:{len(entries) + 1}: " in str(error)
    assert [entry.line for entry in entries] == content[: len(entries)]


@anything
@given(st.lists(raw_lines, max_size=4))
@example([b"(\xb5/\xfd"])
def test_a_phrase_table_round_trips_or_a_line_is_reported(
    tmp_path: Path, content: list[bytes]
) -> None:
    (tmp_path / "table").write_bytes(b"".join(line + b"\n" for line in content))
    actual: list[PhrasePair] = []
    try:
        actual.extend(read_phrase_table(tmp_path / "table"))
    except DamagedInput:  # the first bytes are those of a compressed file
        return
    except DataError as error:
        assert f"table:{len(actual) + 1}: " in str(error)
        with pytest.raises(DataError, match=f":{len(actual) + 1}:"):
            list(read_phrase_blocks(3, tmp_path / "table"))
    assert [pair.with_scores([]) for pair in actual] == content[: len(actual)]
    for pair, line in zip(actual, content, strict=False):
        longer = pair.with_scores(["0.25"])
        assert longer.replace(b" 0.25", b"", 1) == line or b" 0.25" in line
        assert b"\n" not in longer


@anything
@given(features, st.none() | features)
def test_weights_are_read_as_they_were_written(
    tmp_path: Path, values: dict[str, list[float]], original: dict[str, list[float]] | None
) -> None:
    both = [None if v is None else {n: tuple(x) for n, x in v.items()} for v in (values, original)]
    assert both[0] is not None
    written = Weights(both[0], both[1])
    (tmp_path / "weights").write_text(written.text, encoding="utf-8")
    actual = read_weights(tmp_path / "weights")
    assert (actual.values, actual.original) == (written.values, written.original)


@anything
@given(st.lists(lines, max_size=5))
def test_malformed_weights_are_reported(tmp_path: Path, content: list[str]) -> None:
    (tmp_path / "w").write_bytes("".join(f"{row}\n" for row in ["[weight]", *content]).encode())
    try:
        actual = read_weights(tmp_path / "w")
    except DataError as error:
        assert f"{tmp_path / 'w'}:" in str(error)
        return
    assert all(values for values in actual.values.values())
