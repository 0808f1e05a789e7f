"""Keys of clients: made at random, kept as their SHA-256, compared in constant time.

A key has 256 random bits, so its plain hash tells nothing of it. A file of keys has a line for
each:

    # hash                                                              name
    9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08    omegat
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from nmtkit.errors import DataError
from nmtkit.io.lines import open_output, read_lines

MAX_KEY = 500
"""Characters of a key that are looked at."""

_ENTRY = re.compile(r"([0-9a-f]{64})\s+([\w.@-]{1,64})\s*", re.ASCII)

_NAME = re.compile(r"[\w.@-]{1,64}", re.ASCII)


class Keys:
    """The keys of a file.

    names: whose keys they are.

    :param hashes: SHA-256 of each key, and whose it is.
    """

    def __init__(self, hashes: Mapping[str, str]) -> None:
        self.names = set(hashes.values())
        self._hashes = [(bytes.fromhex(digest), name) for digest, name in hashes.items()]

    @classmethod
    def read(cls, path: Path) -> "Keys":
        """Read a file of keys.

        :raises DataError: it cannot be read, or a line is no entry.
        """
        hashes: dict[str, str] = {}
        for number, line in enumerate(read_lines(path), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            entry = _ENTRY.fullmatch(line.strip())
            if entry is None:
                raise DataError(
                    f"{path}:{number}: not an entry of a key; 'nmtkit serve --new-key NAME --keys"
                    f" {path}' writes one"
                )
            hashes[entry[1]] = entry[2]
        return cls(hashes)

    def owner(self, key: str) -> str | None:
        """Return the name that belongs to a key, or None; the time does not depend on the key."""
        digest = hashlib.sha256(key[:MAX_KEY].encode("utf-8", "replace")).digest()
        found = None
        for stored, name in self._hashes:
            if hmac.compare_digest(stored, digest):
                found = name
        return found


def add_key(path: Path, name: str, output: TextIO) -> None:
    """Make a key, write it, and add its hash to a file, which is made if it is missing.

    The key is written first: a hash whose key is lost would be of no use.

    :param name: whose it is; letters, digits, `.`, `@`, `_` and `-`.
    :param output: for the key, which is stored nowhere else.
    :raises DataError: the name has other characters or a key, or the file is not one of keys.
    """
    if not _NAME.fullmatch(name):
        raise DataError(
            f"--new-key {name}: a name has 1 to 64 letters, digits and characters of '.@_-'"
        )
    text = "# SHA-256 of the key, and its owner\n"
    if path.exists():
        if name in Keys.read(path).names:
            raise DataError(
                f"{path}: has a key of {name}; give another name to --new-key, or remove the line"
            )
        text = "".join(f"{line}\n" for line in read_lines(path))
    key = secrets.token_urlsafe(32)
    digest = hashlib.sha256(key.encode()).hexdigest()
    output.write(f"{key}\n")
    output.flush()
    with open_output(path, force=True) as file:
        file.write(f"{text}{digest}    {name}\n")
