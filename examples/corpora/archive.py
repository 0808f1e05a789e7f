"""Texts out of an archive of others: only the members asked for, and nothing else it holds.

Names of members are looked up in the list and never used as paths, and only regular files are read:
whatever else an archive holds, links and `..` among it, reaches no file. Members that end in .gz
are unpacked, those in .sgm read as segments; quotes and line ends are normalised (quotes.py) except
in texts under raw/.

A text has a partner of the same name, .en and .fr: they have the same number of lines, and where
they are SGML the same segments, else neither appears.
"""

import gzip
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, cast

from corpora import CorpusError, quotes, sgm

RAW = "raw/"
"""Texts under this folder are left as they are."""

_BLOCK = 4 << 20

_DAMAGED = (
    tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile,
)  # fmt: skip

Opener = Callable[[], IO[bytes]]


@dataclass
class Text:
    """A text that is being made, under a name that is not yet its own.

    segments: what its sentences are known by, where they come from SGML.
    """

    path: Path
    lines: int = 0
    segments: list[tuple[str, str]] = field(default_factory=list)


def unpack(archive: Path, texts: Mapping[str, str], output: Path) -> dict[str, int]:
    """Make texts of the members of an archive, all of them or none; the lines of each.

    :param texts: names of texts, each with its member.
    :raises CorpusError: the archive is damaged, or lacks a member, or two sides differ.
    """
    made: dict[str, Text] = {}
    try:
        for name in texts:
            path = output / name
            path.parent.mkdir(parents=True, exist_ok=True)
            made[name] = Text(path.with_name(f".{path.name}.tmp"))
        for member, stream in _members(archive, set(texts.values())):
            _write(member, stream, {n: made[n] for n, of in texts.items() if of == member})
        _check_pairs(archive, made)
        for name, text in made.items():
            os.replace(text.path, output / name)
    except _DAMAGED as error:
        raise CorpusError(f"{archive}: damaged ({error}); remove it and fetch it anew") from error
    finally:
        for text in made.values():
            text.path.unlink(missing_ok=True)
    return {name: text.lines for name, text in made.items()}


def _members(archive: Path, wanted: set[str]) -> Iterator[tuple[str, IO[bytes]]]:
    """The wanted members as they come, each once; the archive is read no further than needed."""
    left = set(wanted)
    for path, stream in _of_zip(archive) if _is_zip(archive) else _of_tar(archive):
        name = path.removeprefix("./")
        if name not in left:
            continue
        if stream is None:
            raise CorpusError(f"{archive}: {name} is no regular file, but a link or device")
        left.remove(name)
        with stream() as opened:
            yield name, opened
        if not left:
            return
    raise CorpusError(f"{archive}: it has no {', '.join(sorted(left))}; it is another archive")


def _is_zip(archive: Path) -> bool:
    """By how it begins: a tar file that ends with a zip file is none."""
    with open(archive, "rb") as stream:
        return stream.read(4) == b"PK\x03\x04"


def _of_tar(archive: Path) -> Iterator[tuple[str, Opener | None]]:
    """The members' names, and what opens each; None where it is no regular file."""
    with tarfile.open(archive) as tar:
        for info in tar:
            yield info.name, partial(_extracted, tar, info) if info.isreg() else None


def _extracted(tar: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    return cast(IO[bytes], tar.extractfile(info))


def _of_zip(archive: Path) -> Iterator[tuple[str, Opener | None]]:
    """As `_of_tar`. The upper half of a member's attributes is its kind, if Unix packed it."""
    with zipfile.ZipFile(archive) as made:
        for info in made.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            regular = kind in (0, stat.S_IFREG) and not info.is_dir()
            yield info.filename, partial(made.open, info) if regular else None


def _write(member: str, stream: IO[bytes], texts: Mapping[str, Text]) -> None:
    """Write one member as texts: in one form, or as it is, by their names."""
    with ExitStack() as stack:
        files = {name: stack.enter_context(open(text.path, "wb")) for name, text in texts.items()}
        if member.endswith(".sgm"):
            found = sgm.segments(_decoded(member, stream.read()))
            blocks: Iterator[bytes] = iter(["".join(f"{seg.text}\n" for seg in found).encode()])
            for text in texts.values():
                text.segments = [(seg.document, seg.number) for seg in found]
        else:
            if member.endswith(".gz"):
                stream = cast(IO[bytes], stack.enter_context(gzip.open(stream)))
            blocks = _whole_lines(stream)
        for block in blocks:
            uniform = quotes.normalized(block)
            for name, text in texts.items():
                written = block if name.startswith(RAW) else uniform
                files[name].write(written)
                text.lines += written.count(b"\n")


def _decoded(member: str, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{member}: not UTF-8 at byte {error.start + 1}") from error


def _whole_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The content in blocks that end with a line; the last line gets its newline."""
    rest = b""
    while block := stream.read(_BLOCK):
        head, newline, tail = block.rpartition(b"\n")
        if newline:
            yield rest + head + newline
            rest = tail
        else:
            rest += block
    if rest:
        yield rest + b"\n"


def _check_pairs(archive: Path, texts: Mapping[str, Text]) -> None:
    """:raises CorpusError: two sides are no line by line translations."""
    for name, src in texts.items():
        if not name.endswith(".en"):
            continue
        tgt = texts[f"{name.removesuffix('.en')}.fr"]
        if src.lines != tgt.lines:
            raise CorpusError(
                f"{archive}: the sides of {name.removesuffix('.en')} differ: {src.lines:,} English"
                f" and {tgt.lines:,} French lines"
            )
        if src.segments and tgt.segments and src.segments != tgt.segments:
            pairs = zip(src.segments, tgt.segments, strict=True)
            here, there = next((s, t) for s, t in pairs if s != t)
            raise CorpusError(
                f"{archive}: {name.removesuffix('.en')}: segment {here[1]} of '{here[0]}' stands"
                f" where the other side has segment {there[1]} of '{there[0]}'"
            )
