"""Findings of a check: what is damaged, and how to mend it."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nmtkit.errors import NmtkitError
from nmtkit.io.inputs import Source

Severity = Literal["error", "warning"]

MAX_LINE_FINDINGS = 20
"""Maximum number of lines of one file that are named."""

PERMISSIONS = "correct its permissions"
"""Remedy for a file that is whole, as far as is known, but may not be read."""

MAX_LOOKS = 5
"""Maximum number of times that a file is checked which changes meanwhile."""

Progress = Callable[[int], object]
"""Is called with the number of lines read since the last call."""


@dataclass(frozen=True)
class Finding:
    """Something wrong with a file.

    path: the file. line: number of the line, from 1; None for the whole file.
    severity: "error" if content is lost or cannot be used, else "warning".
    problem: what is wrong. remedy: what to do.
    """

    path: str
    severity: Severity
    problem: str
    remedy: str
    line: int | None = None

    @property
    def location(self) -> str:
        """FILE or FILE:LINE, for messages."""
        return self.path if self.line is None else f"{self.path}:{self.line}"


@dataclass(frozen=True)
class CheckResult:
    """Result of `nmtkit.check`.

    path: what was checked. kind: "prepared folder", "model folder", "phrase table" or "n-best
    list". files: number of files checked.
    findings: in the order of the files.
    unchecked: files of the folder that do not belong to it, and were not read.
    """

    path: str
    kind: str
    files: int
    findings: tuple[Finding, ...]
    unchecked: tuple[str, ...] = ()

    @property
    def errors(self) -> int:
        """Number of errors; 0 if nothing is damaged."""
        return sum(finding.severity == "error" for finding in self.findings)

    @property
    def warnings(self) -> int:
        """Number of warnings."""
        return len(self.findings) - self.errors


@dataclass
class Inspection:
    """What has been found so far. Fields as in `CheckResult`."""

    files: int = 0
    findings: list[Finding] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    def add(self, findings: Iterable[Finding]) -> bool:
        """Add findings; return True if there were none."""
        before = len(self.findings)
        self.findings.extend(findings)
        return len(self.findings) == before


def error(path: Source, problem: str, remedy: str, line: int | None = None) -> Finding:
    """Return an error."""
    return Finding(str(path), "error", problem, remedy, line)


def warning(path: Source, problem: str, remedy: str, line: int | None = None) -> Finding:
    """Return a warning."""
    return Finding(str(path), "warning", problem, remedy, line)


def unreadable(path: Source, problem: OSError, remedy: str) -> Finding:
    """Return the error for a file that the system does not read.

    :param remedy: what to do if the reason is not a lack of permissions.
    """
    remedy = PERMISSIONS if isinstance(problem, PermissionError) else remedy
    return error(path, f"cannot be read: {problem.strerror}", remedy)


def finding_of(problem: NmtkitError, path: Source, remedy: str = "") -> Finding:
    """Return the finding for a reader's error.

    Messages of readers are "FILE:LINE: PROBLEM; REMEDY".

    :param remedy: replaces that of the message, unless the file may not be read.
    """
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, PermissionError):
            return unreadable(path, cause, remedy)
        cause = cause.__cause__
    message = str(problem)
    line = None
    if match := re.match(rf"{re.escape(str(path))}(?::(\d+))?: ", message):
        message = message[match.end() :]
        line = int(match[1]) if match[1] else None
    text, _, advice = message.rpartition("; ")
    if not text:
        text, advice = advice, "restore the file from a copy"
    return Finding(str(path), "error", text, remedy or advice, line)


class LineFindings:
    """Errors in the lines of one file; the first `MAX_LINE_FINDINGS` are kept.

    found: number of errors so far.
    """

    def __init__(self, path: Source) -> None:
        self.found = 0
        self._path = path
        self._findings: list[Finding] = []

    def add(self, finding: Finding) -> None:
        """Add an error."""
        self.found += 1
        if self.found <= MAX_LINE_FINDINGS:
            self._findings.append(finding)

    def __iter__(self) -> Iterator[Finding]:
        """Yield the errors kept, and the number of the others."""
        yield from self._findings
        if more := self.found - len(self._findings):
            remedy = self._findings[-1].remedy
            yield error(self._path, f"{more:,} more errors in its lines", remedy)


def look_again(
    check: Callable[[], Iterable[Finding]], paths: Sequence[Path]
) -> tuple[Finding, ...]:
    """Check files, and again if something was found and they have changed meanwhile.

    A training replaces and removes files while it runs, which is no damage. What is found in files
    that change at each look is not reported.

    :param check: checks the files.
    :param paths: the files, or folders of files.
    """
    for _ in range(MAX_LOOKS):
        before = [*map(_fingerprint, paths)]
        findings = tuple(check())
        if not findings or before == [*map(_fingerprint, paths)]:
            return findings
    return ()


def _fingerprint(path: Path) -> object:
    """Return a value that changes when a file, or a file of a folder, is replaced or written.

    Links to folders are not entered: they may lead back.
    """
    try:
        stat = path.stat()
        inner = sorted(path.iterdir()) if path.is_dir() and not path.is_symlink() else []
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, [(p.name, _fingerprint(p)) for p in inner]
