"""The verdict of a report: which system is better, how sure this is, and where it is weakest.

A system is called better only if its lead over each other system is significant at the 5 % level
after Bonferroni's correction for the number of pairs of systems.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nmtkit.evaluation.comparison import BucketResult, Figure, PairedDifference
from nmtkit.evaluation.metrics import METRICS
from nmtkit.evaluation.translation_errors import ErrorCount
from nmtkit.report.bucket_figures import MIN_BUCKET_SENTENCES
from nmtkit.report.output_errors import count_by_system

if TYPE_CHECKING:
    from nmtkit.report.model_report import ModelReport

SIGNIFICANCE_LEVEL = 0.05
MIN_P_DIGITS = 3  # decimals


@dataclass(frozen=True)
class Lead:
    """Lead of the first system over another one.

    other: index of the system. difference: at least 0, in the direction of "better".
    low, high: 95 % interval; p: uncorrected; all None without bootstrap samples.
    """

    other: int
    difference: float
    low: float | None = None
    high: float | None = None
    p: float | None = None


@dataclass(frozen=True)
class Verdict:
    """What a report says first.

    leader: index of the system with the best figure.
    measure: title of the metric; `measure_leads`: the leads by each metric, by its title.
    figures: of each system by this metric.
    leads: over the other systems, the closest one first; empty for a single system.
    significant: True if all leads are; None without bootstrap samples or other systems.
    corrected: number of pairs of systems that p-values are corrected for.
    lowest: bucket of the source in which the leader has its lowest figure, of those with at least
        `MIN_BUCKET_SENTENCES` sentences; None if there are fewer than two.
    commonest: the most frequent kind of error of the leader, if there is any.
    """

    leader: int
    measure: str
    figures: list[Figure]
    leads: list[Lead]
    measure_leads: dict[str, list[Lead]]
    significant: bool | None
    corrected: int
    lowest: BucketResult | None
    commonest: tuple[str, ErrorCount] | None


def judge(report: "ModelReport") -> Verdict:
    """Return the verdict by the metric that buckets are measured with."""
    systems = [card.name for card in report.model_cards]
    (measure,) = report.by_bucket.whole.figures
    figures = [report.comparison.whole.figures[measure][name] for name in systems]
    sign = 1 if _is_higher_better(measure) else -1
    leader = max(range(len(systems)), key=lambda index: sign * figures[index].value)
    leads = {
        title: _leads(report, title, leader, systems) for title in report.comparison.whole.figures
    }
    corrected = len(systems) * (len(systems) - 1) // 2
    return Verdict(
        leader=leader,
        measure=measure,
        figures=figures,
        leads=leads[measure],
        measure_leads=leads,
        significant=are_significant(leads[measure], corrected),
        corrected=corrected,
        lowest=_lowest_bucket(report, systems[leader], measure),
        commonest=_commonest_error(report, systems[leader]),
    )


def are_significant(leads: list[Lead], corrected: int) -> bool | None:
    """Return True if all leads are significant; None without leads or p-values.

    :param corrected: number of tests, for Bonferroni's correction.
    """
    ps = [lead.p for lead in leads if lead.p is not None]
    return all(p * corrected < SIGNIFICANCE_LEVEL for p in ps) if ps else None


def format_p(p: float, samples: int) -> str:
    """Return `p = 0.012`; `p ≤ 0.001` at the smallest p that so many samples can give."""
    smallest = 1 / (samples + 1)
    digits = max(MIN_P_DIGITS, math.floor(math.log10(samples + 1)))
    if p <= smallest * (1 + 1e-9):
        unit = 10.0**digits
        return f"p ≤ {math.ceil(smallest * unit - 1e-9) / unit:.{digits}f}"
    return f"p = {p:.{digits}f}"


def _is_higher_better(title: str) -> bool:
    """Return False for an error rate."""
    return next((m.higher_is_better for m in METRICS.values() if m.title == title), True)


def _leads(report: "ModelReport", title: str, leader: int, systems: list[str]) -> list[Lead]:
    """Return the leads of a system over the others by one metric; negative where it is behind."""
    figures = report.comparison.whole.figures[title]
    sign = 1 if _is_higher_better(title) else -1
    pairs = {(p.first, p.second): p for p in report.comparison.whole.pairs if p.measure == title}
    leads = []
    for other, name in enumerate(systems):
        if other == leader:
            continue
        difference = sign * (figures[systems[leader]].value - figures[name].value)
        pair = pairs.get((name, systems[leader])) or pairs.get((systems[leader], name))
        leads.append(_lead(other, difference, pair, sign if other < leader else -sign))
    return sorted(leads, key=lambda lead: lead.difference)


def _lead(other: int, difference: float, pair: PairedDifference | None, sign: int) -> Lead:
    """Return a lead with the interval and p-value of a pair.

    :param sign: 1 if the pair's difference counts in favour of the leader, else -1.
    """
    if pair is None or pair.interval is None:
        return Lead(other, difference)
    low, high = sorted((sign * pair.interval.low, sign * pair.interval.high))
    return Lead(other, difference, low, high, pair.p)


def _lowest_bucket(report: "ModelReport", system: str, measure: str) -> BucketResult | None:
    large_enough = [
        entry
        for entry in report.by_bucket.buckets
        if entry.result.sentences >= MIN_BUCKET_SENTENCES
    ]
    if len(large_enough) < 2:
        return None
    sign = 1 if _is_higher_better(measure) else -1
    return min(large_enough, key=lambda entry: sign * entry.result.figures[measure][system].value)


def _commonest_error(report: "ModelReport", system: str) -> tuple[str, ErrorCount] | None:
    counts = {kind: by_system[system] for kind, by_system in count_by_system(report).items()}
    found = {kind: count for kind, count in counts.items() if count.count}
    if not found:
        return None
    kind = max(found, key=lambda name: found[name].count or 0)
    return kind, found[kind]
