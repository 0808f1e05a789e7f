"""What may stand in the place of a file that a command opens, and the roles of such files.

A role follows from where a file is and how the command line names it, not from a list of names; see
`Role`. `CASES` are put in the place of a file, of a folder, or of something that does not exist.
"""

import contextlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

SECRET = b"hush hush\tsecret 17\nhush again\n"
"""Content of a file outside of the folder that a command works in."""

HUGE = 1 << 40
"""Bytes of a sparse file."""

HIDDEN_NAME = re.compile(r"\..+\.[0-9a-f]{16}(\.old)?")
"""Hidden names of outputs, which nobody can know before; see `nmtkit.io.temporary`."""

BINARISED_NAME = re.compile(r".+\.[0-9a-f]{8}\.(ids|offsets|json)")


class Role(Enum):
    """What a file is for a command."""

    INPUT = "input named by the user"
    OUTPUT = "output named by the user"
    RESULT = "file of an output folder"
    MODEL = "file of a model folder"
    CHECKPOINT = "file of a checkpoint"
    PREPARED = "file of a prepared folder"
    BINARISED = "file of the binarised corpus"
    LOCK = "lock"
    HIDDEN = "hidden file"
    FOLDER = "folder"


class State(Enum):
    """What is there before a command runs."""

    FILE = "file"
    FOLDER = "folder"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Place:
    """A path, what stood there, and a folder outside of the command's folder."""

    path: Path
    role: Role
    content: bytes
    elsewhere: Path

    @property
    def secret(self) -> Path:
        """A file outside that nobody may read or write."""
        return self.elsewhere / "secret"

    @property
    def copy(self) -> Path:
        """A file outside with the content of this one."""
        return self.elsewhere / "copy"

    @property
    def missing(self) -> Path:
        """A path outside where there is nothing."""
        return (self.elsewhere / "missing").with_suffix(self.path.suffix)


def fifo(place: Place) -> None:
    os.mkfifo(place.path)


def link_out(place: Place) -> None:
    """Link to a file outside: one that the user named may be such a link."""
    if place.role is Role.INPUT:
        place.copy.write_bytes(place.content)
        place.path.symlink_to(place.copy)
    elif place.role is Role.OUTPUT:
        place.path.symlink_to(place.missing)
    else:
        place.path.symlink_to(place.secret)


def dangling_link_out(place: Place) -> None:
    place.path.symlink_to(place.missing)


def folder_link_out(place: Place) -> None:
    place.path.symlink_to(place.elsewhere)


def device_link(place: Place) -> None:
    place.path.symlink_to("/dev/zero")


def device(place: Place) -> None:
    with contextlib.suppress(PermissionError):
        os.mknod(place.path, stat.S_IFCHR | 0o666, os.stat("/dev/zero").st_rdev)
        return
    device_link(place)


def loop(place: Place) -> None:
    place.path.symlink_to(place.path.name)


def folder(place: Place) -> None:
    place.path.mkdir()


def unreadable(place: Place) -> None:
    place.path.write_bytes(place.content)
    place.path.chmod(0)


def unreadable_folder(place: Place) -> None:
    place.path.mkdir()
    place.path.chmod(0)


def cut(place: Place) -> None:
    place.path.write_bytes(place.content[: len(place.content) // 2])


def empty(place: Place) -> None:
    place.path.write_bytes(b"")


def garbage(place: Place) -> None:
    place.path.write_bytes(b"\x00\xff{[garbage\n")


def huge(place: Place) -> None:
    place.path.write_bytes(place.content)
    os.truncate(place.path, HUGE)


def missing(place: Place) -> None:
    """Leave nothing there."""


def turned_bit(part: int, parts: int) -> Callable[[Place], None]:
    """Return a function that turns a bit of the byte at part / parts of a file."""

    def turn(place: Place) -> None:
        content = bytearray(place.content)
        if content:
            content[(len(content) - 1) * part // parts] ^= 1 << (3 * part + 1) % 8
        place.path.write_bytes(content)

    return turn


@dataclass(frozen=True)
class Case:
    """A kind of thing to put in the place of a file.

    changes: the file is still one that can be read, with another content.
    """

    name: str
    put: Callable[[Place], None]
    changes: bool = False


TURNED_BITS = 3
"""Positions of bits that are turned in a file, one at a time: from its first to its last byte."""

CASES: dict[State, tuple[Case, ...]] = {
    State.FILE: (
        Case("a FIFO", fifo),
        Case("a link out", link_out),
        Case("a link to a device", device_link),
        Case("a device", device),
        Case("a link to itself", loop),
        Case("a folder", folder),
        Case("unreadable", unreadable),
        Case("missing", missing),
        Case("empty", empty, changes=True),
        Case("cut", cut, changes=True),
        Case("huge", huge, changes=True),
        *(
            Case(f"bit {n} turned", turned_bit(n, TURNED_BITS - 1), changes=True)
            for n in range(TURNED_BITS)
        ),
    ),
    State.FOLDER: (
        Case("a FIFO", fifo),
        Case("a link out", folder_link_out),
        Case("a link to a device", device_link),
        Case("a link to itself", loop),
        Case("a file", garbage),
        Case("an empty folder", folder),
        Case("an unreadable folder", unreadable_folder),
        Case("missing", missing),
    ),
    State.NOTHING: (
        Case("a FIFO", fifo),
        Case("a link out", link_out),
        Case("a link to nothing", dangling_link_out),
        Case("a link to a device", device_link),
        Case("a folder", folder),
        Case("garbage", garbage),
    ),
}

Entry = tuple[str, bytes]
"""Kind of a file and its content, or a link's target."""

Tree = dict[Path, Entry]
"""Relative path -> what is there."""


def read_tree(folder_: Path) -> Tree:
    """Read all of a folder; huge and unreadable files only by their size."""
    tree: Tree = {}
    for parent, folders, files in os.walk(folder_):
        for name in folders + files:
            path = Path(parent, name)
            tree[path.relative_to(folder_)] = _entry(path)
    return tree


def _entry(path: Path) -> Entry:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return "link", os.fsencode(os.readlink(path))
    if not stat.S_ISREG(status.st_mode):
        return {stat.S_IFDIR: "folder", stat.S_IFIFO: "fifo"}.get(
            stat.S_IFMT(status.st_mode), "device"
        ), b""
    if status.st_size > HUGE // 2:
        return "huge file", b""
    try:
        return "file", path.read_bytes()
    except PermissionError:
        return "unreadable file", b""


def state_of(path: Path, tree: Tree) -> State:
    """Return what a tree has at a path."""
    kind = "folder" if path == Path() else tree.get(path, ("nothing", b""))[0]
    return {"folder": State.FOLDER, "nothing": State.NOTHING}.get(kind, State.FILE)


def role_of(path: Path, words: tuple[str, ...], before: Tree, after: Tree) -> Role | None:
    """Return the role of a file for a command, or None if it has none of the known roles.

    :param words: the command line. before, after: the folder before and after it.
    """
    known = before.keys() | after.keys()
    if any(HIDDEN_NAME.fullmatch(part) for part in path.parts):
        return Role.HIDDEN
    if str(path) in words and path not in before:
        return Role.OUTPUT
    if path == Path() or State.FOLDER in (state_of(path, before), state_of(path, after)):
        return Role.FOLDER
    if path.name == ".lock":
        return Role.LOCK
    for parent in path.parents[:-1]:
        if parent / "manifest.json" in known:
            return Role.BINARISED if BINARISED_NAME.fullmatch(path.name) else Role.PREPARED
        if parent / "config.toml" in known:
            inner = path.relative_to(parent)
            return Role.CHECKPOINT if inner.parts[0] == "checkpoints" else Role.MODEL
    if str(path) in words:
        return Role.INPUT if path in before and before.get(path) == after.get(path) else Role.OUTPUT
    return Role.RESULT if any(str(parent) in words for parent in path.parents[:-1]) else None


@contextlib.contextmanager
def peer(place: Place, received: list[bytes]) -> Iterator[None]:
    """Write to, or read from, a FIFO that the user named, once, while the block runs."""
    reads = place.role is Role.OUTPUT
    memory = os.memfd_create("received")
    child = os.fork()
    if not child:
        try:
            with open(place.path, "rb" if reads else "wb") as pipe:
                if reads:
                    os.write(memory, pipe.read())
                else:
                    pipe.write(place.content)
        finally:
            os._exit(0)
    try:
        yield
        for _ in range(100 if reads else 0):  # it may still be reading
            if os.waitpid(child, os.WNOHANG)[0]:
                child = 0
                break
            time.sleep(0.005)
    finally:
        if child:
            os.kill(child, 9)
            os.waitpid(child, 0)
    received.append(os.pread(memory, 1 << 20, 0))
    os.close(memory)
