"""Who is served next: lines of like tasks in pieces, fairly among clients and their requests.

Lines wait in queues, one for each model and task, because only those are searched together. The
next piece is of a queue with the client who has waited longest, however many queues others have. It
takes one line of each client in turn, and of each of a client's requests in turn, until it is worth
`PIECE_SECONDS`. So a book is translated a few lines at a time, and a sentence that comes later is
in the next piece. A line that is worth more is a piece of its own. First lines of many requests may
be worth `CROWD_SECONDS`: if many wait, lines that are searched together are sooner done.
"""

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, NamedTuple, Protocol, TypeVar

PIECE_SECONDS = 0.2
"""Estimated time of a piece; a line that comes meanwhile waits as long for its turn."""

CROWD_SECONDS = 0.5
"""Estimated time of a piece with one line of each of many requests."""

MAX_LINES = 64
"""Lines of a piece; more make search no faster."""

MIN_SHARE = 8
"""Lines of a piece at least, if there are as many, though other cores are free."""

FIRST_SIZE = 1_000.0
"""Characters of a piece before a model was measured."""

MIN_SIZE, MAX_SIZE = 50.0, 100_000.0
"""Bounds of the characters of a piece."""

FADING = 0.95
"""Weight of what was known of a model's speed when a piece was measured."""

MAX_FITS = 1_000
"""Models and tasks whose speed is remembered."""


class Request(Protocol):
    """A request that has lines."""

    @property
    def client(self) -> Hashable:
        """Who sent it."""
        ...


Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item", bound=Request)


class Waiting(NamedTuple, Generic[Item]):
    """A line that waits.

    position: of the line in its request. size: its characters. alone: it must not be in a piece
    with others, as one with it has failed.
    """

    request: Item
    position: int
    size: int
    alone: bool = False


class Piece(NamedTuple, Generic[Key, Item]):
    """Lines to be searched together."""

    key: Key
    lines: list[Waiting[Item]]
    size: int


class Turns(Generic[Item]):
    """The lines of one queue, in the order in which they are served."""

    def __init__(self) -> None:
        self._clients: OrderedDict[Hashable, OrderedDict[int, deque[Waiting[Item]]]] = OrderedDict()
        self.lines = 0

    def has(self, client: Hashable) -> bool:
        """Return whether lines of a client are here."""
        return client in self._clients

    def put(self, line: Waiting[Item], first: bool = False) -> None:
        """Add a line to those of its request.

        :param first: before the others.
        """
        requests = self._clients.setdefault(line.request.client, OrderedDict())
        lines = requests.setdefault(id(line.request), deque())
        lines.appendleft(line) if first else lines.append(line)
        self.lines += 1

    def take(self, max_lines: int, max_size: float, crowd_size: float = 0.0) -> list[Waiting[Item]]:
        """Take the lines whose turn it is: at least one, if there are any.

        :param max_lines: at most so many.
        :param max_size: together of at most so many characters, unless it is one line.
        :param crowd_size: the same before a line that is the first of its request among them.
        """
        taken: list[Waiting[Item]] = []
        requests: set[int] = set()
        size = 0
        passed: OrderedDict[Hashable, OrderedDict[int, deque[Waiting[Item]]]] = OrderedDict()
        while self._clients and len(taken) < max_lines:
            line = self._next()
            limit = max_size if id(line.request) in requests else max(max_size, crowd_size)
            if taken and (line.alone or size + line.size > limit):
                client, waiting = self._clients.popitem(last=False)
                passed[client] = waiting
                continue
            self._take_next()
            requests.add(id(line.request))
            taken.append(line)
            size += line.size
            if line.alone:
                break
        self._clients = passed | self._clients  # so that these lines are the first next time
        return taken

    def _next(self) -> Waiting[Item]:
        requests = next(iter(self._clients.values()))
        return next(iter(requests.values()))[0]

    def _take_next(self) -> None:
        """Let the next client, and the next request of this one, have their turn."""
        client, requests = next(iter(self._clients.items()))
        number, lines = next(iter(requests.items()))
        lines.popleft()
        self.lines -= 1
        requests.move_to_end(number)
        if not lines:
            del requests[number]
        self._clients.move_to_end(client)
        if not requests:
            del self._clients[client]

    def remove(self, request: Item) -> list[Waiting[Item]]:
        """Remove the lines of a request that still wait, and return them."""
        requests = self._clients.get(request.client, OrderedDict())
        lines = requests.pop(id(request), deque())
        if not requests:
            self._clients.pop(request.client, None)
        self.lines -= len(lines)
        return list(lines)


class Scheduler(Generic[Key, Item]):
    """The queues of all models and tasks."""

    def __init__(self) -> None:
        self._queues: OrderedDict[Key, Turns[Item]] = OrderedDict()
        self._clients: OrderedDict[Hashable, int] = OrderedDict()
        self.lines = 0
        self.size = 0

    def put(self, key: Key, line: Waiting[Item], first: bool = False) -> None:
        """Let a line wait; see `Turns.put`."""
        self._queues.setdefault(key, Turns()).put(line, first)
        client = line.request.client
        self._clients[client] = self._clients.get(client, 0) + 1
        self.lines += 1
        self.size += line.size

    def take(self, rates: "Rates[Key]", free: int) -> Piece[Key, Item] | None:
        """Take the next piece; None if nothing waits.

        It is of a queue of the client who has waited longest, whose queues take turns.

        :param rates: speed of the models.
        :param free: workers that wait for a piece, this one included.
        """
        client = next(iter(self._clients), None)
        if client is None:
            return None
        key = next(key for key, turns in self._queues.items() if turns.has(client))
        turns = self._queues[key]
        share = max(-(-turns.lines // free), MIN_SHARE)
        sizes = rates.size(key), rates.size(key, CROWD_SECONDS)
        lines = turns.take(min(share, MAX_LINES), *sizes)
        self._queues.move_to_end(key)
        for line in lines:
            self._clients.move_to_end(line.request.client)
        return Piece(key, lines, self._forget(key, lines))

    def remove(self, key: Key, request: Item) -> None:
        """Remove the lines of a request that still wait."""
        if key in self._queues:
            self._forget(key, self._queues[key].remove(request))

    def _forget(self, key: Key, lines: list[Waiting[Item]]) -> int:
        """Count lines of a queue as waiting no more; return their characters."""
        if not self._queues[key].lines:
            del self._queues[key]
        for line in lines:
            client = line.request.client
            self._clients[client] -= 1
            if not self._clients[client]:
                del self._clients[client]
        size = sum(line.size for line in lines)
        self.lines -= len(lines)
        self.size -= size
        return size


class Rates(Generic[Key]):
    """How long pieces take, for each model and task: a fixed time, and one for each character.

    Both are fitted to the pieces so far, the last ones counting most. A step of search costs nearly
    the same for one sentence as for a few, so the time of small pieces tells little of large ones.
    """

    def __init__(self) -> None:
        self._fits: OrderedDict[Key, _Fit] = OrderedDict()

    def size(self, key: Key, seconds: float = PIECE_SECONDS) -> float:
        """Return the characters of a piece that takes so long."""
        return self._fits[key].size_of(seconds) if key in self._fits else FIRST_SIZE

    def seconds(self, key: Key, size: float) -> float:
        """Return the time that pieces of together so many characters take."""
        return PIECE_SECONDS * size / self.size(key)

    def add(self, piece: Piece[Key, Item], seconds: float) -> None:
        """Learn from a piece."""
        self._fits.setdefault(piece.key, _Fit()).add(piece.size, seconds)
        self._fits.move_to_end(piece.key)
        if len(self._fits) > MAX_FITS:  # tasks with terms of their own
            self._fits.popitem(last=False)


class _Fit:
    """A line through points (size, seconds), by least squares with fading weights."""

    def __init__(self) -> None:
        self._weight = self._x = self._y = self._xx = self._xy = 0.0

    def add(self, size: float, seconds: float) -> None:
        """Add a point."""
        for name, value in (("_weight", 1.0), ("_x", size), ("_y", seconds),
                            ("_xx", size * size), ("_xy", size * seconds)):  # fmt: skip
            setattr(self, name, getattr(self, name) * FADING + value)

    def size_of(self, seconds: float) -> float:
        """Return the size of a piece that takes so long; with points of one size, a guess."""
        x, y = self._x / self._weight, self._y / self._weight
        variance = self._xx / self._weight - x * x
        slope = y / max(x, 1.0) / 2
        if variance > (x / 10) ** 2:
            slope = (self._xy / self._weight - x * y) / variance
        slope = min(max(slope, y / max(x, 1.0) / 10, 1e-7), y / max(x, 1.0) or 1e-7)
        fixed = max(y - slope * x, 0.0)
        return min(max((seconds - fixed) / slope, MIN_SIZE), MAX_SIZE)
