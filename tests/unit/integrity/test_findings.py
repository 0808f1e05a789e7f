"""Findings are made from readers' messages, limited by file, and repeated while files change."""

from pathlib import Path

import pytest

from nmtkit.errors import DataError
from nmtkit.integrity.findings import (
    MAX_LINE_FINDINGS,
    MAX_LOOKS,
    CheckResult,
    Finding,
    LineFindings,
    error,
    finding_of,
    look_again,
    unreadable,
    warning,
)
from nmtkit.io.parameters import CorruptFileError


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("a/b:7: bad word; remove it", Finding("a/b", "error", "bad word", "remove it", 7)),
        ("a/b: cut; x; fetch it", Finding("a/b", "error", "cut; x", "fetch it")),
        ("a/b: cut short", Finding("a/b", "error", "cut short", "restore the file from a copy")),
        ("other: bad; mend it", Finding("a/b", "error", "other: bad", "mend it")),
    ],
)
def test_a_message_becomes_problem_line_and_remedy(message: str, expected: Finding) -> None:
    assert finding_of(DataError(message), "a/b") == expected


def test_a_remedy_can_be_replaced() -> None:
    assert finding_of(DataError("a:3: bad; x"), "a", "prepare again").remedy == "prepare again"


def test_a_file_that_may_not_be_read_is_not_called_damaged() -> None:
    problem = DataError("a: damaged; prepare again")
    problem.__cause__ = CorruptFileError("a/b: not safetensors")
    problem.__cause__.__cause__ = PermissionError(13, "Permission denied", "a/b")
    denied = error("a/b", "cannot be read: Permission denied", "correct its permissions")
    assert finding_of(problem, "a/b", "start anew") == denied
    assert unreadable("a/b", OSError(5, "Input/output error"), "mend").remedy == "mend"


def test_a_location_names_file_and_line() -> None:
    assert (error("f", "p", "r").location, error("f", "p", "r", 3).location) == ("f", "f:3")


def test_errors_and_warnings_are_counted() -> None:
    result = CheckResult("p", "k", 2, (error("f", "p", "r"), warning("f", "p", "r")))
    assert (result.errors, result.warnings) == (1, 1)


def test_only_the_first_lines_of_a_file_are_named() -> None:
    found = LineFindings("f")
    for number in range(1, MAX_LINE_FINDINGS + 1235):
        found.add(error("f", "bad", "mend", number))
    findings = list(found)
    assert [f.line for f in findings[:-1]] == list(range(1, MAX_LINE_FINDINGS + 1))
    assert findings[-1] == error("f", "1,234 more errors in its lines", "mend")


def test_files_that_change_are_checked_again(tmp_path: Path) -> None:
    path = tmp_path / "file"
    looks = []

    def check() -> list[Finding]:
        looks.append(1)
        path.write_text("x" * len(looks))
        return [] if len(looks) == 3 else [error(path, "bad", "mend")]

    assert look_again(check, [path]) == ()
    assert len(looks) == 3


def test_a_file_that_never_rests_is_not_checked_for_ever(tmp_path: Path) -> None:
    looks = []

    def check() -> list[Finding]:
        looks.append(1)
        (tmp_path / "file").write_text("x" * len(looks))
        return [error("file", "bad", "mend")]

    assert look_again(check, [tmp_path]) == ()
    assert len(looks) == MAX_LOOKS


def test_links_that_lead_back_are_not_followed(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).symlink_to(".")
    assert look_again(list, [tmp_path]) == ()


def test_damage_in_a_resting_file_is_found_at_once(tmp_path: Path) -> None:
    looks = []

    def check() -> list[Finding]:
        looks.append(1)
        return [error("file", "missing", "mend")]

    assert len(look_again(check, [tmp_path / "file"])) == len(looks) == 1
