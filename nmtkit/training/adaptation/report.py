"""What an adaptation has won and lost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nmtkit.durations import format_duration
from nmtkit.errors import ModelError, counted
from nmtkit.evaluation.comparison import Figure
from nmtkit.training.adaptation.examiner import AFTER, BEFORE, Judge, Purpose, TestSet, Translations


@dataclass(frozen=True)
class Change:
    """One metric of a test set, of the old and the new model.

    before, after: figures in percent, with 95 % intervals.
    p: probability of such a difference between equally good models (paired bootstrap).
    """

    before: Figure
    after: Figure
    p: float

    @property
    def difference(self) -> float:
        """The new figure less the old one."""
        return self.after.value - self.before.value


@dataclass(frozen=True)
class SetChange:
    """The figures of one test set.

    lines: number of lines that were translated. available: number of lines of the file.
    changes: by title of the metric.
    """

    kind: str
    name: str
    lines: int
    available: int
    changes: Mapping[str, Change]


@dataclass(frozen=True)
class AdaptationReport:
    """What was won and lost, and how.

    corrections: number of corrections that were learned.
    right_before, right_after: how many of them the models translate as they were corrected; None
        where they are too many to be translated.
    replayed: the prepared folder whose pairs were replayed, or None.
    point: of the new parameters between the old ones, 0, and those of the last update, 1.
    seconds: the whole time until the report.
    """

    corrections: int
    right_before: int | None
    right_after: int | None
    sets: tuple[SetChange, ...]
    replayed: str | None
    updates: int
    point: float
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON knows it."""
        table = asdict(self)
        for set_table, changed in zip(table["sets"], self.sets, strict=True):
            for title, change in changed.changes.items():
                set_table["changes"][title]["difference"] = change.difference
        return table

    def lines(self) -> Iterator[str]:
        """Yield the report as text."""
        if self.right_after is not None:
            yield (
                f"{self.right_after} of {self.corrections} corrections come out right, before"
                f" {self.right_before}"
            )
        for changed in self.sets:
            lines = counted(changed.available, "line")
            of = "" if changed.lines == changed.available else f"{changed.lines:,} of "
            yield f"{changed.kind}, {changed.name}, {of}{lines}:"
            for title, change in changed.changes.items():
                yield (
                    f"  {title}: {_figure(change.before)} -> {_figure(change.after)},"
                    f" {change.difference:+z.2f} (p = {change.p:.3f})"
                )
        data = f"replayed {self.replayed}" if self.replayed else "rehearsed the old predictions"
        yield (
            f"{counted(self.updates, 'update')}, {data}, point {self.point:g} between old and new"
            f" parameters, {format_duration(self.seconds)}"
        )


def _figure(figure: Figure) -> str:
    assert figure.interval is not None
    return f"{figure.value:.2f} [{figure.interval.low:.2f}, {figure.interval.high:.2f}]"


class LossRefused(ModelError):
    """A guard has lost more than is allowed, so that nothing was written.

    report: what was won and lost.
    """

    def __init__(self, message: str, report: AdaptationReport) -> None:
        """Store the report."""
        super().__init__(message)
        self.report = report

    def __reduce__(self) -> tuple[type["LossRefused"], tuple[str, AdaptationReport]]:
        """Return what a copy in another process is made of."""
        return type(self), (str(self), self.report)


def set_changes(
    sets: Sequence[TestSet], before: Translations, after: Translations, judge: Judge
) -> tuple[SetChange, ...]:
    """Compare the translations of both models."""
    changes = []
    for test_set in sets:
        result = judge.compare(test_set, before[test_set], after[test_set])
        ps = {pair.measure: pair.p for pair in result.pairs}
        figures = {
            title: Change(systems[BEFORE], systems[AFTER], ps[title])
            for title, systems in result.figures.items()
        }
        lines = len(test_set.sources)
        changes.append(
            SetChange(test_set.purpose.value, test_set.name, lines, test_set.available, figures)
        )
    return tuple(changes)


def refuse_loss(report: AdaptationReport, allowed: float, output: Path) -> None:
    """Raise LossRefused if a guard has lost more of its first figure than is allowed.

    :param allowed: in percent of that figure (`Judge.metric`).
    """
    for changed in report.sets:
        title, change = next(iter(changed.changes.items()))
        if changed.kind == Purpose.GUARD.value and -change.difference > allowed:
            raise LossRefused(
                f"{output}: not written: {changed.name} has lost {-change.difference:.2f} {title},"
                f" more than --allow-loss {allowed:g}; replay the training data (--replay), give"
                " fewer or better corrections, or allow more",
                report,
            )
