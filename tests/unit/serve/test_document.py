"""Files that are translated in a process of their own."""

from typing import Any, cast

import pytest

from nmtkit.serve import document
from nmtkit.serve.piece import PieceTranslator
from nmtkit.serve.task import Task
from nmtkit.serve.worker import answer_piece

FILES = {"files": {"contents": [""], "name": "a.html"}, "task": Task().as_message()}


@pytest.mark.parametrize(
    ("error", "is_too_large"),
    [
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("another"), False),
    ],
)
def test_a_process_without_memory_ends(
    monkeypatch: pytest.MonkeyPatch, error: Exception, is_too_large: bool
) -> None:
    def fail(*_: Any) -> bytes:
        raise error

    monkeypatch.setattr(document, "_limit", lambda size: None)
    monkeypatch.setattr(document, "_translate", fail)
    translator = PieceTranslator(cast(Any, None), {})
    if is_too_large:
        with pytest.raises(SystemExit):
            answer_piece(translator, FILES)
    else:
        assert answer_piece(translator, FILES)["is_bug"]
