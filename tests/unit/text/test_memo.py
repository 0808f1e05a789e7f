"""A memo returns what its function computes, and its size is bounded."""

import pytest

from nmtkit.text import memo as module
from nmtkit.text.memo import Memo


def test_a_word_is_computed_once() -> None:
    computed = []

    def make(word: str) -> str:
        computed.append(word)
        return word.upper()

    memory = Memo(make)
    assert [*map(memory.__getitem__, ["a", "b", "a", "a"])] == ["A", "B", "A", "A"]
    assert computed == ["a", "b"]


def test_the_memo_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WORDS", 10)
    memory = Memo(str.upper)
    for number in range(100):
        assert memory[f"w{number}"] == f"W{number}"
        assert memory["x" * 51] == "X" * 51
        assert len(memory) <= 10
    assert "x" * 51 not in memory
    assert memory["x" * 50] == "X" * 50 and "x" * 50 in memory
