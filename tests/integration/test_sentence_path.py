"""The path of one sentence through the source files of `nmtkit translate`: few files, no callback.

A file is on the path if one of its functions runs between reading the line and writing its
translation. `docs/explanation/architecture.md` shows the path.
"""

import os
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import nmtkit

PACKAGE = Path(nmtkit.__file__).parent
COMMAND = "cli/translate.py"

MAX_FILES = {"": 29, "models/": 5, "models/fast/": 8}
"""Largest number of files: outside the models, in the plain models, and in their fast twins."""

CACHES = {
    "text/tokenizer.py": "text/memo.py",
    "models/fast/rnnsearch.py": "models/fast/embedding_cache.py",
}
"""Files entered a second time, and the cache that calls them for a missing value."""


class Recorder:
    """A profiler that records the files of the package that work on a line.

    It records from `os.read` to `writelines`.

    files: in the order of their first entry.
    stacks: for each call the files on the call stack, outermost first; consecutive functions of
        one file count once.
    """

    def __init__(self) -> None:
        self.files: list[str] = []
        self.stacks: set[tuple[str, ...]] = set()
        self._reading = self._written = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call" and _file(frame):
            if not self._reading and argument is os.read:
                self._reading = True
                self._record(frame)
            self._written |= self._reading and argument.__name__ == "writelines"
        elif event == "call" and _file(frame) and self._reading and not self._written:
            self._record(frame)

    def _record(self, frame: FrameType | None) -> None:
        stack: list[str] = []
        while frame is not None:
            file = _file(frame)
            if file is not None and (not stack or stack[-1] != file):
                stack.append(file)
            frame = frame.f_back
        stack = stack[stack.index(COMMAND) :: -1]
        self.stacks.add(tuple(stack))
        self.files += [file for file in stack if file not in self.files]


def _file(frame: FrameType) -> str | None:
    """Return the source file of a frame; None outside the package and for module bodies."""
    path = Path(frame.f_code.co_filename)
    if frame.f_code.co_name == "<module>" or PACKAGE not in path.parents:
        return None
    return path.relative_to(PACKAGE).as_posix()


@pytest.fixture(scope="module")
def path_of_a_line(model: Path, nmtkit: Any, tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    """Translate a single line from a pipe, and record the files that it passes."""
    pipe = tmp_path_factory.mktemp("pipe") / "lines"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("two three five\n",))
    writer.start()
    recorder = Recorder()
    sys.setprofile(recorder)
    try:
        result = nmtkit("translate", "--model", model, "--device", "cpu", "--beam", 3, pipe)
    finally:
        sys.setprofile(None)
    writer.join()
    assert result.stdout.count("\n") == 1
    return recorder


def test_a_sentence_passes_through_few_files(path_of_a_line: Recorder) -> None:
    assert path_of_a_line.files[0] == COMMAND and "models/rnnsearch.py" in path_of_a_line.files
    fast = [file for file in path_of_a_line.files if file.startswith("models/fast/")]
    models = [
        file for file in path_of_a_line.files if file.startswith("models/") and file not in fast
    ]
    others = [file for file in path_of_a_line.files if not file.startswith("models/")]
    for folder, files in (("", others), ("models/", models), ("models/fast/", fast)):
        assert len(files) <= MAX_FILES[folder], "\n".join(files)


def test_no_file_is_entered_more_than_twice(path_of_a_line: Recorder) -> None:
    """A file calls others and gets their results; only caches call back for a missing value."""
    for stack in path_of_a_line.stacks:
        for file in set(stack):
            entries = [index for index, entered in enumerate(stack) if entered == file]
            callers = [stack[index - 1] for index in entries[1:]]
            assert callers in ([], [CACHES.get(file)]), stack
