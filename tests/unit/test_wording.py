"""Docstrings, comments, messages and help are plain technical English.

Ruff checks the form of docstrings (rules `D`, see pyproject.toml). These tests refuse phrases and
first words that readers found hard to understand.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

PHRASES = [
    r"\bof which\b",
    r"\bthat which\b",
    r"\bone whose\b",
    r"\bwhat is no\b",
    r"\bis none of\b",
    r"\bare none of\b",
    r"\bthey count nothing\b",
    r"\bcounts nothing\b",
    r"\bnobody may\b",
    r"\bwho works with\b",
    r"\bpassed over\b",
    r"\bmade ready\b",
    r"\bof that rank\b",
    r"\bthat it is of\b",
    r"\bowes? most\b",
    r"\bso many of\b",
    r"\bas many as wanted\b",
    r"\bknows no\b",
    r"\bby people\b",
    r"\bit is none\b",
    r"\bthere is none where\b",
    r"\bis told\b",
    r"\bare told\b",
    r"\btells of\b",
    r"\bshall be\b",
    r"\bthe same but for\b",
    r"\bin the place of\b",
    r"\bwithout a word\b",
]
"""Phrases that need a second reading."""

ANY_PHRASE = re.compile("|".join(PHRASES), re.IGNORECASE)

FIRST_WORDS = {"what", "whether", "how", "where", "who", "which", "that", "those", "as", "of"}
"""Words that must not begin the docstring of a function, which says what the function does."""


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each docstring, comment and string literal."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], re.sub(r"\s+", " ", token.string)


def first_words(source: str) -> Iterator[tuple[int, str]]:
    """Yield line number and first word of each function's docstring."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if any(ast.unparse(d).endswith(("property", "setter")) for d in node.decorator_list):
                continue
            text = ast.get_docstring(node) or ""
            if text and not text.startswith(":"):
                yield node.lineno, text.split()[0].lower().strip(".,:;")


PACKAGE = sorted((ROOT / "nmtkit").rglob("*.py"))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_no_phrase_that_needs_a_second_reading() -> None:
    violations = [
        f"{name(path)}:{line}: {match.group()}"
        for path in PACKAGE
        for line, text in prose(path.read_text(encoding="utf-8"))
        for match in ANY_PHRASE.finditer(text)
    ]
    assert not violations


def test_a_docstring_says_what_its_function_does() -> None:
    violations = [
        f"{name(path)}:{line}: begins with '{word}'"
        for path in PACKAGE
        for line, word in first_words(path.read_text(encoding="utf-8"))
        if word in FIRST_WORDS
    ]
    assert not violations


def test_phrases_and_first_words_are_detected() -> None:
    source = 'def f():\n    """What is no number.\n\n    One of which\n    is told."""\n'
    assert [word for _, word in first_words(source)] == ["what"]
    ((_, text),) = prose(source)
    assert sum(bool(re.search(pattern, text, re.IGNORECASE)) for pattern in PHRASES) == 3
