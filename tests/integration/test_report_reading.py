"""What readers do with the report's page, in a real Chromium.

They look for omissions, compare systems, go from a figure to its sentences and back, search, and
read without scripts.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nmtkit.report.model_report import ModelReport
from tests.integration.browser import browser, reload, resize, run_js
from tests.integration.report_pages import (
    Chrome,
    count,
    open_report,
    search,
    sentence_numbers,
    wait_until,
)
from tests.unit.report.reports import line, output, report

SOURCES = [
    *("the black cat sleeps here", "a dog in 1999", "the café is good", "we see Paris"),
    *(f"this is sentence number{n} of many others" for n in range(60)),
]
REFERENCES = [
    *("le chat noir dort ici", "un chien en 1999", "le café est bon", "nous voyons Paris"),
    *(f"voici la phrase numéro{n} de tant d'autres" for n in range(60)),
]
SYSTEMS = {
    "full": REFERENCES,
    "short": [
        "le chat dort",
        "un chien en 1989",
        "le thé est bon bon",
        "nous voyons Rome",
        *REFERENCES[4:],
    ],
    "third": ["un chat noir dort", *REFERENCES[1:]],
}
NARROW = 360  # pixels


@pytest.fixture(scope="module")
def chrome() -> Iterator[Chrome]:
    with browser() as driver:
        yield driver


def three_systems() -> ModelReport:
    """Return a report on three systems; `short` leaves words out and is 20 points worse there."""
    outputs = {
        name: [
            output(text, line(s), n) for n, (text, s) in enumerate(zip(lines, SOURCES, strict=True))
        ]
        for name, lines in SYSTEMS.items()
    }
    made = report(SOURCES, REFERENCES, outputs, aligned=list(SYSTEMS))
    scores = {name: [70.0] * len(SOURCES) for name in SYSTEMS}
    scores["short"][:4] = [50.0, 60.0, 60.0, 60.0]
    made.sentence_scores.update(scores)  # type: ignore[attr-defined]
    return made


@pytest.fixture
def page(chrome: Chrome, tmp_path: Path) -> Iterator[Chrome]:
    """Open the page; the console must stay empty."""
    open_report(chrome, three_systems(), tmp_path / "page.html")
    yield chrome
    assert chrome.get_log("browser") == []


def go(chrome: Chrome, address: str) -> list[int]:
    """Open an address within the page, and return the sentences shown."""
    run_js(chrome, "location.hash = arguments[0]", address)
    wait_until(chrome, f"location.hash === {address!r}")
    chrome.execute_async_script("setTimeout(arguments[0], 50)")
    return sentence_numbers(chrome)


def texts(chrome: Chrome, selector: str) -> list[str]:
    found = run_js(
        chrome,
        "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)",
        selector,
    )
    return [str(text) for text in found]


def test_what_each_system_leaves_out_is_written_below_it(page: Chrome) -> None:
    rows = '.sentence[data-n="0"] .output[data-k="%d"] .omitted'
    assert not any(text.startswith("Missing") for text in texts(page, rows % 0))
    assert "Missing: noir · ici" in texts(page, rows % 1)
    assert "Missing: ici" in texts(page, rows % 2)
    assert texts(page, '.sentence[data-n="0"] .reference mark') == ["noir", "ici"]


def test_repetitions_are_marked_and_all_errors_counted(page: Chrome) -> None:
    assert texts(page, '.sentence[data-n="2"] .output mark.repeated') == ["bon"]
    links = "return [...document.querySelectorAll('#errors td a')].map(a => a.getAttribute('href'))"
    addresses = run_js(page, links)
    assert (
        "#translations?only=missing:1" in addresses and "#translations?only=differs:1" in addresses
    )
    assert "#translations?only=missing:0" not in addresses  # there is none


@pytest.mark.parametrize(
    ("selected", "expected"),
    [
        ("only=missing:1", [1]),
        ("only=missing:2", []),  # a function word
        ("only=repeated:1", [3]),
        ("only=differs:1", [2, 4]),
        ("only=better:0:1", [1, 2, 3, 4]),
        ("only=better:1:0", []),
        ("difference=0:1:-20:-10", [1]),
        ("difference=0:1:0:0&bucket=length:0&page=2", list(range(55, 65))),
        ("difference=0:1:-20:0", [1, 2, 3, 4]),
        ("difference=0:1:-20:-10&only=better:1:0", []),
        ("only=nonsense:7&bucket=length:99&difference=x&sort=y&page=-3", list(range(1, 51))),
        ("page=2", list(range(51, 65))),
    ],
)
def test_filters_have_addresses(page: Chrome, selected: str, expected: list[int]) -> None:
    assert go(page, f"#translations?{selected}") == expected
    reload(page)
    assert sentence_numbers(page) == expected


def test_a_selection_is_a_step_for_back(page: Chrome) -> None:
    from selenium.webdriver.support.ui import Select

    title = page.title
    Select(page.find_element("id", "only")).select_by_value("repeated:1")
    assert sentence_numbers(page) == [3] and "only=repeated:1" in page.current_url
    assert page.title.startswith("short: repeated words")
    go(page, "#sentence-60")
    assert 60 in sentence_numbers(page) and page.title.startswith("Sentence 60")
    focused = "return document.activeElement.closest('.sentence').id"
    assert run_js(page, focused) == "sentence-60"
    page.back()
    wait_until(page, "document.querySelectorAll('.sentence').length === 1")
    assert Select(page.find_element("id", "only")).first_selected_option.text.startswith("repeated")
    page.back()
    wait_until(page, "document.querySelectorAll('.sentence').length === 50")
    assert page.title == title
    run_js(
        page,
        "document.querySelector('#selection') && location.assign('#translations?only=repeated:1')",
    )
    wait_until(page, "!document.getElementById('selection').hidden")
    run_js(page, "document.querySelector('#selection button').click()")
    assert len(sentence_numbers(page)) == 50


def test_points_and_rows_lead_to_their_sentences(page: Chrome) -> None:
    hrefs = "return [...document.querySelectorAll(arguments[0])].map(a => a.getAttribute('href'))"
    (address, *_) = run_js(page, hrefs, "#buckets tbody th a")
    row = texts(page, "#buckets tbody tr:has(th a) td")
    go(page, address)
    assert f"of {row[0]} sentences" in count(page)
    assert run_js(page, hrefs, "#verdict a")


def test_a_range_of_a_histogram_is_brushed(page: Chrome) -> None:
    from selenium.webdriver import ActionChains

    first = page.find_element("css selector", '.histogram[data-pair="0:1"] [data-low="-20"]')
    last = page.find_element("css selector", '.histogram[data-pair="0:1"] [data-low="-10"]')
    run_js(page, "arguments[0].scrollIntoView({block: 'center'})", first)
    ActionChains(page).move_to_element(first).click_and_hold().move_to_element(
        last
    ).release().perform()
    wait_until(page, "location.hash.includes('difference=0:1:-20:-8')")
    assert sentence_numbers(page) == [1, 2, 3, 4]
    assert run_js(page, "return document.querySelectorAll('.histogram .selected').length") == 6
    run_js(page, "document.querySelector('.histogram [data-low=\"-20\"]').focus()")
    from selenium.webdriver import Keys

    page.switch_to.active_element.send_keys(Keys.ENTER)
    wait_until(page, "location.hash.includes('difference=0:1:-20:-18')")
    assert sentence_numbers(page) == [1]


def test_two_systems_are_compared_word_by_word(page: Chrome) -> None:
    go(page, "#translations?against=1")
    first = '.sentence[data-n="0"] .output[data-k="%d"]'
    assert texts(page, f"{first % 0} ins") == ["noir", "ici"] and not texts(
        page, f"{first % 0} del"
    )
    assert texts(page, f"{first % 2} del") == ["le"]
    assert texts(page, f"{first % 2} ins") == ["un", "noir"]
    assert not texts(page, f"{first % 1} :is(ins, del)")
    assert texts(page, f"{first % 2} .text") == ["le un chat noir dort"]


@pytest.mark.parametrize("width", [1440, NARROW])
def test_three_systems_stand_side_by_side_within_the_screen(page: Chrome, width: int) -> None:
    go(page, "#translations?columns=1")
    resize(page, width, 900)
    boxes = run_js(
        page,
        "return [...document.querySelectorAll('.sentence[data-n=\"0\"] .output')]"
        ".map(e => e.getBoundingClientRect()).map(r => [r.left, r.right, r.top])",
    )
    assert len(boxes) == 3 and all(0 <= left < right <= width for left, right, _ in boxes)
    assert (len({top for _, _, top in boxes}) == 1) == (width > NARROW)
    cells = run_js(
        page,
        "return [...document.querySelectorAll('#scores td, #errors td')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth).length",
    )
    assert cells == 0


@pytest.mark.parametrize(
    ("how", "query", "found", "hits"),
    [
        ("part", "CAFE", [3], {"café"}),
        ("part", "chat no", [1], {"chat", "noir"}),
        ("word", "dog", [2], {"dog"}),
        ("word", "do", [], set()),
        (
            "regex",
            r"^le .* (noir|bon)\b",
            [1, 3],
            {"le", "chat", "noir", "café", "est", "bon", "thé"},
        ),
        ("regex", r"\d{4}", [2], {"1999", "1989"}),
        ("regex", "x*", [], set()),
    ],
)
def test_search_marks_its_hits(
    page: Chrome, how: str, query: str, found: list[int], hits: set[str]
) -> None:
    from selenium.webdriver.support.ui import Select

    Select(page.find_element("id", "how")).select_by_value(how)
    search(page, query, f"{len(found)} of 64" if found else "No sentence")
    assert sentence_numbers(page) == found and set(texts(page, ".hit")) == hits


def test_a_wrong_expression_is_reported(page: Chrome) -> None:
    go(page, "#translations?how=regex&q=(")
    assert count(page).startswith("Not a regular expression")
    assert run_js(page, "return document.getElementById('query').ariaInvalid") == "true"


def test_without_scripts_the_first_sentences_stand_there(chrome: Chrome, tmp_path: Path) -> None:
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        open_report(chrome, three_systems(), tmp_path / "page.html")
        root = chrome.execute_cdp_cmd("DOM.getDocument", {})["root"]["nodeId"]

        def all_of(selector: str) -> list[int]:
            asked = {"nodeId": root, "selector": selector}
            nodes = chrome.execute_cdp_cmd("DOM.querySelectorAll", asked)["nodeIds"]
            return [int(node) for node in nodes]

        assert len(all_of("#list .sentence")) == 50
        shown = chrome.execute_cdp_cmd("DOM.getOuterHTML", {"nodeId": all_of("#sentence-1")[0]})
        assert "Missing: <bdi>noir</bdi> · <bdi>ici</bdi>" in shown["outerHTML"]
        assert all_of("#tools[hidden]") and all_of("noscript p")
    finally:
        chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def contrast(page: Chrome, selector: str) -> float:
    """Return the contrast of an element's border with the page's background."""
    script = """
    const light = (c) => c.match(/[\\d.]+/g).slice(0, 3).map(Number)
      .map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const paper = light(getComputedStyle(document.body).backgroundColor);
    const ink = light(getComputedStyle(document.querySelector(arguments[0])).borderTopColor);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);"""
    return float(run_js(page, script, selector))


@pytest.mark.parametrize("dark", [False, True])
def test_borders_of_controls_are_visible(page: Chrome, dark: bool) -> None:
    resize(page, 1200, 900, dark=dark)
    for selector in ("#query", "#only", "#downloads button"):
        assert contrast(page, selector) >= 3


def axe_source() -> str:
    """Return the source of axe-core, if it is installed with npm."""
    root = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, check=False)
    path = Path(root.stdout.strip()) / "axe-core" / "axe.min.js"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_no_violation(page: Chrome, dark: bool) -> None:
    try:
        source = axe_source()
    except OSError:
        source = ""
    if not source:
        pytest.skip("axe-core is not installed; npm install -g axe-core")
    resize(page, 1200, 900, dark=dark)
    go(page, "#translations?only=missing:1&against=0&q=chat")
    run_js(page, "for (const d of document.querySelectorAll('details')) d.open = true")
    page.execute_cdp_cmd("Runtime.evaluate", {"expression": source})
    found: Any = page.execute_async_script(
        "axe.run(document).then(r => arguments[0](r.violations.map(v => [v.id, v.nodes[0].html])))"
    )
    assert found == []
