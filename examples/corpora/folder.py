"""The folder of downloaded files, and what is known about them.

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
from corpora.download import Patience, download
from corpora.listing import File, Form
from corpora.progress import size_of
from corpora.source import Unavailable

_SPARE = 64 << 20
"""Bytes that shall stay free on the disk, for all that others write meanwhile."""


class Folder:
    """:param path: of the folder; it is made where it is lacking."""

    def __init__(self, path: Path, patience: Patience) -> None:
        self.path = path
        self.patience = patience
        path.mkdir(parents=True, exist_ok=True)

    def has(self, file: File) -> bool:
        """Return True if the file is there and correct; read it unless that is known already."""
        path = self.path / file.name
        if not path.is_file():
            return False
        known = self._known(file)
        if any(known == _state(path, form) for form in file.forms):
            os.utime(self._checked(file))  # make, which asked, shall see that it was answered
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
                tell(f"{path}: fetched and checked")
                return
            reasons.append(reason)
        raise CorpusError(
            f"{file.name}: not fetched: {'; '.join(reasons)}; run it again when the network is"
            f" there, or put {file.name} into {self.path.resolve()} by hand, or name a mirror that"
            " has it"
        )

    def missing(self, files: Iterable[File]) -> int:
        """Return the number of bytes still to download; files of unknown size count as 0."""
        lacking = 0
        for file in files:
            if not (self.path / file.name).is_file():
                parts = [self._part(file, form) for form in file.forms]
                here = max(part.stat().st_size if part.is_file() else 0 for part in parts)
                lacking += max((file.forms[0].bytes or 0) - here, 0)
        return lacking

    def _fetch(self, file: File, form: Form) -> str:
        """Download one form of a file, twice if corrupt; return the reason of a failure."""
        part = self._part(file, form)
        urls = list(form.urls)
        for _ in range(2):
            try:
                download(urls, part, None if form.gunzip else form.bytes, self.patience)
            except Unavailable as error:
                return str(error)
            made = self._gunzipped(form, part) if form.gunzip else part
            if made and _is_right(made, form):
                self._accept(file, form, made)
                part.unlink(missing_ok=True)
                return ""
            self._set_aside(file, made or part)
            part.unlink(missing_ok=True)
            urls = urls[1:] + urls[:1]  # the second time begin with another place
        return f"{urls[-1]}: its {form.algorithm} was wrong twice, and not {form.checksum}"

    def _accept(self, file: File, form: Form, made: Path) -> None:
        """Give a checked file its final name."""
        with open(made, "rb") as stream:
            os.fsync(stream.fileno())
        path = self.path / file.name
        os.replace(made, path)
        self._remember(file, _state(path, form))

    def _gunzipped(self, form: Form, part: Path) -> Path | None:
        """Unpack a gzip file beside it; return None if it is not gzip."""
        made = part.with_suffix(".unpacked")
        limit = form.bytes or sys.maxsize
        try:
            with gzip.open(part) as source, open(made, "wb") as target:
                while (block := source.read(1 << 20)) and target.tell() <= limit:
                    target.write(block)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            made.unlink()
            return None
        return made

    def _set_aside(self, file: File, path: Path) -> None:
        aside = self.path / f"{file.name}.damaged"
        tell(f"{path}: its checksum is not the one wanted; set aside as {aside.name}")
        os.replace(path, aside)

    def _part(self, file: File, form: Form) -> Path:
        number = file.forms.index(form)
        return self.path / f"{file.name}.part{number + 1 if number else ''}"

    def _checked(self, file: File) -> Path:
        return self.path / f"{file.name}.checked"

    def _known(self, file: File) -> object:
        try:
            return json.loads(self._checked(file).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _remember(self, file: File, state: dict[str, object]) -> None:
        aside = self.path / f".{file.name}.checked"
        aside.write_text(json.dumps(state) + "\n", encoding="utf-8")
        os.replace(aside, self._checked(file))


def check_room(folder: Path, needed: int) -> None:
    """Raise if the disk of a folder lacks room for a number of bytes.

    :raises CorpusError: There is not enough room.
    """
    free = shutil.disk_usage(folder).free
    if needed and free < needed + _SPARE:
        raise CorpusError(
            f"{folder.resolve()}: {size_of(needed)} are still to be fetched and unpacked, but the"
            f" disk has {size_of(free)} free; make room, or name another folder"
        )


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _state(path: Path, form: Form) -> dict[str, object]:
    """Return what identifies a checked file: its size and time."""
    found = path.stat()
    return {
        "bytes": found.st_size,
        "mtime_ns": found.st_mtime_ns,
        form.algorithm: form.checksum,
    }


def _is_right(path: Path, form: Form) -> bool:
    if form.bytes is not None and path.stat().st_size != form.bytes:
        return False
    with open(path, "rb") as stream:
        return bool(hashlib.file_digest(stream, form.algorithm).hexdigest() == form.checksum)
