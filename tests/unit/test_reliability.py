"""The tables in reliability.md and security.md name existing tests."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs" / "explanation"


def names_in(path: Path) -> set[str]:
    """Return the names of the tests in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", ["reliability.md", "security.md"])
def test_every_cited_test_exists(name):
    text = (DOCS / name).read_text(encoding="utf-8")
    cited = re.findall(r"`([\w/]+\.py)::(\w+)`", text)
    assert len(cited) > 15
    missing = [f"{file}::{test}" for file, test in cited if test not in names_in(TESTS / file)]
    assert missing == []


@pytest.mark.parametrize("name", ["reliability.md", "security.md"])
def test_every_row_cites_a_test(name):
    """Check the last column of each table with the heading `held by`."""
    tables = re.findall(r"(?:^\|.*\n)+", (DOCS / name).read_text(encoding="utf-8"), re.MULTILINE)
    rows = [row for t in tables if "| held by |\n" in t for row in t.splitlines()[2:]]
    assert len(rows) > 5 and [row for row in rows if "::" not in row.split("|")[-2]] == []
