"""The tables of promises name tests that there are."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs" / "explanation"


def names_in(path: Path) -> set[str]:
    """The names of the tests in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", ["reliability.md", "security.md"])
def test_every_promise_is_held_by_a_test_that_there_is(name):
    text = (DOCS / name).read_text(encoding="utf-8")
    cited = re.findall(r"`([\w/]+\.py)::(\w+)`", text)
    assert len(cited) > 15
    missing = [f"{file}::{test}" for file, test in cited if test not in names_in(TESTS / file)]
    assert missing == []


@pytest.mark.parametrize("name", ["reliability.md", "security.md"])
def test_every_row_names_one(name):
    """Each row of the tables whose last column says what holds it."""
    tables = re.findall(r"(?:^\|.*\n)+", (DOCS / name).read_text(encoding="utf-8"), re.MULTILINE)
    rows = [row for t in tables if "| held by |\n" in t for row in t.splitlines()[2:]]
    assert len(rows) > 5 and [row for row in rows if "::" not in row.split("|")[-2]] == []
