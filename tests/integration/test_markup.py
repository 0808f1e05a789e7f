"""`nmtkit translate --markup` and `--protect` through the real command line."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Nmtkit = Callable[..., Result]

LINES = [
    "one <b>two</b> &amp; three<br/>",
    "",
    "<i>four",
    "five {0} of %s in a.txt",
    "<!-- six -->",
    "seven < eight > nine & ten",
]
SIGNS = re.compile(r"</?[a-z]+/?>|<!--.*?-->|&amp;|\{0\}|%s|a\.txt")


@pytest.mark.parametrize("markup", ["html", "xml"])
def test_each_line_has_its_markup(translate: Nmtkit, markup: str) -> None:
    rows = translate(LINES, "--markup", markup).stdout.split("\n")[:-1]
    assert len(rows) == len(LINES)
    for line, row in zip(LINES, rows, strict=True):
        assert sorted(SIGNS.findall(row)) == sorted(SIGNS.findall(line))
        assert [row.count(sign) for sign in "<>&"] == [line.count(sign) for sign in "<>&"]


def test_n_best_lists_and_json_have_markup(translate: Nmtkit) -> None:
    for row in translate(LINES[:1], "--markup", "html", "--n-best", 2).stdout.splitlines():
        assert sorted(SIGNS.findall(row.split(" ||| ")[1])) == sorted(SIGNS.findall(LINES[0]))
    table = json.loads(translate(LINES[:1], "--markup", "html", "--json").stdout)
    assert "<b>" in table["translations"][0]["text"]
    assert table["source_tokens"] == ["one", "two", "&", "three"]


def test_parts_are_protected_without_markup(translate: Nmtkit, tmp_path: Path) -> None:
    patterns = tmp_path / "patterns"
    patterns.write_text("# what stays\nf\\w+e\n")
    row = translate(LINES[3:4], "--protect", "placeholders", "--protect", patterns).stdout
    for kept in ("five", "{0}", "%s", "a.txt"):
        assert row.count(kept) == 1


def test_a_wrong_pattern_is_named(translate: Nmtkit, tmp_path: Path) -> None:
    patterns = tmp_path / "patterns"
    patterns.write_text("ok\n(\n")
    message = translate(LINES, "--protect", "placeholder", status=1).stderr
    assert "placeholder: no such file; give a file of regular expressions, or 'placeholders'" in (
        message
    )
    message = translate(LINES, "--protect", patterns, status=1).stderr
    assert "patterns:2: not a regular expression" in message


@pytest.mark.parametrize("option", [["--sample", 1], ["--tokenized"], ["--replace-unk", "copy"]])
def test_options_that_do_not_go_together_are_refused(
    translate: Nmtkit, option: list[object]
) -> None:
    assert "--markup" in translate(LINES, "--markup", "html", *option, status=2).stderr
