"""The folder of downloaded files, and the record of what was checked.

NAME            complete and checked
NAME.part       an unfinished download, which resumes at its end
NAME.damaged    a file with a wrong checksum
NAME.checked    size, time and checksum of NAME when it was checked, so that a file is read once and
                not at every start, even if it was put there by hand
"""

import gzip
import hashlib
import json
import os
import shutil
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path

from corpora import CorpusError
from corpora.download import RetryPolicy, download
from corpora.listing import File, Form
from corpora.progress import size_of
from corpora.source import Unavailable

_SPARE = 64 << 20
"""Bytes to keep free on the disk for other programs."""


class Folder:
    """A folder of downloaded files, which is created if it does not exist."""

    def __init__(self, path: Path, retry_policy: RetryPolicy) -> None:
        self.path = path
        self.retry_policy = retry_policy
        path.mkdir(parents=True, exist_ok=True)

    def has(self, file: File) -> bool:
        """Return True if the file exists and is correct; read it unless it was checked before."""
        path = self.path / file.name
        if not path.is_file():
            return False
        recorded = self._recorded(file)
        if any(recorded == _state(path, form) for form in file.forms):
            os.utime(self._checked(file))  # the time tells make that the check was done
            return True
        for form in file.forms:
            if _is_right(path, form):
                self._remember(file, _state(path, form))
                return True
        return False

    def obtain(self, file: File) -> None:
        """Make the file available under its name, complete and correct; download it if necessary.

        :raises CorpusError: It is not available.
        """
        path = self.path / file.name
        if self.has(file):
            return
        if path.exists():
            self._set_aside(file, path)
        reasons = []
        for form in file.forms:
            reason = self._fetch(file, form)
            if not reason:
                log(f"{path}: downloaded and checked")
                return
            reasons.append(reason)
        raise CorpusError(
            f"{file.name}: not downloaded: {'; '.join(reasons)}; run it again with a network"
            f" connection, or put {file.name} into {self.path.resolve()} by hand, or name a mirror"
            " that has it"
        )

    def missing(self, files: Iterable[File]) -> int:
        """Return the number of bytes still to download; files of unknown size count as 0."""
        total = 0
        for file in files:
            if not (self.path / file.name).is_file():
                parts = [self._part(file, form) for form in file.forms]
                received = max(part.stat().st_size if part.is_file() else 0 for part in parts)
                total += max((file.forms[0].bytes or 0) - received, 0)
        return total

    def _fetch(self, file: File, form: Form) -> str:
        """Download one form of a file, twice if corrupt; return the reason of a failure."""
        part = self._part(file, form)
        urls = list(form.urls)
        for _ in range(2):
            try:
                download(urls, part, None if form.gunzip else form.bytes, self.retry_policy)
            except Unavailable as error:
                return str(error)
            content = self._gunzipped(form, part) if form.gunzip else part
            if content and _is_right(content, form):
                self._accept(file, form, content)
                part.unlink(missing_ok=True)
                return ""
            self._set_aside(file, content or part)
            part.unlink(missing_ok=True)
            urls = urls[1:] + urls[:1]  # start the second attempt with another source
        return f"{urls[-1]}: its {form.algorithm} was wrong twice; expected {form.checksum}"

    def _accept(self, file: File, form: Form, content: Path) -> None:
        """Give a checked file its final name."""
        with open(content, "rb") as stream:
            os.fsync(stream.fileno())
        path = self.path / file.name
        os.replace(content, path)
        self._remember(file, _state(path, form))

    def _gunzipped(self, form: Form, part: Path) -> Path | None:
        """Unpack a gzip file beside it; return None if it is not gzip."""
        unpacked = part.with_suffix(".unpacked")
        limit = form.bytes or sys.maxsize
        try:
            with gzip.open(part) as source, open(unpacked, "wb") as target:
                while (block := source.read(1 << 20)) and target.tell() <= limit:
                    target.write(block)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            unpacked.unlink()
            return None
        return unpacked

    def _set_aside(self, file: File, path: Path) -> None:
        aside = self.path / f"{file.name}.damaged"
        log(f"{path}: wrong checksum; renamed to {aside.name}")
        os.replace(path, aside)

    def _part(self, file: File, form: Form) -> Path:
        number = file.forms.index(form)
        return self.path / f"{file.name}.part{number + 1 if number else ''}"

    def _checked(self, file: File) -> Path:
        return self.path / f"{file.name}.checked"

    def _recorded(self, file: File) -> object:
        try:
            return json.loads(self._checked(file).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _remember(self, file: File, state: dict[str, object]) -> None:
        aside = self.path / f".{file.name}.checked"
        aside.write_text(json.dumps(state) + "\n", encoding="utf-8")
        os.replace(aside, self._checked(file))


def check_space(folder: Path, needed: int) -> None:
    """Check that the disk of a folder has space for a number of bytes.

    :raises CorpusError: There is not enough space.
    """
    free = shutil.disk_usage(folder).free
    if needed and free < needed + _SPARE:
        raise CorpusError(
            f"{folder.resolve()}: {size_of(needed)} are still to be downloaded and unpacked, but"
            f" the disk has {size_of(free)} free; free some space, or name another folder"
        )


def log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _state(path: Path, form: Form) -> dict[str, object]:
    """Return the record of a checked file: its size, time and checksum."""
    status = path.stat()
    return {
        "bytes": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        form.algorithm: form.checksum,
    }


def _is_right(path: Path, form: Form) -> bool:
    if form.bytes is not None and path.stat().st_size != form.bytes:
        return False
    with open(path, "rb") as stream:
        return bool(hashlib.file_digest(stream, form.algorithm).hexdigest() == form.checksum)
