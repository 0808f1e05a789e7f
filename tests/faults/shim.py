"""Record the system calls of a process below a folder, or disturb one of them.

`build_shim` compiles `shim.c`; `Shim.arm` makes the calling process, usually a fork, watch its own
calls from then on. The shim is a seccomp filter, so that it sees also the calls that native
libraries make without libc, as safetensors does when it renames a file. Only Linux on x86-64.
"""

import ctypes
import errno
import mmap
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).with_name("shim.c")

KINDS = (
    "open", "create", "read", "write", "rename", "sync", "remove", "make", "truncate", "link",
    "map", "lock", "close", "status", "list", "mode",
)  # fmt: skip
"""Kinds of calls, in the order of `enum kind`. "create" opens a file to write, "map" is mmap of a
file, "status" is stat, access and readlink, "list" is getdents."""

ACTIONS = ("nothing", "fail", "shorten", "kill before", "kill after", "kill inside", "terminate")
"""In the order of `enum action`. "shorten" reads or writes half; "kill inside" writes half first;
"terminate" raises SIGTERM."""

ERRORS = {
    "open": (errno.EACCES, errno.EMFILE),
    "create": (errno.ENOSPC, errno.EACCES),
    "read": (errno.EIO,),
    "write": (errno.ENOSPC, errno.EIO),
    "rename": (errno.EIO, errno.ENOSPC),
    "sync": (errno.EIO, errno.ENOSPC),
    "remove": (errno.EIO, errno.EACCES),
    "make": (errno.ENOSPC, errno.EACCES),
    "truncate": (errno.EIO, errno.ENOSPC),
    "link": (errno.EPERM, errno.ENOSPC),
    "map": (errno.ENOMEM, errno.ENODEV),
    "lock": (errno.ENOLCK, errno.EOPNOTSUPP),
    "close": (errno.EIO,),
    "status": (errno.EACCES, errno.EIO),
    "list": (errno.EIO,),
    "mode": (errno.EPERM, errno.EIO),
}
"""Errors with which calls of each kind fail, the likeliest first."""

_RECORD = struct.Struct("<IIqQQQQIIII")


class Call(NamedTuple):
    """A recorded call.

    name: as in the manual; "mark" for a line of `Shim.mark`, whose text is in `path`.
    result: as from the kernel: negative errors. offset: for "create" nonzero if the file is new.
    data: what was written, if it was recorded. hit: the action it was disturbed with.
    """

    name: str
    kind: str
    result: int
    inode: int
    offset: int
    length: int
    flags: int
    path: str
    other: str
    data: bytes
    hit: str


class Fault(NamedTuple):
    """What to do at a call.

    at: its number among the calls of these kinds, from 1. sticky: do it at all later ones, too.
    """

    action: str = "nothing"
    at: int = 0
    error: int = 0
    kinds: tuple[str, ...] = KINDS
    sticky: bool = False


class Shim:
    """The compiled shim, loaded into this process."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.fault_name.restype = ctypes.c_char_p
        self._shared = mmap.mmap(-1, 4)  # forks count together
        self._count = ctypes.c_uint.from_buffer(self._shared)

    def arm(self, folder: Path, fault: Fault, log: Path | None, data: bool = False) -> None:
        """Watch the calls of this process below a folder until it ends; call this once.

        :param folder: with symbolic links resolved.
        :param log: record the calls in this file, outside of the folder.
        :param data: record what is written.
        :raises OSError: this system cannot trap calls.
        """
        kinds = sum(1 << KINDS.index(kind) for kind in fault.kinds)
        failed = self._library.fault_arm(
            str(folder).encode(),
            None if log is None else str(log).encode(),
            kinds,
            fault.at,
            ACTIONS.index(fault.action),
            fault.error,
            fault.sticky,
            data,
            ctypes.byref(self._count),
        )
        if failed:
            raise OSError("this system has no seccomp filters that trap")

    def reset(self) -> None:
        """Set the count of calls to 0, before a fork is armed."""
        self._count.value = 0

    def mark(self, text: str) -> None:
        """Add a line to the log of this process."""
        self._library.fault_mark(text.encode())

    def read_log(self, log: Path) -> list[Call]:
        """Return the recorded calls."""
        return list(self._parse(log.read_bytes()))

    def _parse(self, content: bytes) -> Iterator[Call]:
        position = 0
        while position < len(content):
            call, kind, result, inode, offset, length, flags, *sizes, hit = _RECORD.unpack_from(
                content, position
            )
            position += _RECORD.size
            parts = []
            for size in sizes:
                parts.append(content[position : position + size])
                position += size
            path, other = (part.decode() for part in parts[:2])
            name = self._library.fault_name(call).decode()
            yield Call(
                name, KINDS[kind], result, inode, offset, length, flags, path, other, parts[2],
                ACTIONS[hit],
            )  # fmt: skip


def build_shim(folder: Path) -> Shim | None:
    """Compile and load the shim; return None where there is no compiler, or no such system."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library = folder / "shim.so"
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
    if subprocess.run(command, capture_output=True, timeout=60).returncode:
        return None
    return Shim(library)
