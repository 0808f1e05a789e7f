"""Read texts from untrusted archives: only the requested members, and nothing else.

Member names are looked up in the list and never used as paths, and only regular files are read, so
that links and `..` in an archive have no effect. Members that end in .gz are unpacked, .sgm members
are read as segments; quotes and line ends are normalised (quotes.py) except in texts under raw/.

The two sides of a text, .en and .fr, must have the same number of lines and, if they are SGML, the
same segments; otherwise neither is written.
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
"""Texts under this folder are not changed."""

_BLOCK = 4 << 20

_DAMAGED = (
    tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile,
)  # fmt: skip

Opener = Callable[[], IO[bytes]]


@dataclass
class Text:
    """A text that is being written, under a temporary name.

    segments: keys of its sentences, if they come from SGML.
    """

    path: Path
    lines: int = 0
    segments: list[tuple[str, str]] = field(default_factory=list)


def unpack(archive: Path, texts: Mapping[str, str], output: Path) -> dict[str, int]:
    """Extract texts from an archive, all or none; return their numbers of lines.

    :param texts: Member of the archive by name of the text.
    :raises CorpusError: The archive is damaged, lacks a member, or two sides differ.
    """
    written: dict[str, Text] = {}
    try:
        for name in texts:
            path = output / name
            path.parent.mkdir(parents=True, exist_ok=True)
            written[name] = Text(path.with_name(f".{path.name}.tmp"))
        for member, stream in _members(archive, set(texts.values())):
            _write(
                member, stream, {n: written[n] for n, source in texts.items() if source == member}
            )
        _check_pairs(archive, written)
        for name, text in written.items():
            os.replace(text.path, output / name)
    except _DAMAGED as error:
        raise CorpusError(
            f"{archive}: damaged ({error}); remove it and download it again"
        ) from error
    finally:
        for text in written.values():
            text.path.unlink(missing_ok=True)
    return {name: text.lines for name, text in written.items()}


def _members(archive: Path, requested: set[str]) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield each requested member once, in the archive's order; read no further than needed."""
    remaining = set(requested)
    for path, stream in _zip_members(archive) if _is_zip(archive) else _tar_members(archive):
        name = path.removeprefix("./")
        if name not in remaining:
            continue
        if stream is None:
            raise CorpusError(f"{archive}: {name} is not a regular file, but a link or device")
        remaining.remove(name)
        with stream() as opened:
            yield name, opened
        if not remaining:
            return
    raise CorpusError(
        f"{archive}: it has no {', '.join(sorted(remaining))}; it is a different archive"
    )


def _is_zip(archive: Path) -> bool:
    """Return True for a zip file, by its first bytes: a tar file may end with a zip file."""
    with open(archive, "rb") as stream:
        return stream.read(4) == b"PK\x03\x04"


def _tar_members(archive: Path) -> Iterator[tuple[str, Opener | None]]:
    """Yield member names and a function that opens each; None unless it is a regular file."""
    with tarfile.open(archive) as tar:
        for info in tar:
            yield info.name, partial(_extracted, tar, info) if info.isreg() else None


def _extracted(tar: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    return cast(IO[bytes], tar.extractfile(info))


def _zip_members(archive: Path) -> Iterator[tuple[str, Opener | None]]:
    """Yield as `_tar_members`; Unix zips have the file type in the upper half of the attributes."""
    with zipfile.ZipFile(archive) as zip_file:
        for info in zip_file.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            regular = kind in (0, stat.S_IFREG) and not info.is_dir()
            yield info.filename, partial(zip_file.open, info) if regular else None


def _write(member: str, stream: IO[bytes], texts: Mapping[str, Text]) -> None:
    """Write one member as texts, normalised or unchanged, depending on their names."""
    with ExitStack() as stack:
        files = {name: stack.enter_context(open(text.path, "wb")) for name, text in texts.items()}
        if member.endswith(".sgm"):
            segments = sgm.segments(_decoded(member, stream.read()))
            blocks: Iterator[bytes] = iter(["".join(f"{seg.text}\n" for seg in segments).encode()])
            for text in texts.values():
                text.segments = [(seg.document, seg.number) for seg in segments]
        else:
            if member.endswith(".gz"):
                stream = cast(IO[bytes], stack.enter_context(gzip.open(stream)))
            blocks = _whole_lines(stream)
        for block in blocks:
            normalized = quotes.normalized(block)
            for name, text in texts.items():
                content = block if name.startswith(RAW) else normalized
                files[name].write(content)
                text.lines += content.count(b"\n")


def _decoded(member: str, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{member}: not UTF-8 at byte {error.start + 1}") from error


def _whole_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the content in blocks of whole lines; complete the last line with a newline."""
    remainder = b""
    while block := stream.read(_BLOCK):
        head, newline, tail = block.rpartition(b"\n")
        if newline:
            yield remainder + head + newline
            remainder = tail
        else:
            remainder += block
    if remainder:
        yield remainder + b"\n"


def _check_pairs(archive: Path, texts: Mapping[str, Text]) -> None:
    """Check that both sides of each text are parallel.

    :raises CorpusError: Two sides are not line-by-line translations.
    """
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
            src_segment, tgt_segment = next((s, t) for s, t in pairs if s != t)
            raise CorpusError(
                f"{archive}: {name.removesuffix('.en')}: segment {src_segment[1]} of"
                f" '{src_segment[0]}' stands where the other side has segment {tgt_segment[1]} of"
                f" '{tgt_segment[0]}'"
            )
