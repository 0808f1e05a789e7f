"""The verdict claims what the test shows, and no more."""

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.evaluation.buckets import EvaluationSet
from nmtkit.evaluation.comparison import ComparisonConfig, compare
from nmtkit.report.page import render_page
from nmtkit.report.page_tables import MINUS
from nmtkit.report.page_verdict import verdict_rows
from nmtkit.report.verdict import format_p, judge
from tests.unit.report.reports import line, output, report

WORDS = "un deux trois quatre cinq six sept huit neuf dix onze douze".split()
REFERENCES = [" ".join(WORDS[n % 7 : n % 7 + 5]) + f" mot{n}" for n in range(60)]


def reported(samples=200, **hypotheses):
    """Return a report on systems with these translations, with bootstrap samples."""
    systems = {n: [output(h, line("x")) for h in lines] for n, lines in hypotheses.items()}
    made = report(["x"] * len(REFERENCES), REFERENCES, systems)
    compared = compare(hypotheses, EvaluationSet(REFERENCES), ComparisonConfig(samples=samples))
    return dataclasses.replace(made, samples=samples, comparison=compared)


def worse(every):
    """Return the references with the second word of every n-th sentence changed."""
    lines = [text.split() for text in REFERENCES]
    return [
        " ".join([a, "faux" if n % every == 0 else b, *rest])
        for n, (a, b, *rest) in enumerate(lines)
    ]


def text_of(made):
    return "".join(verdict_rows(made, judge(made)))


def test_a_clear_difference_has_a_winner():
    made = reported(bad=worse(2), good=REFERENCES)
    verdict = judge(made)
    assert verdict.leader == 1 and verdict.significant
    (lead,) = verdict.leads
    assert lead.other == 0 and lead.low is not None and lead.high is not None
    assert 0 < lead.low < lead.difference < lead.high
    assert "is better: its" in text_of(made) and "p ≤ 0.005" in text_of(made)


def test_the_order_of_systems_changes_no_lead():
    first = judge(reported(bad=worse(1), good=REFERENCES)).leads[0]
    second = judge(reported(good=REFERENCES, bad=worse(1))).leads[0]
    assert (first.difference, first.low, first.high, first.p) == pytest.approx(
        (second.difference, second.low, second.high, second.p)
    )


def test_a_difference_that_may_be_chance_has_none():
    made = reported(a=worse(20), b=worse(19))
    assert judge(made).significant is False
    assert "No system is shown to be better" in text_of(made)
    assert "is better:" not in text_of(made)


@pytest.mark.parametrize("samples", [0, 200])
def test_equal_systems_have_no_winner(samples):
    made = reported(samples=samples, a=worse(3), b=worse(3))
    assert not judge(made).significant
    text = text_of(made)
    assert "have the same BLEU" in text and "0.00" not in text.partition("How sure")[0]
    assert f"{MINUS}0.00" not in text and "-0.00" not in text


def test_a_system_is_level_with_one_and_ahead_of_another():
    text = text_of(reported(a=worse(3), b=worse(1), c=worse(3)))
    assert re.search(r"ahead of <.*>b<.*, level with <.*>c<", text), text


def test_a_winner_over_one_of_two_others_is_called_that():
    made = reported(a=REFERENCES, b=[*REFERENCES[:-1], "faux"], c=worse(1))
    assert judge(made).significant is False and judge(made).corrected == 3
    assert "is not shown to be better than" in text_of(made)


def test_without_samples_nothing_is_claimed():
    made = reported(samples=0, a=REFERENCES, b=worse(1))
    assert judge(made).significant is None
    assert "is ahead of" in text_of(made) and "without bootstrap samples" in text_of(made)


def test_a_single_system_is_not_compared():
    made = reported(a=worse(2))
    assert judge(made).leads == [] and "no other system" in text_of(made)


def test_names_are_escaped():
    assert "<b>" not in text_of(reported(**{"<b>": REFERENCES, "</dd>": worse(1)}))


@given(st.integers(1, 20_000))
def test_the_smallest_p_is_a_bound_that_is_true(samples):
    smallest = 1 / (samples + 1)
    relation, bound = format_p(smallest, samples).removeprefix("p ").split()
    assert relation == "≤" and smallest <= float(bound) + 1e-12 and float(bound) > 0
    assert format_p(2 * smallest, samples).startswith("p = ")


def test_the_bound_of_a_thousand_samples():
    assert format_p(1 / 1001, 1000) == "p ≤ 0.001" and format_p(0.0125, 1000) == "p = 0.013"


def test_no_link_leads_to_sentences_that_do_not_exist():
    text = text_of(reported(bad=worse(2), good=REFERENCES))  # bad is better in none
    assert "has the higher chrF" not in text and "its lowest chrF first" in text


def test_three_systems_are_listed_with_one_and():
    made = reported(a=REFERENCES, b=worse(2), c=worse(3))
    page = render_page(made, [])
    heading = re.sub("<[^>]+>", "", page[page.index("<h1>") : page.index("</h1>")])
    assert heading == "a, b and c"
