"""The list of a corpus's files: sources, sizes and checksums.

A list is TOML. `[sets]` names groups of files; each `[files.NAME]` has

    urls            sources, tried in this order
    bytes           its size, if known
    sha256 or md5   its checksum
    gunzip          true: the source is gzip; size and checksum are those of the unpacked content
    unpacked_bytes  disk space needed for the texts unpacked from it
    texts           texts unpacked from it (`TEXT = "member of the archive"`)
    elsewhere       urls, bytes and checksum of another archive with the same members, on another
                    host, used under the same name if the first is unavailable

A mirror may have its own files under the official names. It then has a `mirror.json` at its top,
whose sizes and checksums replace those of the list: use only mirrors that you trust.
"""

import json
import tomllib
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corpora import CorpusError
from corpora.download import RetryPolicy
from corpora.source import Unavailable, read_all

MANIFEST = "mirror.json"
_MAX_MANIFEST_BYTES = 1 << 20
"""Larger files are not read as a manifest."""


@dataclass(frozen=True)
class Form:
    """One form in which a file is available. `bytes` is None if the size is unknown."""

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
    """A file to download, in its preferred form or, if that is unavailable, in another."""

    name: str
    forms: tuple[Form, ...]
    unpacked_bytes: int = 0
    texts: Mapping[str, str] | None = None


def read_listing(path: Path) -> tuple[dict[str, File], dict[str, list[str]]]:
    """Return the files of a list by name, and the sets of file names.

    :raises CorpusError: It cannot be read, or is not such a list.
    """
    try:
        with open(path, "rb") as stream:
            content = tomllib.load(stream)
        files = {name: _file(name, entry) for name, entry in content["files"].items()}
        sets = dict(content.get("sets", {}))
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorpusError(f"{path}: not a list of files: {error}") from error
    for name, members in sets.items():
        for missing in set(members) - set(files):
            raise CorpusError(
                f"{path}: the set '{name}' has '{missing}', which is not a file of the list"
            )
    return files, sets


def _file(name: str, entry: dict[str, Any]) -> File:
    details = {key: entry.pop(key) for key in ("unpacked_bytes", "texts") if key in entry}
    others = [entry.pop("elsewhere")] if "elsewhere" in entry else []
    return File(name, tuple(_form(name, form) for form in (entry, *others)), **details)


def _form(name: str, entry: dict[str, Any]) -> Form:
    if "urls" not in entry:
        raise CorpusError(f"{name}: the list gives no urls")
    unknown = entry.keys() - Form.__annotations__.keys()
    if unknown:
        raise CorpusError(f"{name}: the list has the unknown key '{min(unknown)}'; remove it")
    form = Form(tuple(entry.pop("urls")), **entry)
    if not form.checksum:
        raise CorpusError(f"{name}: the list gives neither sha256 nor md5; add one of them")
    return form


def at_mirror(files: Sequence[File], mirror: str, retry_policy: RetryPolicy) -> list[File]:
    """Return the same files with a mirror as source: a URL or a folder.

    With a manifest, the mirror is the only source, with the manifest's checksums; without one it is
    tried before the official sources, for the official files. It has files under their official
    path or at its top.

    :raises CorpusError: The mirror does not exist, or its manifest lacks a file.
    """
    manifest = _manifest(mirror, retry_policy)
    if manifest is None:
        return [_with_mirror_first(file, mirror) for file in files]
    return [_from_manifest(file, mirror, manifest) for file in files]


def _with_mirror_first(file: File, mirror: str) -> File:
    forms = [
        replace(form, urls=(*_mirror_urls(file, form, mirror), *form.urls)) for form in file.forms
    ]
    return replace(file, forms=tuple(forms))


def _from_manifest(file: File, mirror: str, manifest: Mapping[str, Any]) -> File:
    try:
        entry = manifest["files"][file.name]
        form = Form(
            (_join(mirror, entry["path"]),), int(entry["bytes"]), sha256=str(entry["sha256"])
        )
        return replace(file, forms=(form,), unpacked_bytes=int(entry.get("unpacked_bytes", 0)))
    except (KeyError, TypeError, ValueError) as error:
        raise CorpusError(
            f"{_join(mirror, MANIFEST)}: no valid entry for {file.name} ({error}); build"
            " the mirror again"
        ) from error


def _manifest(mirror: str, retry_policy: RetryPolicy) -> Any:
    """Return the mirror's manifest, or None for a plain copy of the official files."""
    url = _join(mirror, MANIFEST)
    if "://" not in mirror and not Path(mirror).is_dir():
        raise CorpusError(f"{mirror}: no such folder; name the mirror's folder, or its URL")
    for round_number in range(1, retry_policy.rounds + 1):
        try:
            return json.loads(read_all(url, _MAX_MANIFEST_BYTES))
        except Unavailable as error:
            if error.missing:
                return None
            reason = str(error)
        except ValueError as error:
            raise CorpusError(f"{url}: not JSON: {error}; build the mirror again") from error
        if round_number < retry_policy.rounds:
            retry_policy.pause(f"{url}: {reason}", round_number)
    raise CorpusError(f"{url}: {reason}; is the mirror running?")


def _mirror_urls(file: File, form: Form, mirror: str) -> list[str]:
    paths = [urllib.parse.urlsplit(url).path.lstrip("/") for url in form.urls]
    return [_join(mirror, path) for path in dict.fromkeys([*paths, file.name])]


def _join(mirror: str, path: str) -> str:
    return f"{mirror.rstrip('/')}/{path}"
