"""The page of a report keeps to its size, whatever else stands on it."""

import json
import re

import pytest

from nmtkit.preprocessing.scripts import scripts_of
from nmtkit.report import page
from nmtkit.report.model_report import ModelReport
from nmtkit.report.page import render_page
from nmtkit.report.page_resources import page_style
from nmtkit.report.sentences import pack_sentences
from tests.unit.report.reports import large_report

COMMANDS = ["nmtkit evaluate a"]


@pytest.fixture(scope="module")
def built_report() -> ModelReport:
    return large_report(60, 25)


def sentences_of(html: str) -> list[object]:
    found = re.search(r'<script type="application/json" id="sentences">(.*?)</script>', html)
    assert found
    rows: list[object] = json.loads(found[1])
    return rows


@pytest.mark.parametrize("share", [0.05, 0.3, 0.8, 1.01])
def test_a_page_is_never_larger_than_its_limit(
    built_report: ModelReport, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = len(render_page(built_report, COMMANDS).encode())
    rest = len(page._page_around_sentences(built_report, COMMANDS).encode())
    limit = round(rest + page.MAX_NOTE_BYTES + share * (whole - rest))
    monkeypatch.setattr(page, "MAX_PAGE_BYTES", limit)
    html = render_page(built_report, COMMANDS)
    assert limit - 4000 < len(html.encode()) <= limit  # the room is used
    assert ("To limit its size" in html) == (share < 1)
    assert page.SENTENCES_MARK not in html and page.NOTE_MARK not in html
    assert (len(sentences_of(html)) == 60) == (share >= 0.8)


def test_a_page_has_room_for_its_note(built_report: ModelReport) -> None:
    packed = pack_sentences(built_report, 100)
    assert len(packed.left_out) == 4
    assert len(page._left_out_note(packed).encode()) <= page.MAX_NOTE_BYTES / 2


def test_languages_that_are_only_written_from_right_to_left_have_that_direction() -> None:
    right_to_left = {"Arabic", "Hebrew", "Syriac", "Thaana", "Nko"}
    codes = re.findall(r":lang\((\w+)\)", page_style())
    assert {"ar", "fa", "he", "ur", "yi"} <= set(codes)
    assert all(right_to_left.issuperset(scripts_of(code)) for code in codes)
