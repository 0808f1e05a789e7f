"""Zip files of OPUS in Moses's form: a file for each language, beside a README and a licence.

    en-fr.txt.zip: Name.en-fr.en, Name.en-fr.fr, README, LICENSE

The two are picked by the language that their names end in, and read from the archive as a stream.
Nothing is unpacked to the disk, and no name in the archive is used as a path.
"""

import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import PurePosixPath
from typing import IO

from nmtkit.errors import DataError
from nmtkit.io.compression import CHUNK
from nmtkit.io.inputs import HashedFile, Source, open_source
from nmtkit.io.language_tags import best_matches

ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
"""First bytes of a zip file."""

MAX_LISTED = 8
"""Members that a message lists."""

ZIP_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError)


def open_members(
    source: Source, languages: tuple[str, str], stack: ExitStack
) -> tuple[tuple[str, str], list[Iterator[bytes]]]:
    """Open the members of two languages.

    :param stack: closes the archive.
    :return: for each language `x.zip:member`, for messages, and the bytes of the member.
    :raises DataError: the archive is a pipe, is damaged or encrypted, or has not one member for
        each language.
    """
    archive = _open_archive(source, stack)
    members = [_member_of(archive, language, source) for language in languages]
    if members[0] is members[1]:
        raise _unsuitable(archive, source, f"one member for {' and '.join(languages)}")
    names = [f"{source}:{shown_member(member.filename)}" for member in members]
    sides = [_read(archive, *which, stack) for which in zip(members, names, strict=True)]
    return (names[0], names[1]), sides


def _open_archive(source: Source, stack: ExitStack) -> zipfile.ZipFile:
    opened = open_source(source.source if isinstance(source, HashedFile) else source)
    try:
        stream = stack.enter_context(opened)
        if not stream.seekable() or (stream is sys.stdin.buffer):
            raise DataError(
                f"{source}: a zip file cannot be read from a pipe; write it to a file first"
            )
        return stack.enter_context(zipfile.ZipFile(stream))
    except (*ZIP_DAMAGE, MemoryError) as error:
        raise DataError(
            f"{source}: damaged or incomplete zip file; fetch or make it again"
        ) from error


def _member_of(archive: zipfile.ZipFile, language: str, source: Source) -> zipfile.ZipInfo:
    """Return the member whose name ends in a language."""
    members = [
        member
        for member in archive.infolist()
        if not member.filename.endswith("/")
        and not PurePosixPath(member.filename).name.startswith("._")
    ]
    suffixes = [PurePosixPath(member.filename).suffix[1:] for member in members]
    indices = best_matches(language, suffixes)
    if len(indices) != 1:
        what = "several members" if indices else "no member"
        end = "names end" if indices else "name ends"
        raise _unsuitable(archive, source, f"{what} whose {end} in '.{language}'")
    return members[indices[0]]


def _unsuitable(archive: zipfile.ZipFile, source: Source, what: str) -> DataError:
    names = [shown_member(name) for name in archive.namelist()]
    more = f" and {len(names) - MAX_LISTED:,} more" if len(names) > MAX_LISTED else ""
    listed = ", ".join(names[:MAX_LISTED]) or "none"
    return DataError(
        f"{source}: {what}; its members are {listed}{more}; unpack it and give two files"
    )


def shown_member(name: str) -> str:
    """Return the name of a member for messages: on one line, and not too long."""
    return repr(name)[1:-1][:100]


def _read(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, stack: ExitStack
) -> Iterator[bytes]:
    """Yield the bytes of a member; its checksum is verified at the end."""
    if member.flag_bits & 1:
        raise DataError(f"{name}: is encrypted; unpack it and give two files")
    try:
        stream = stack.enter_context(archive.open(member))
    except (*ZIP_DAMAGE, RuntimeError) as error:
        raise _damaged(name) from error
    return _chunks(stream, name)


def _chunks(stream: IO[bytes], name: str) -> Iterator[bytes]:
    try:
        while chunk := stream.read(CHUNK):
            yield chunk
    except ZIP_DAMAGE as error:
        raise _damaged(name) from error


def _damaged(name: str) -> DataError:
    return DataError(f"{name}: damaged or incomplete in the zip file; fetch or make it again")
