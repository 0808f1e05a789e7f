"""Every damaged line of a phrase table or an n-best list is named, in constant memory."""

import gzip
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.integrity.findings import MAX_LINE_FINDINGS, Finding, Inspection
from nmtkit.integrity.smt_files import check_nbest_list, check_phrase_table, kind_of_lines

TABLE = [
    "a ||| b ||| 0.5 0.1 ||| 0-0 ||| 4 4 2 ||| |||",
    "a ||| c d ||| 0.1 1e-05 ||| ||| 1 4 1",
    "b a ||| b b ||| 1 1 ||| 0-0 1-1 0-1 ||| 2 2 2",
    "b ||| é ||| 1 1",
]
"""In the order of LC_ALL=C: `b a |||` is before `b |||`."""

LIST = [
    "0 ||| a b  ||| LM0= -1.5 TM0= -2 -3 ||| -4.5",
    "0 ||| b  ||| LM0= -1 TM0= -2.5 -3 ||| -4.25 ||| 0-0",
    "2 |||  ||| LM0= -0.5 TM0= -1 -1e-05 ||| -1.25",
    "2 ||| é ||| LM0= -0.5 TM0= -1 -1e-05 ||| -1.25",
]


def ignore(lines: int) -> None:
    """Do not report progress."""


def check_table(path: Path, lines: list[str] | bytes) -> list[Finding]:
    return _check(check_phrase_table, path, lines).findings


def check_list(path: Path, lines: list[str] | bytes) -> list[Finding]:
    return _check(check_nbest_list, path, lines).findings


def _check(function, path: Path, lines: list[str] | bytes) -> Inspection:
    data = lines if isinstance(lines, bytes) else "".join(f"{x}\n" for x in lines).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return function(path, ignore)


@pytest.mark.parametrize("features", ["LM0= 1 x 2", "LM0= x", "LM0= 1 2e"])
@pytest.mark.parametrize("lines", [1, 3])
def test_features_that_are_no_numbers_are_found(tmp_path: Path, features: str, lines: int) -> None:
    found = check_list(tmp_path / "file", [f"0 ||| a ||| {features} ||| -3"] * lines)
    assert len(found) == lines and "not a number" in found[0].problem


@pytest.mark.parametrize("name", ["file", "file.gz"])
def test_whole_files_are_well(tmp_path: Path, name: str) -> None:
    assert check_table(tmp_path / name, TABLE) == []
    assert check_list(tmp_path / name, LIST) == []
    assert _check(check_phrase_table, tmp_path / name, TABLE).files == 1


def test_an_empty_file_is_well(tmp_path: Path) -> None:
    assert check_table(tmp_path / "file", []) == check_list(tmp_path / "file", []) == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("a ||| b", "2 fields"),
        ("", "1 field"),
        (" ||| b ||| 1 1", "the source phrase is empty"),
        ("a ||| b ||| 1 x", "the score 'x' is not a number"),
        ("a ||| b ||| 1", "has 1 scores, but the first lines have 2"),
        ("a ||| b ||| 1 nan", "the score 'nan' is not a number"),
        ("a ||| b ||| 1 1e999", "the score '1e999' is not a number"),
        ("a ||| b ||| 1 1 ||| 0-1", "the link 0-1 leads out of a pair of 1 and 1 words"),
        ("a ||| b ||| 1 1 ||| 0m0", "'0m0', which is not a link"),
        ("a ||| b ||| 1 1 ||| 0-0 ||| 4 x", "the count 'x'"),
        ("a ||| b ||| 1 1 ||| 0-0 ||| 4 -1", "the count '-1'"),
    ],
)
def test_a_bad_line_of_a_table_is_named(tmp_path: Path, line: str, problem: str) -> None:
    (finding,) = check_table(tmp_path / "table", [TABLE[0], line, *TABLE[1:]])
    assert (finding.line, finding.severity) == (2, "error")
    assert problem in finding.problem and finding.remedy


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("0 ||| a", "expected at least 4 fields"),
        ("x ||| a ||| LM0= -1 TM0= -2 -3 ||| -4", "begins with 'x'"),
        ("0 ||| a ||| LM0= -1 TM0= -2 -3 ||| x", "the total is 'x'"),
        ("0 ||| a ||| LM0= -1 TM0= -2 -3 ||| nan", "infinite or not a number"),
        ("0 ||| a ||| LM0= -1 TM0= -inf -3 ||| 1", "infinite or not a number"),
        ("0 ||| a ||| LM0= -1 TM0= -2 ||| -4", "TM0 (1), but the first line has LM0 (1), TM0 (2)"),
        ("0 ||| a ||| TM0= -2 -3 LM0= -1 ||| -4", "has the features TM0 (2), LM0 (1)"),
        ("0 ||| a ||| LM0= -1 TM0= -2 x ||| -4", "'x', which is not a number"),
    ],
)
def test_a_bad_line_of_a_list_is_named(tmp_path: Path, line: str, problem: str) -> None:
    (finding,) = check_list(tmp_path / "list", [LIST[0], line, *LIST[1:]])
    assert (finding.line, finding.severity) == (2, "error")
    assert problem in finding.problem + finding.remedy


def test_bytes_that_are_not_utf_8_are_named(tmp_path: Path) -> None:
    for check, lines in ((check_table, TABLE), (check_list, LIST)):
        (finding,) = check(tmp_path / "file", "\n".join(lines).encode().replace(b"\xc3", b"\xff"))
        assert finding.line == 4 and "not valid UTF-8" in finding.problem


def test_a_bad_first_line_does_not_make_the_others_bad(tmp_path: Path) -> None:
    (finding,) = check_table(tmp_path / "table", ["A ||| b ||| 1 1 1", *TABLE])
    assert finding.line == 1
    (finding,) = check_list(tmp_path / "list", ["0 ||| a ||| LM0= 1 ||| 1", *LIST])
    assert finding.line == 1


def test_a_sentence_out_of_order_is_named(tmp_path: Path) -> None:
    (finding,) = check_list(tmp_path / "list", [*LIST, LIST[0], LIST[2]])
    assert (finding.line, finding.problem) == (5, "sentence 0 comes after sentence 2")
    (finding,) = check_list(tmp_path / "list", [LIST[0], LIST[2].replace("2", "9", 1), *LIST[2:]])
    assert finding.line == 3


def test_a_table_that_is_not_sorted_gives_a_warning(tmp_path: Path) -> None:
    (finding,) = check_table(tmp_path / "table", [*TABLE, TABLE[0], TABLE[3], TABLE[2]])
    assert (finding.line, finding.severity) == (5, "warning")
    assert "1 more" in finding.problem and "LC_ALL=C sort" in finding.remedy


def test_many_bad_lines_are_counted(tmp_path: Path) -> None:
    findings = check_table(tmp_path / "table", [*TABLE, *["bad"] * 1000])
    assert len(findings) == MAX_LINE_FINDINGS + 1
    assert "980 more errors" in findings[-1].problem


FLIP = settings(max_examples=60, derandomize=True)


@FLIP
@given(data=st.data())
def test_a_flipped_bit_in_a_compressed_file_is_found(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "file.gz"
    kind, check, lines = data.draw(
        st.sampled_from([("table", check_phrase_table, TABLE), ("list", check_nbest_list, LIST)])
    )
    text = "".join(f"{line}\n" for line in lines * (20 if kind == "list" else 1)).encode()
    packed = bytearray(gzip.compress(text, mtime=0))
    bit = data.draw(st.integers(10 * 8, len(packed) * 8 - 1))  # the header has no checksum
    packed[bit // 8] ^= 1 << bit % 8
    path.write_bytes(packed)
    findings = check(path, ignore).findings
    assert any("gzip" in finding.problem for finding in findings)


def test_damaged_gzip_data_is_named_after_the_lines_before_it(tmp_path: Path) -> None:
    path = tmp_path / "table.gz"
    _check(check_phrase_table, path, TABLE)
    path.write_bytes(path.read_bytes()[:-4])
    (finding,) = check_phrase_table(path, ignore).findings
    assert "damaged or incomplete gzip file, after line 4" in finding.problem
    assert finding.remedy


def test_memory_is_constant(tmp_path: Path) -> None:
    path = tmp_path / "table"

    def peak(lines: int) -> int:
        path.write_text("".join(f"w{n:07} ||| b ||| 1 1 ||| 0-0\n" for n in range(lines)))
        tracemalloc.start()
        assert check_phrase_table(path, ignore).findings == []
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert peak(16_000) < peak(8000) + 20_000  # both are more than the chunk that is read


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (TABLE, "phrase table"),
        (LIST, "n-best list"),
        (["0 ||| un ||| 0.5 0.1 ||| ||| 1 1 1"], "phrase table"),
        (["0 ||| a ||| ||| -1"], "n-best list"),
        (["bad", *TABLE], "phrase table"),
        (["A man reads ."], None),
        (["a b 0.5"], None),
        ([], None),
    ],
)
def test_a_file_is_recognised_by_its_lines(lines: list[str], kind: str | None) -> None:
    assert kind_of_lines([line.encode() for line in lines]) == kind
