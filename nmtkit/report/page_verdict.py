"""The verdict at the top of a report's page, with links to the sentences that show it."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from nmtkit.errors import counted
from nmtkit.evaluation.comparison import BucketResult
from nmtkit.report.addresses import selection_address
from nmtkit.report.output_errors import score_differences
from nmtkit.report.page_tables import MINUS, link, system_name
from nmtkit.report.page_words import ERROR_SENTENCES, bucket_phrase, listed, percent
from nmtkit.report.verdict import SIGNIFICANCE_LEVEL, Lead, Verdict, are_significant, format_p

if TYPE_CHECKING:
    from nmtkit.report.model_report import ModelReport


def verdict_rows(report: "ModelReport", verdict: Verdict) -> Iterator[str]:
    """Yield a list of questions and their answers."""
    names = [system_name(index, card.name) for index, card in enumerate(report.model_cards)]
    answers = {
        "Which is better?" if len(names) > 1 else "How good?": _better(verdict, names),
        "Caution": _cautions(report),
        "How sure?": _how_sure(verdict, names, report.samples),
        "Where is it weakest?": _weakest(report, verdict),
        "Show me": _examples(report, verdict),
    }
    yield '<dl class="verdict">'
    for question, answer in answers.items():
        if answer:
            yield f"<div><dt>{question}</dt><dd>{answer}</dd></div>"
    yield "</dl>"


def _better(verdict: Verdict, names: Sequence[str]) -> str:
    leader = f"<strong>{names[verdict.leader]}</strong>"
    figure = verdict.figures[verdict.leader].value
    measure = escape(verdict.measure)
    if not verdict.leads:
        return f"{leader} has {figure:.2f} {measure}. There is no other system to compare it with."
    ahead = [lead for lead in verdict.leads if f"{lead.difference:z.2f}" != "0.00"]
    if not ahead:
        others = listed(names[lead.other] for lead in verdict.leads)
        return f"{leader} and {others} have the same {measure}, {figure:.2f}."
    leads = listed(
        f"{names[lead.other]} by <strong>{lead.difference:.2f}</strong>" for lead in ahead
    )
    if len(ahead) < len(verdict.leads):
        same = listed(names[lead.other] for lead in verdict.leads if lead not in ahead)
        leads += f", level with {same}"
    if verdict.significant is None:
        return f"{leader} has the highest {measure}, {figure:.2f}: it is ahead of {leads}."
    if verdict.significant:
        return f"{leader} is better: its {measure} of {figure:.2f} is ahead of {leads}."
    beaten = [lead for lead in verdict.leads if are_significant([lead], verdict.corrected)]
    text = f"{leader} has the highest {measure}, {figure:.2f}, ahead of {leads}"
    if not beaten:
        return f"<strong>No system is shown to be better.</strong> {text}."
    level = listed(names[lead.other] for lead in verdict.leads if lead not in beaten)
    better = listed(names[lead.other] for lead in beaten)
    return f"{text}. It is better than {better}; it is not shown to be better than {level}."


def _cautions(report: "ModelReport") -> str:
    """Return why the figures may not be what they seem."""
    items = "".join(f"<li>{escape(text)}.</li>" for text in report.cautions)
    return f"<ul>{items}</ul>" if items else ""


def _how_sure(verdict: Verdict, names: Sequence[str], samples: int) -> str:
    figure = verdict.figures[verdict.leader]
    if not samples:
        return "Unknown: the report was made without bootstrap samples."
    if not verdict.leads:
        if figure.interval is None:
            return ""
        low, high = figure.interval.low, figure.interval.high
        return f"95 % interval: {low:.2f} to {high:.2f}, from {samples:,} bootstrap samples."
    items = "".join(
        f"<li>Against {names[lead.other]}: {_evidence(verdict, lead, samples)}</li>"
        for lead in verdict.leads
    )
    corrected = (
        f" A lead counts if p times {verdict.corrected}, the number of pairs, is below"
        f" {SIGNIFICANCE_LEVEL:g}."
        if verdict.corrected > 1
        else f" A lead counts if p is below {SIGNIFICANCE_LEVEL:g}."
    )
    method = f"Paired bootstrap with {samples:,} samples; intervals are those of the lead."
    return f'<ul>{items}</ul><span class="note">{method}{corrected}</span>'


def _evidence(verdict: Verdict, lead: Lead, samples: int) -> str:
    """Return p and interval of a lead, and what the other metrics say about it."""
    if lead.p is None or lead.low is None or lead.high is None:
        return ""
    interval = f"{lead.low:z.2f} to {lead.high:z.2f}".replace("-", MINUS)
    agree, differ = [], []
    for title, leads in verdict.measure_leads.items():
        other = next(one for one in leads if one.other == lead.other)
        if title == verdict.measure or other.p is None:
            continue
        if other.difference > 0 and are_significant([other], verdict.corrected):
            agree.append(escape(title))
        else:
            gain = f"{other.difference:+z.2f}".replace("-", MINUS)
            differ.append(f"{escape(title)} ({gain}, {format_p(other.p, samples)})")
    parts = [f"<strong>{format_p(lead.p, samples)}</strong>, 95 % interval {interval}"]
    if agree:
        parts.append(f"shown by {listed(agree)}, too")
    if differ:
        parts.append(f"not shown by {listed(differ)}")
    return "; ".join(parts)


def _weakest(report: "ModelReport", verdict: Verdict) -> str:
    parts = []
    if verdict.lowest is not None:
        entry = verdict.lowest
        name = report.model_cards[verdict.leader].name
        figure = entry.result.figures[verdict.measure][name].value
        number = _bucket_index(report, entry)
        sentences = link(
            selection_address(bucket=f"{entry.bucketing.by}:{number}"),
            counted(entry.result.sentences, "sentence"),
        )
        parts.append(
            f"Its {escape(verdict.measure)} is lowest, {figure:.2f}, in {sentences}"
            f" {bucket_phrase(entry)}"
        )
    if verdict.commonest is not None:
        kind, count = verdict.commonest
        assert count.count is not None
        address = selection_address(only=f"{kind}:{verdict.leader}")
        sentences = link(address, counted(count.count, "sentence"))
        parts.append(f"{sentences} ({percent(count)}) {ERROR_SENTENCES[kind]}")
    return "; ".join(parts) + "." if parts else ""


def _bucket_index(report: "ModelReport", entry: BucketResult) -> int:
    """Return the index of a bucket among those by the same criterion."""
    same = [e for e in report.by_bucket.buckets if e.bucketing.by == entry.bucketing.by]
    return next(index for index, other in enumerate(same) if other is entry)


def _examples(report: "ModelReport", verdict: Verdict) -> str:
    """Return links to the sentences in which the leader is worse, or those with a low chrF."""
    leader = verdict.leader
    worst = link(selection_address(sort=f"quality:{leader}"), "its lowest chrF first")
    if not verdict.leads:
        return f"{worst}."
    links = []
    for lead in verdict.leads:
        other = lead.other
        count = sum(difference > 0 for difference in score_differences(report, leader, other))
        if not count:
            continue
        address = selection_address(
            only=f"better:{other}:{leader}", sort=f"difference:{leader}:{other}", largest="1"
        )
        name = f"<bdi>{escape(report.model_cards[other].name)}</bdi>"
        links.append(
            f'<a href="{escape(address)}">{counted(count, "sentence")} where {name}'
            " has the higher chrF</a>"
        )
    return "; ".join([*([listed(links)] if links else []), worst]) + "."
