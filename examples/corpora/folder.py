"""The folder that files are fetched into, and what is known of those that lie there.

NAME            whole, and checked
NAME.part       a download that is not finished; it goes on from its end
NAME.damaged    what had the wrong checksum
NAME.checked    size, time and checksum of NAME when it was checked: it is read once, not at
                every start, also where it was put there by hand
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
from corpora.listing import File
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
        """Whether the file is there and right. It is read unless that is known already."""
        path = self.path / file.name
        if not path.is_file():
            return False
        state = _state(path, file)
        if self._known(file) == state:
            return True
        if not _is_right(path, file):
            return False
        self._remember(file, state)
        return True

    def obtain(self, file: File) -> None:
        """Have the file, whole and right, under its name; it is fetched where it is not there.

        :raises CorpusError: it cannot be had.
        """
        path = self.path / file.name
        if self.has(file):
            return
        if path.exists():
            self._set_aside(file, path)
        urls = list(file.urls)
        for _ in range(2):
            if self._fetched(file, urls):
                tell(f"{path}: fetched and checked")
                return
            urls = urls[1:] + urls[:1]  # the second time begin with another place
        raise CorpusError(
            f"{file.name}: its {_named(file)} was wrong twice, the last one is kept as"
            f" {path}.damaged; {self._by_hand(file)}"
        )

    def missing(self, files: Iterable[File]) -> int:
        """Bytes that are still to come of these files; files of unknown size count as none."""
        lacking = 0
        for file in files:
            if not (self.path / file.name).is_file():
                part = self._part(file)
                here = part.stat().st_size if part.is_file() else 0
                lacking += max((file.bytes or 0) - here, 0)
        return lacking

    def _fetched(self, file: File, urls: list[str]) -> bool:
        """Whether a download gave the right file; what is wrong is set aside."""
        part = self._part(file)
        try:
            download(urls, part, None if file.gunzip else file.bytes, self.patience)
            made = self._gunzipped(file, part) if file.gunzip else part
        except Unavailable as error:
            raise CorpusError(
                f"{file.name}: not fetched: {error}; {self._by_hand(file)}"
            ) from error
        if made is None or not _is_right(made, file):
            self._set_aside(file, made or part)
            part.unlink(missing_ok=True)
            return False
        with open(made, "rb") as stream:
            os.fsync(stream.fileno())
        path = self.path / file.name
        os.replace(made, path)
        part.unlink(missing_ok=True)
        self._remember(file, _state(path, file))
        return True

    def _gunzipped(self, file: File, part: Path) -> Path | None:
        """What is in the gzip file, in a file beside it; None where it is none."""
        made = part.with_suffix(".unpacked")
        limit = file.bytes or sys.maxsize
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
        tell(f"{path}: its {_named(file)} is not the one wanted; set aside as {aside.name}")
        os.replace(path, aside)

    def _by_hand(self, file: File) -> str:
        return (
            f"run it again when the network is there, or put {file.name} into"
            f" {self.path.resolve()} by hand, or name a mirror that has it"
        )

    def _part(self, file: File) -> Path:
        return self.path / f"{file.name}.part"

    def _known(self, file: File) -> object:
        try:
            return json.loads((self.path / f"{file.name}.checked").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _remember(self, file: File, state: dict[str, object]) -> None:
        aside = self.path / f".{file.name}.checked"
        aside.write_text(json.dumps(state) + "\n", encoding="utf-8")
        os.replace(aside, self.path / f"{file.name}.checked")


def check_room(folder: Path, needed: int) -> None:
    """See that so many bytes fit onto the disk of a folder.

    :raises CorpusError: they do not.
    """
    free = shutil.disk_usage(folder).free
    if needed and free < needed + _SPARE:
        raise CorpusError(
            f"{folder.resolve()}: {size_of(needed)} are still to be fetched and unpacked, but the"
            f" disk has {size_of(free)} free; make room, or name another folder"
        )


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _named(file: File) -> str:
    return "sha256" if file.sha256 else "md5"


def _state(path: Path, file: File) -> dict[str, object]:
    """What a checked file is known by: a change of it changes its size or its time."""
    found = path.stat()
    checksum = file.sha256 or file.md5
    return {"bytes": found.st_size, "mtime_ns": found.st_mtime_ns, _named(file): checksum}


def _is_right(path: Path, file: File) -> bool:
    if file.bytes is not None and path.stat().st_size != file.bytes:
        return False
    with open(path, "rb") as stream:
        found = hashlib.file_digest(stream, _named(file)).hexdigest()
    return bool(found == (file.sha256 or file.md5))
