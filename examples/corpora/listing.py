"""The list of a corpus's files: where they are to be had, and what proves that they are right.

A list is TOML. `[sets]` names groups of files; each `[files.NAME]` has

    urls            where it lies, tried in this order
    bytes           its size, where that is known
    sha256 or md5   its checksum
    gunzip          true: what lies there is gzip; size and checksum are of what is in it
    unpacked_bytes  how much room is needed for what is unpacked from it
    texts           names of what is unpacked from it (`TEXT = "member of the archive"`)
    elsewhere       urls, bytes and checksum of another archive of the same members, on another
                    host, for when the first cannot be had; it gets the same name

A mirror may hold files of its own under the names of the official ones. It then says so itself, in
`mirror.json` at its top, whose sizes and checksums count in place of the list's: whoever names such
a mirror trusts it.
"""

import json
import tomllib
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corpora import CorpusError
from corpora.download import Patience
from corpora.source import Unavailable, read_all

MANIFEST = "mirror.json"
_ABOUT_MANIFEST = 1 << 20
"""Bytes that no manifest has."""


@dataclass(frozen=True)
class Form:
    """One form in which a file is to be had. `bytes` is None where the size is not known."""

    urls: tuple[str, ...]
    bytes: int | None = None
    sha256: str = ""
    md5: str = ""
    gunzip: bool = False

    @property
    def algorithm(self) -> str:
        return "sha256" if self.sha256 else "md5"

    @property
    def checksum(self) -> str:
        return self.sha256 or self.md5


@dataclass(frozen=True)
class File:
    """One file to be had, in the form wanted most or, where that is not to be had, in another."""

    name: str
    forms: tuple[Form, ...]
    unpacked_bytes: int = 0
    texts: Mapping[str, str] | None = None


def read_listing(path: Path) -> tuple[dict[str, File], dict[str, list[str]]]:
    """The files of a list by name, and the sets with the names of theirs.

    :raises CorpusError: it cannot be read, or is no such list.
    """
    try:
        with open(path, "rb") as stream:
            content = tomllib.load(stream)
        files = {name: _file(name, entry) for name, entry in content["files"].items()}
        sets = content.get("sets", {})
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{path}: not a list of files: {error}") from error
    for name, members in sets.items():
        for missing in set(members) - set(files):
            raise CorpusError(f"{path}: the set '{name}' has '{missing}', which is no file of it")
    return files, sets


def _file(name: str, entry: dict[str, Any]) -> File:
    own = {key: entry.pop(key) for key in ("unpacked_bytes", "texts") if key in entry}
    others = [entry.pop("elsewhere")] if "elsewhere" in entry else []
    return File(name, tuple(_form(name, form) for form in (entry, *others)), **own)


def _form(name: str, entry: dict[str, Any]) -> Form:
    form = Form(tuple(entry.pop("urls")), **entry)
    if not form.checksum:
        raise CorpusError(f"{name}: the list gives neither sha256 nor md5; add one of them")
    return form


def at_mirror(files: Sequence[File], mirror: str, patience: Patience) -> list[File]:
    """The same files as a mirror has them: a URL, or a folder.

    With a manifest, only the mirror is asked, and for what the manifest says; without one it is
    asked before the official places, for the official files. Files lie there under the path that
    they have at the official place, or at the top.

    :raises CorpusError: the mirror is not there, or its manifest lacks a file.
    """
    manifest = _manifest(mirror, patience)
    if manifest is None:
        return [_asked_first(file, mirror) for file in files]
    return [_as_listed(file, mirror, manifest) for file in files]


def _asked_first(file: File, mirror: str) -> File:
    forms = [replace(form, urls=(*_places(file, form, mirror), *form.urls)) for form in file.forms]
    return replace(file, forms=tuple(forms))


def _as_listed(file: File, mirror: str, manifest: Mapping[str, Any]) -> File:
    try:
        entry = manifest["files"][file.name]
        form = Form(
            (_join(mirror, entry["path"]),), int(entry["bytes"]), sha256=str(entry["sha256"])
        )
        return replace(file, forms=(form,), unpacked_bytes=int(entry.get("unpacked_bytes", 0)))
    except (KeyError, TypeError, ValueError) as error:
        raise CorpusError(
            f"{_join(mirror, MANIFEST)}: nothing usable about {file.name} ({error}); make the"
            " mirror anew"
        ) from error


def _manifest(mirror: str, patience: Patience) -> Any:
    """What the mirror says of itself, or None where it is a plain copy of the official places."""
    place = _join(mirror, MANIFEST)
    if "://" not in mirror and not Path(mirror).is_dir():
        raise CorpusError(f"{mirror}: no such folder; name the mirror's folder, or its URL")
    for tries in range(1, patience.rounds + 1):
        try:
            return json.loads(read_all(place, _ABOUT_MANIFEST))
        except Unavailable as error:
            if error.missing:
                return None
            reason = str(error)
        except ValueError as error:
            raise CorpusError(f"{place}: not JSON: {error}; make the mirror anew") from error
        if tries < patience.rounds:
            patience.pause(tries)
    raise CorpusError(f"{place}: {reason}; is the mirror running?")


def _places(file: File, form: Form, mirror: str) -> list[str]:
    paths = [urllib.parse.urlsplit(url).path.lstrip("/") for url in form.urls]
    return [_join(mirror, path) for path in dict.fromkeys([*paths, file.name])]


def _join(mirror: str, path: str) -> str:
    return f"{mirror.rstrip('/')}/{path}"
