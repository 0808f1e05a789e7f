"""What tests of the report's page in a browser share."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from nmtkit.report.model_report import ModelReport
from nmtkit.report.page import render_page
from tests.integration.browser import resize, run_js
from tests.integration.browser import wait_until as wait_until_in_browser

Chrome = Any
LoadReport = Callable[[ModelReport], None]

wait_until = partial(wait_until_in_browser, seconds=10)
"""Wait for a page that has no server behind it."""


def open_report(chrome: Chrome, model_report: ModelReport, path: Path) -> None:
    """Write a report's page and open it in the browser on a wide screen."""
    path.write_text(render_page(model_report, ["nmtkit evaluate a"]), encoding="utf-8")
    resize(chrome, 1200, 900)
    chrome.get(path.as_uri())


def sentence_numbers(chrome: Chrome) -> list[int]:
    """Return the numbers of the sentences shown, counted from 1."""
    titles = run_js(
        chrome, "return [...document.querySelectorAll('.sentence h3')].map(h=>h.textContent)"
    )
    return [int(title.removeprefix("Sentence ").replace(",", "")) for title in titles]


def count(chrome: Chrome) -> str:
    return str(run_js(chrome, "return document.getElementById('count').textContent"))


def search(chrome: Chrome, text: str, expected: str) -> None:
    field = chrome.find_element("id", "query")
    field.clear()
    field.send_keys(text)
    wait_until(chrome, f"document.getElementById('count').textContent.includes({expected!r})")


def sort(chrome: Chrome, key: str, descending: bool = False) -> list[int]:
    from selenium.webdriver.support.ui import Select

    Select(chrome.find_element("id", "sort")).select_by_value(key)
    box = chrome.find_element("id", "largest")
    if box.is_selected() != descending:
        box.click()
    return sentence_numbers(chrome)
