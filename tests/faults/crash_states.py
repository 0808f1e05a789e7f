"""What may be on the disk after a loss of power, computed from a log of system calls.

As ALICE (Pillai et al., OSDI 2014) and CrashMonkey (Mohan et al., OSDI 2018) do, a crash is
simulated after each prefix of the recorded calls. The model of the disk is weaker than ext4, XFS
and btrfs are by default:

- The data of a file is on the disk if the file was synchronised after it was written. Of data that
  was not, all is on the disk ("kept"), nothing ("dropped": the file has the length that it had when
  it was last synchronised, at first 0), the first half of its bytes ("cut"), or zeros in its place
  ("zeros").
- A change of a folder's entries (a file or folder made, renamed, removed) is on the disk if that
  folder itself was synchronised afterwards. Of the changes that are not certain, in the order in
  which they were made, the first p are on the disk, for every p from none to all. A rename between
  two folders is one change, but each folder keeps its part once it is synchronised.
- To synchronise a file does not make its name certain, nor does a folder make its files' data so.
- Whether the name of a file is on the disk says nothing about its data.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.faults.shim import Call

Tree = dict[str, bytes]
"""Content of each file below a folder, by its relative path; folders end with a slash."""

VARIANTS = ("kept", "dropped", "cut", "zeros")
RENAME_EXCHANGE = 2
ROOT = 0
"""Object of the folder itself."""

Entry = tuple[int, str, int | None]
"""In this folder, this name now means this object, or nothing."""


@dataclass
class Operation:
    """One change, synchronisation or mark.

    data: at `offset` of file `object_`; None with an offset: the file is cut or extended to it.
    entries: what changes in folders. synced: object whose data or entries are now on the disk.
    """

    object_: int | None = None
    offset: int = 0
    data: bytes | None = None
    entries: Sequence[Entry] = ()
    synced: int | None = None
    mark: str = ""


@dataclass
class Recording:
    """The files before a run, and its operations in order.

    files: content of each file object at first. folders: objects that are folders.
    """

    files: dict[int, bytes] = field(default_factory=dict)
    folders: set[int] = field(default_factory=lambda: {ROOT})
    first_entries: list[Entry] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)

    def marks(self, prefix: int) -> list[str]:
        """Return the marks within the first operations."""
        return [operation.mark for operation in self.operations[:prefix] if operation.mark]

    def uncertain(self, prefix: int) -> int:
        """Return how many changes of entries are not certain after the first operations."""
        return len(self._uncertain(prefix))

    def has_unsynced_data(self, prefix: int) -> bool:
        """Return whether data that was written is not certain after the first operations."""
        synced = set()
        for operation in reversed(self.operations[:prefix]):
            synced.add(operation.synced)
            if operation.object_ is not None and operation.object_ not in synced:
                return True
        return False

    def state(self, prefix: int, kept: int | None = None, variant: str = "kept") -> Tree:
        """Return the files after a crash.

        :param prefix: number of operations before the crash.
        :param kept: how many uncertain changes of entries are on the disk; by default all.
        :param variant: what happens to data that was not synchronised, one of VARIANTS.
        """
        dropped = self._uncertain(prefix)[kept:] if kept is not None else []
        lost = {(number, entry) for number, entries in dropped for entry in entries}
        entries: dict[int, dict[str, int]] = {}
        for folder, name, object_ in self.first_entries:
            assert object_ is not None
            entries.setdefault(folder, {})[name] = object_
        for number, operation in enumerate(self.operations[:prefix]):
            for entry in operation.entries:
                if (number, entry) not in lost:
                    folder, name, new = entry
                    entries.setdefault(folder, {}).pop(name, None)
                    if new is not None:
                        entries[folder][name] = new
        contents = self._contents(prefix, variant)
        return dict(self._walk(ROOT, "", entries, contents))

    def _uncertain(self, prefix: int) -> list[tuple[int, list[Entry]]]:
        """Return the operations with entries whose folder was not synchronised afterwards."""
        synced: set[int | None] = set()
        found = []
        for number in range(prefix - 1, -1, -1):
            operation = self.operations[number]
            synced.add(operation.synced)
            entries = [entry for entry in operation.entries if entry[0] not in synced]
            if entries:
                found.append((number, entries))
        return found[::-1]

    def _contents(self, prefix: int, variant: str) -> dict[int, bytes]:
        """Return the content of each file on the disk."""
        last_sync = {
            operation.synced: number
            for number, operation in enumerate(self.operations[:prefix])
            if operation.synced is not None
        }
        contents = {object_: bytearray(data) for object_, data in self.files.items()}
        unsynced: dict[int, list[Operation]] = {}
        for number, operation in enumerate(self.operations[:prefix]):
            if operation.object_ is None:
                continue
            if number < last_sync.get(operation.object_, -1):
                _apply(contents[operation.object_], operation)
            else:
                unsynced.setdefault(operation.object_, []).append(operation)
        for object_, operations in unsynced.items():
            _apply_unsynced(contents[object_], operations, variant)
        return {object_: bytes(data) for object_, data in contents.items()}

    def _walk(
        self,
        folder: int,
        start: str,
        entries: dict[int, dict[str, int]],
        contents: dict[int, bytes],
    ) -> Iterator[tuple[str, bytes]]:
        for name, object_ in entries.get(folder, {}).items():
            if object_ in self.folders:
                yield f"{start}{name}/", b""
                yield from self._walk(object_, f"{start}{name}/", entries, contents)
            else:
                yield start + name, contents[object_]


def _apply(content: bytearray, operation: Operation) -> None:
    if operation.data is None:
        del content[operation.offset :]
        content.extend(bytes(operation.offset - len(content)))
    else:
        content.extend(bytes(max(0, operation.offset - len(content))))
        content[operation.offset : operation.offset + len(operation.data)] = operation.data


def _apply_unsynced(content: bytearray, operations: list[Operation], variant: str) -> None:
    """Apply operations whose data is not certain."""
    total = sum(len(operation.data or b"") for operation in operations)
    left = {"kept": total, "dropped": 0, "cut": total // 2, "zeros": 0}[variant]
    if variant == "dropped":
        return
    for operation in operations:
        if operation.data is None:
            _apply(content, operation)
            continue
        data = operation.data[:left]
        left -= len(data)
        if variant == "zeros":
            data = bytes(len(operation.data))
        if data:
            _apply(content, Operation(operation.object_, operation.offset, data))


class Recorder:
    """Turns a log of calls into a recording."""

    def __init__(self, root: str, before: Tree) -> None:
        """Begin with the files before the run, which are on the disk.

        :param root: the watched folder.
        """
        self._root = root
        self._count = ROOT
        self._names: dict[str, int] = {"": ROOT}  # path -> object, as the running process sees it
        self._inodes: dict[int, int] = {}
        self.recording = Recording()
        for path in sorted(before):
            object_ = self._new(path.endswith("/"))
            folder, name = self._place(path.rstrip("/"))
            self._names[path.rstrip("/")] = object_
            self.recording.first_entries.append((folder, name, object_))
            if not path.endswith("/"):
                self.recording.files[object_] = before[path]

    def add(self, call: Call) -> None:
        """Add a call.

        :raises ValueError: the model has no such call.
        """
        if call.name == "mark":
            self.recording.operations.append(Operation(mark=call.path))
        elif call.result >= 0:
            path, other = (self._relative(name) for name in (call.path, call.other))
            handler = getattr(self, f"_{call.kind}", None)
            if handler is not None:
                handler(call, path, other)

    def _relative(self, path: str) -> str:
        return path[len(self._root) + 1 :]

    def _new(self, is_folder: bool) -> int:
        self._count += 1
        if is_folder:
            self.recording.folders.add(self._count)
        else:
            self.recording.files[self._count] = b""
        return self._count

    def _place(self, path: str) -> tuple[int, str]:
        folder, _, name = path.rpartition("/")
        return self._names[folder], name

    def _change(self, *entries: Entry) -> None:
        self.recording.operations.append(Operation(entries=entries))

    def _open(self, call: Call, path: str, _: str) -> None:
        self._inodes[call.inode] = self._names[path]

    def _create(self, call: Call, path: str, _: str) -> None:
        if path not in self._names:
            self._names[path] = self._new(False)
            self._change((*self._place(path), self._names[path]))
        self._inodes[call.inode] = self._names[path]
        if call.flags & os.O_TRUNC:
            self.recording.operations.append(Operation(self._names[path]))

    def _make(self, call: Call, path: str, _: str) -> None:
        if not call.name.startswith("mkdir"):
            raise ValueError(call.name)
        self._names[path] = self._new(True)
        self._change((*self._place(path), self._names[path]))

    def _write(self, call: Call, _: str, __: str) -> None:
        object_ = self._inodes.get(call.inode)
        if object_ is None and call.path.endswith("/stdout"):
            return
        assert object_ is not None and len(call.data) == call.result, call
        self.recording.operations.append(Operation(object_, call.offset, call.data))

    def _truncate(self, call: Call, path: str, _: str) -> None:
        object_ = self._names[path] if call.name == "truncate" else self._inodes[call.inode]
        self.recording.operations.append(Operation(object_, call.length))

    def _sync(self, call: Call, _: str, __: str) -> None:
        self.recording.operations.append(Operation(synced=self._inodes[call.inode]))

    def _rename(self, call: Call, path: str, other: str) -> None:
        old, new = self._place(path), self._place(other)
        if call.flags & RENAME_EXCHANGE:
            self._change((*old, self._names[other]), (*new, self._names[path]))
            ours, theirs = self._take(path), self._take(other)
            self._put(other, ours)
            self._put(path, theirs)
            return
        self._change((*old, None), (*new, self._names[path]))
        moved = self._take(path)
        self._take(other)
        self._put(other, moved)

    def _remove(self, _: Call, path: str, __: str) -> None:
        self._change((*self._place(path), None))
        self._take(path)

    def _link(self, call: Call, path: str, other: str) -> None:
        if call.name.startswith("symlink"):
            raise ValueError(call.name)
        self._names[other] = self._names[path]
        self._change((*self._place(other), self._names[path]))

    def _map(self, call: Call, _: str, __: str) -> None:
        if call.flags:
            raise ValueError("a file is written through memory")

    def _take(self, path: str) -> dict[str, int]:
        """Remove a path and all below it from the names; return them, relative to it."""
        names = [n for n in self._names if n == path or n.startswith(f"{path}/")]
        return {name[len(path) :]: self._names.pop(name) for name in names}

    def _put(self, path: str, names: dict[str, int]) -> None:
        self._names |= {path + name: object_ for name, object_ in names.items()}


def record(root: str, before: Tree, calls: Sequence[Call]) -> Recording:
    """Turn a log into a recording.

    :param root: the watched folder.
    :param before: its files before the run.
    """
    recorder = Recorder(root, before)
    for call in calls:
        recorder.add(call)
    return recorder.recording
