"""The report's page in a real Chromium: interaction, accessibility and security."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nmtkit.report.model_report import ModelReport
from tests.integration.browser import browser, print_to_pdf, resize, run_js
from tests.integration.report_pages import (
    Chrome,
    LoadReport,
    count,
    open_report,
    search,
    sentence_numbers,
    sort,
    wait_until,
)
from tests.unit.report.reports import line, output, report

HOSTILE = (
    "</script><script>window.boom=1</script> <img src=x onerror=window.boom=1> \u2028 \"' &amp;"
)
ARABIC = "السلام عليكم يا صديقي"
SOURCES = ["the black cat sleeps", "a dog", HOSTILE, ARABIC, "one two three four five six"]
REFERENCES = ["le chat noir dort", "un chien", "du texte", "bonjour mon ami", "un deux trois"]
GOOD = ["le chat noir dort", "un chien", HOSTILE, "bonjour", "un deux"]
BAD = ["la chat dort bien", "dort", "rien du tout", "ami", ""]
LARGE_REPORT_SENTENCES = 150
"""Sentences of the larger report: three pages."""


@pytest.fixture(scope="module")
def chrome() -> Iterator[Chrome]:
    with browser() as driver:
        yield driver


@pytest.fixture
def load(chrome: Chrome, tmp_path: Path) -> LoadReport:
    """Return a function that opens a report's page in the browser on a wide screen."""

    return lambda model_report: open_report(chrome, model_report, tmp_path / "page.html")


@pytest.fixture
def small(load: LoadReport) -> None:
    """Load a report of five sentences; `good` has alignments, `bad` has none."""
    systems = {
        "good": [output(text, line(s), n) for n, (text, s) in enumerate(zip(GOOD, SOURCES))],  # noqa: B905
        "bad": [output(text, line(s), aligned=False) for text, s in zip(BAD, SOURCES)],  # noqa: B905
    }
    load(report(SOURCES, REFERENCES, systems, aligned=["good"]))


def large(sentences: int = LARGE_REPORT_SENTENCES) -> ModelReport:
    sources = [f"word{n} " + "x " * (n % 9) + "end" for n in range(sentences)]
    systems = {
        name: [output(f"mot{n} fin", line(source), n) for n, source in enumerate(sources)]
        for name in ("one", "two")
    }
    return report(sources, ["mot fin"] * sentences, systems, aligned=["one", "two"])


def highlighted(chrome: Chrome) -> list[tuple[str, float]]:
    """Return the highlighted words with their weights."""
    words = run_js(
        chrome,
        "return [...document.querySelectorAll('.word.highlighted')].map(w => [w.textContent,"
        " Number(w.style.getPropertyValue('--weight')),"
        " getComputedStyle(w).backgroundColor, w.closest('.row').dataset.k])",
    )
    assert all(colour != "rgba(0, 0, 0, 0)" for _, _, colour, _ in words)
    return [(word, weight) for word, weight, _, _ in words]


def row(number: int, k: int) -> str:
    return f'.sentence[data-n="{number}"] .row[data-k="{k}"]'


def column(k: int, sentence: int, index: int) -> dict[str, float]:
    """Return target words of `good` with a weight of at least 0.05 for a source word."""
    source = line(SOURCES[sentence])
    translation = output(GOOD[sentence], source, sentence)
    assert translation.alignment
    weights = translation.alignment.matrix[:, index].tolist()
    return {w: x for w, x in zip(translation.line.words, weights, strict=False) if x >= 0.05}


@pytest.fixture(autouse=True)
def no_errors_and_no_injected_script(chrome: Chrome) -> Iterator[None]:
    """Assert after each test that the console is empty and no text was executed."""
    yield
    assert chrome.get_log("browser") == []
    assert run_js(chrome, "return window.boom") is None


@pytest.mark.usefixtures("small")
def test_a_page_opens_with_all_its_sections(chrome: Chrome) -> None:
    headings = run_js(chrome, "return [...document.querySelectorAll('h2')].map(h => h.textContent)")
    assert headings == [
        *("Verdict", "Scores", "Errors", "Strengths and weaknesses", "Training", "Provenance"),
        "Translations",
    ]
    assert sentence_numbers(chrome) == [1, 2, 3, 4, 5] and count(chrome) == "1 to 5 of 5 sentences."
    loaded = run_js(chrome, "return performance.getEntriesByType('resource').map(e => e.name)")
    assert [name for name in loaded if not name.startswith("data:")] == []


@pytest.mark.usefixtures("small")
def test_a_source_word_highlights_its_target_words(chrome: Chrome) -> None:
    from selenium.webdriver import ActionChains

    words = chrome.find_elements("css selector", f"{row(0, -1)} .word")
    for index, word in enumerate(words):
        ActionChains(chrome).move_to_element(word).perform()
        expected = column(0, 0, index)
        assert dict(highlighted(chrome)) == pytest.approx(expected, abs=1 / 63)
        text = chrome.find_element("css selector", ".sentence .alignment-text").text
        assert text.startswith(f"{word.text} →")
        assert all(f"{w} {round(round(63 * x) / 63 * 100)}" in text for w, x in expected.items())
        assert len(chrome.find_elements("css selector", ".cursor")) == 1
    ActionChains(chrome).move_to_element(chrome.find_element("id", "count")).perform()
    assert highlighted(chrome) == []
    target = chrome.find_element("css selector", f"{row(0, 0)} .word")
    ActionChains(chrome).move_to_element(target).perform()
    assert {word for word, _ in highlighted(chrome)} <= set(SOURCES[0].split())
    assert not chrome.find_elements("css selector", f"{row(0, 1)} .thumbnail")
    assert "bad: no alignments" in chrome.find_element("id", "translations").text


@pytest.mark.usefixtures("small")
def test_a_tap_highlights_and_another_tap_clears(chrome: Chrome) -> None:
    word = chrome.find_element("css selector", f"{row(0, -1)} .word:nth-of-type(2)")
    run_js(chrome, "arguments[0].click()", word)
    assert dict(highlighted(chrome)) == pytest.approx(column(0, 0, 1), abs=1 / 63)
    run_js(chrome, "arguments[0].click()", word)
    assert highlighted(chrome) == []


@pytest.mark.usefixtures("small")
def test_everything_is_reachable_by_keyboard(chrome: Chrome) -> None:
    from selenium.webdriver import ActionChains, Keys

    def press(*keys: str) -> None:
        ActionChains(chrome).send_keys(*keys).perform()

    run_js(chrome, "[...document.querySelectorAll('#shown input')].at(-1).focus()")
    press(Keys.TAB, Keys.TAB)  # past the link of the sentence, to the first word
    focused = "return [document.activeElement.textContent, document.activeElement.dataset.i]"
    assert run_js(chrome, focused) == ["the", "0"]
    press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert run_js(chrome, focused) == ["cat", "2"]
    assert dict(highlighted(chrome)) == pytest.approx(column(0, 0, 2), abs=1 / 63)
    assert run_js(chrome, "return document.getElementById('announcement').textContent").startswith(
        "cat →"
    )
    press(Keys.END)
    assert run_js(chrome, focused) == ["sleeps", "3"]
    press(Keys.ARROW_RIGHT)
    assert run_js(chrome, focused) == ["sleeps", "3"]
    press(Keys.ESCAPE)
    assert highlighted(chrome) == []
    press(Keys.TAB, Keys.TAB, Keys.ENTER)  # past the translation's words, to its word scores
    assert run_js(chrome, "return document.activeElement.parentElement.open")
    wait_until(chrome, "document.querySelector('.word-scores')")
    scores = chrome.find_elements("css selector", f"{row(0, 0)} .word-scores li")
    assert [item.text.split("\n")[0] for item in scores] == ["le", "chat", "noir", "dort", "</s>"]
    press(Keys.TAB, Keys.ENTER)
    wait_until(chrome, "document.querySelector('.nbest')")
    lists = [item.text for item in chrome.find_elements("css selector", f"{row(0, 0)} .nbest li")]
    assert len(lists) == 3 and lists[2].endswith("le chat noir dort etc etc")
    press(Keys.TAB, Keys.ENTER)
    labels = chrome.find_elements("css selector", f"{row(0, 0)} .matrix text")
    words = [*SOURCES[0].split(), "</s>", *GOOD[0].split(), "</s>"]
    assert [label.text for label in labels] == words
    press(Keys.ENTER)
    assert not chrome.find_elements("css selector", ".matrix")


@pytest.mark.usefixtures("small")
def test_a_right_to_left_source_is_navigated_right_to_left(chrome: Chrome) -> None:
    from selenium.webdriver import ActionChains, Keys

    first = chrome.find_element("css selector", f"{row(3, -1)} .word")
    assert run_js(chrome, "return getComputedStyle(arguments[0]).direction", first) == "rtl"
    run_js(chrome, "arguments[0].focus()", first)
    ActionChains(chrome).send_keys(Keys.ARROW_LEFT).perform()
    assert run_js(chrome, "return document.activeElement.textContent") == ARABIC.split()[1]


@pytest.mark.usefixtures("small")
def test_hostile_text_is_shown_and_not_executed(chrome: Chrome) -> None:
    text = run_js(
        chrome, "return document.querySelector(arguments[0]).textContent", f"{row(2, 0)} .text"
    )
    assert text == " ".join(HOSTILE.split())
    assert not chrome.find_elements("css selector", "main img")
    search(chrome, "onerror", "1 of 5")
    assert sentence_numbers(chrome) == [3]


@pytest.mark.usefixtures("small")
def test_differences_from_the_reference_are_marked(chrome: Chrome) -> None:
    marks = "return [...document.querySelectorAll(arguments[0])].map(m => m.textContent)"
    assert run_js(chrome, marks, f"{row(0, 0)} mark") == []
    assert run_js(chrome, marks, f"{row(0, 1)} mark.different") == ["la"]
    assert run_js(chrome, marks, f"{row(0, 1)} mark.added") == ["bien"]
    reference = '.sentence[data-n="0"] .reference mark'
    assert run_js(chrome, marks, reference) == ["noir"]
    styles = "return getComputedStyle(document.querySelector(arguments[0])).textDecorationStyle"
    assert run_js(chrome, styles, reference) == "dashed"
    assert run_js(chrome, styles, f"{row(0, 1)} mark.different") == "dotted"
    assert run_js(chrome, styles, f"{row(0, 1)} mark.added") == "double"
    chrome.find_elements("css selector", "#shown input")[1].click()
    assert run_js(chrome, marks, reference) == []  # `good` has all words of the reference


@pytest.mark.usefixtures("small")
def test_systems_are_shown_and_hidden(chrome: Chrome) -> None:
    rows = "return [...document.querySelectorAll('.row.output')].map(r => r.dataset.k)"
    assert run_js(chrome, rows) == ["0", "1"] * 5
    for box, remaining in ((0, ["1"] * 5), (1, []), (0, ["0"] * 5)):
        chrome.find_elements("css selector", "#shown input")[box].click()
        assert run_js(chrome, rows) == remaining


def test_a_single_system_has_no_choice_of_systems(chrome: Chrome, load: LoadReport) -> None:
    load(report(SOURCES, REFERENCES, {"one": [output("x", line(s)) for s in SOURCES]}, ["one"]))
    assert not chrome.find_element("id", "shown").is_displayed()
    assert chrome.find_element("id", "downloads").is_displayed()
    assert "difference" not in run_js(chrome, "return document.getElementById('sort').innerHTML")


@pytest.mark.usefixtures("small")
def test_sentences_are_searched_and_sorted(chrome: Chrome) -> None:
    assert sort(chrome, "length") == [2, 1, 4, 3, 5]
    assert sort(chrome, "length", descending=True) == [3, 5, 1, 4, 2]
    assert sort(chrome, "quality:0") == [1, 2, 3, 4, 5]
    assert sort(chrome, "quality:1", descending=True) == [5, 4, 3, 2, 1]
    scores = [output(text, line(s), n).best for n, (text, s) in enumerate(zip(GOOD, SOURCES))]  # noqa: B905
    means = [best.score / len(best.word_scores) for best in scores if best]
    assert sort(chrome, "score:0") == sorted(range(1, 6), key=lambda n: means[n - 1])
    assert sort(chrome, "difference:0:1") == [1, 2, 3, 4, 5]
    search(chrome, "CHIEN", "1 of 5")
    assert sentence_numbers(chrome) == [2] and count(chrome).startswith("1 to 1 of 1 sentence;")
    search(chrome, "nothing-has-this", "No sentence")
    assert sentence_numbers(chrome) == []


def test_the_document_holds_one_page_of_sentences(chrome: Chrome, load: LoadReport) -> None:
    nodes = "return document.querySelectorAll('#list *').length"
    load(large(50))
    fifty = run_js(chrome, nodes)
    load(large())
    assert run_js(chrome, nodes) == pytest.approx(fifty, rel=0.1) and fifty < 10000
    assert len(sentence_numbers(chrome)) == 50
    assert run_js(chrome, "return document.getElementById('previous').disabled")
    for first in (51, 101):
        run_js(chrome, "document.getElementById('next').click()")
        assert sentence_numbers(chrome)[0] == first and len(sentence_numbers(chrome)) == 50
    assert count(chrome) == "101 to 150 of 150 sentences."
    assert run_js(chrome, "return document.getElementById('next').disabled")
    search(chrome, "mot149", "1 of 150")
    assert sentence_numbers(chrome) == [150]
    for key in ("length", "quality:1", "score:0", "difference:0:1", "file"):
        assert len(sort(chrome, key)) == 1


@pytest.mark.usefixtures("small")
def test_saved_translations_equal_the_originals(chrome: Chrome) -> None:
    """Read what a click on Save would write: the browser has no folder for real downloads."""
    saved = run_js(
        chrome,
        """const saved = []; const real = URL.createObjectURL;
        URL.createObjectURL = (blob) => { saved.push(blob); return "#"; };
        for (const b of document.querySelectorAll("#downloads button")) b.click();
        URL.createObjectURL = real;
        return Promise.all(saved.map((blob) => blob.text()));""",
    )
    assert saved == ["".join(f"{text}\n" for text in texts) for texts in (GOOD, BAD)]


@pytest.mark.usefixtures("small")
def test_every_control_has_an_accessible_name(chrome: Chrome) -> None:
    """For screen readers: controls have names, ids are unique, heading levels are not skipped."""
    unnamed = run_js(
        chrome,
        """return [...document.querySelectorAll("input, select, button, [role=img], [role=region]")]
        .filter(e => !(e.labels?.length || e.ariaLabel || e.textContent.trim()))
        .map(e => e.outerHTML)""",
    )
    assert unnamed == []
    ids = run_js(chrome, "return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    levels = run_js(
        chrome, "return [...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])"
    )
    assert levels[0] == 1 and all(b - a <= 1 for a, b in zip(levels, levels[1:], strict=False))
    broken = run_js(
        chrome,
        """return [...document.querySelectorAll("[aria-labelledby], [href^='#']")]
        .map(e => e.getAttribute("aria-labelledby") ?? e.getAttribute("href").slice(1))
        .filter(id => !id.startsWith("translations?") && !document.getElementById(id))""",
    )
    assert broken == []


CONTRAST = """
const rgb = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
const light = (c) => c.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const paper = light(rgb(getComputedStyle(document.body).backgroundColor));
const elements = "p, td, th, h1, h2, h3, summary, .label, dt, dd, .word, label, a, option";
return [...document.querySelectorAll(elements)]
  .map(e => light(rgb(getComputedStyle(e).color)))
  .map(ink => (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05))
  .reduce((least, ratio) => Math.min(least, ratio), 99);
"""


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark_are_readable(chrome: Chrome, dark: bool, tmp_path: Path) -> None:
    papers = []
    for scheme in (False, dark):
        resize(chrome, 1200, 900, dark=scheme)
        papers.append(run_js(chrome, "return getComputedStyle(document.body).backgroundColor"))
        assert run_js(chrome, CONTRAST) > 4.5
    assert (papers[0] != papers[1]) == dark
    assert chrome.save_screenshot(str(tmp_path / "page.png"))


@pytest.mark.usefixtures("small")
def test_the_page_fits_a_phone(chrome: Chrome) -> None:
    resize(chrome, 360, 780)
    run_js(chrome, "for (const d of document.querySelectorAll('details')) d.open = true")
    run_js(chrome, "for (const b of document.querySelectorAll('.thumbnail')) b.click()")
    wait_until(chrome, "document.querySelectorAll('.matrix').length === 5")
    assert run_js(chrome, "return document.documentElement.scrollWidth") == 360


@pytest.mark.usefixtures("small")
def test_print_omits_interactive_controls(chrome: Chrome, tmp_path: Path) -> None:
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = "return document.querySelector(arguments[0]).checkVisibility()"
    hidden = (".tools", ".pager", ".hint", "#translations", "#training", "#systems", "nav")
    assert [run_js(chrome, shown, part) for part in hidden] == [False] * len(hidden)
    assert all(run_js(chrome, shown, part) for part in ("#verdict", "#scores", "#errors"))
    run_js(chrome, "location.hash = '#translations?only=missing:1'")
    wait_until(chrome, "document.body.classList.contains('selected')")
    assert run_js(chrome, shown, ".sentence") and not run_js(chrome, shown, "#scores")
    # A printer cuts off what stands left of the text.
    left = "return document.querySelector(arguments[0]).getBoundingClientRect().left"
    assert run_js(chrome, left, ".sentence .label") == run_js(chrome, left, "main")
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    print_to_pdf(chrome, tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
