"""Figures of the server, in Prometheus's text format."""

import platform
import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence

import nmtkit

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the histogram of latencies."""

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Counter:
    """A number that only grows, for each combination of labels.

    :param name, help: as Prometheus shows them. labels: their names.
    """

    def __init__(self, name: str, help: str, *labels: str) -> None:
        self.name, self.help, self.labels = name, help, labels
        self.values: defaultdict[tuple[str, ...], float] = defaultdict(float)

    def add(self, *labels: str, amount: float = 1.0) -> None:
        """Add an amount to the number of these labels."""
        self.values[labels] += amount

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text format."""
        yield from _head(self.name, self.help, "counter")
        for labels, value in self.values.items():
            yield f"{self.name}{_labels(self.labels, labels)} {number_text(value)}"


class Histogram:
    """Durations, counted by their size, for each combination of labels."""

    def __init__(self, name: str, help: str, *labels: str) -> None:
        self.name, self.help, self.labels = name, help, labels
        self._counts: defaultdict[tuple[str, ...], list[int]] = defaultdict(
            lambda: [0] * (len(SECONDS) + 1)
        )
        self._sums: defaultdict[tuple[str, ...], float] = defaultdict(float)

    def add(self, seconds: float, *labels: str) -> None:
        """Count a duration."""
        self._counts[labels][bisect_left(SECONDS, seconds)] += 1
        self._sums[labels] += seconds

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text format."""
        yield from _head(self.name, self.help, "histogram")
        names = (*self.labels, "le")
        for labels, counts in self._counts.items():
            total = 0
            for bound, count in zip((*SECONDS, float("inf")), counts, strict=True):
                total += count
                le = "+Inf" if bound == float("inf") else f"{bound:g}"
                yield f"{self.name}_bucket{_labels(names, (*labels, le))} {total}"
            own = _labels(self.labels, labels)
            yield f"{self.name}_sum{own} {number_text(self._sums[labels])}"
            yield f"{self.name}_count{own} {total}"


class Metrics:
    """All figures of a server."""

    def __init__(self) -> None:
        self.requests = Counter("nmtkit_requests_total", "Requests answered.", "endpoint", "status")
        self.latency = Histogram(
            "nmtkit_request_seconds", "Time from request to answer.", "endpoint"
        )
        self.rejected = Counter("nmtkit_rejected_total", "Requests refused by a limit.", "limit")
        self.lines = Counter("nmtkit_lines_total", "Lines translated.", "model")
        self.words = Counter("nmtkit_source_words_total", "Words of these lines.", "model")
        self.busy = Counter("nmtkit_work_seconds_total", "Time of workers at work.", "model")
        self.pieces = Counter("nmtkit_pieces_total", "Pieces of lines searched together.", "model")
        self.worker_ends = Counter(
            "nmtkit_worker_ends_total", "Workers that ended at work.", "model"
        )

    def translated(self, pair: tuple[str, str], lines: Sequence[str], seconds: float) -> None:
        """Count a piece."""
        model = "-".join(pair)
        self.pieces.add(model)
        self.lines.add(model, amount=len(lines))
        self.words.add(model, amount=sum(len(line.split()) for line in lines))
        self.busy.add(model, amount=seconds)

    def text(self, gauges: Sequence[tuple[str, str, dict[str, str], float]]) -> str:
        """Return all figures.

        :param gauges: name, help, labels and value of what is measured at this moment; those of one
            name follow each other.
        """
        lines = [*_head("nmtkit_info", "Versions.", "gauge")]
        versions = {"version": nmtkit.__version__, "python": platform.python_version()}
        lines.append(f"nmtkit_info{_labels(tuple(versions), tuple(versions.values()))} 1")
        for figure in (self.requests, self.latency, self.rejected, self.lines, self.words,
                       self.busy, self.pieces, self.worker_ends):  # fmt: skip
            lines += figure.lines()
        before = ""
        for name, help, labels, value in gauges:
            lines += _head(name, help, "gauge") if name != before else []
            shown = _labels(tuple(labels), tuple(labels.values()))
            lines.append(f"{name}{shown} {number_text(value)}")
            before = name
        lines += _head("nmtkit_threads", "Threads of the server.", "gauge")
        lines.append(f"nmtkit_threads {threading.active_count()}")
        return "\n".join(lines) + "\n"


def number_text(value: float) -> str:
    """Return a number with all its digits."""
    return str(int(value)) if float(value).is_integer() else repr(value)


def _head(name: str, help: str, kind: str) -> list[str]:
    return [f"# HELP {name} {help}", f"# TYPE {name} {kind}"]


def _labels(names: Sequence[str], values: Sequence[str]) -> str:
    pairs = zip(names, values, strict=True)
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs)
    return f"{{{inner}}}" if inner else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
