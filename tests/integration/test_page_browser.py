"""The page of `nmtkit serve` in a real Chromium, with a server of few words behind it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.browser import (
    WAIT_SECONDS,
    browser,
    print_to_pdf,
    reload,
    resize,
    run_js,
    wait_until,
)
from tests.integration.page_server import PageServer
from tests.integration.serving import running

Chrome = Any

HOSTILE = (
    "</script><script>window.boom=1</script> <img src=x onerror=window.boom=1> \u2028 \"' &amp;"
)


@pytest.fixture(scope="module")
def chrome() -> Iterator[Chrome]:
    with browser() as driver:
        yield driver


@pytest.fixture
def server() -> Iterator[PageServer]:
    running = PageServer()
    with running.run():
        yield running


@pytest.fixture
def page(chrome: Chrome, server: PageServer) -> Iterator[Chrome]:
    """Open the page on a wide screen; assert afterwards that nothing was wrong or executed."""
    open_page(chrome, server)
    yield chrome
    assert run_js(chrome, "return window.boom") is None
    errors = [entry["message"] for entry in chrome.get_log("browser") if entry["level"] != "DEBUG"]
    assert [error for error in errors if "ERR_CONNECTION" not in error] == []


def open_page(chrome: Chrome, server: PageServer, width: int = 1200) -> None:
    resize(chrome, width, 900)
    chrome.get(server.url)
    run_js(chrome, "localStorage.clear(); sessionStorage.clear()")
    chrome.get(server.url)
    wait_until(chrome, "document.getElementById('target-language').value === 'fr'")
    wait_until(chrome, "document.getElementById('status').textContent === ''")


def write(page: Chrome, text: str, field: str = "source") -> None:
    element = page.find_element("id", field)
    if max(text, default="") < "\U00010000":
        element.send_keys(text)
    else:  # which the driver has no keys for
        run_js(page, "arguments[0].focus()", element)
        page.execute_cdp_cmd("Input.insertText", {"text": text})


def wait_for_target(page: Chrome, text: str) -> None:
    """Wait until the translation is a text and is finished."""
    wait_until(
        page,
        "document.getElementById('target').value === arguments[0] && document"
        ".getElementById('target-editor').getAttribute('aria-busy') === 'false'",
        text,
    )


def wait_for_text(page: Chrome, name: str, text: str) -> None:
    """Wait until an element shows a text; reading what is hidden is of no use to anyone."""
    wait_until(
        page,
        "(e => e.checkVisibility() && e.textContent.includes(arguments[1]))"
        "(document.getElementById(arguments[0]))",
        name,
        text,
    )


def text_of(page: Chrome, name: str) -> str:
    return str(run_js(page, "return document.getElementById(arguments[0]).textContent", name))


def words(page: Chrome, side: str, kind: str = "word") -> list[str]:
    """Return the words of a class in a pane."""
    script = "return [...document.querySelectorAll(arguments[0])].map(w => w.textContent)"
    return list(run_js(page, script, f"#{side}-mirror .word.{kind}"))


def word(page: Chrome, text: str, side: str = "target") -> Any:
    script = """return [...document.querySelectorAll(arguments[0])]
        .find(w => w.textContent === arguments[1])"""
    return run_js(page, script, f"#{side}-mirror .word", text)


def point_at(page: Chrome, text: str, side: str = "target", click: bool = False) -> None:
    from selenium.webdriver import ActionChains

    actions = ActionChains(page).move_to_element(word(page, text, side))
    (actions.click() if click else actions).perform()


def press(page: Chrome, *keys: str, control: bool = False) -> None:
    from selenium.webdriver import ActionChains, Keys

    actions = ActionChains(page)
    if control:
        actions.key_down(Keys.CONTROL)
    for key in keys:
        actions.send_keys(getattr(Keys, key, key))
    if control:
        actions.key_up(Keys.CONTROL)
    actions.perform()


def options(page: Chrome) -> list[str]:
    script = """return [...document.querySelectorAll('#alternatives [role=option] b')]
        .map(b => b.textContent)"""
    return list(run_js(page, script))


def wait_for_options(page: Chrome, expected: list[str]) -> None:
    wait_until(page, "document.querySelector('#alternatives [role=option]') !== null")
    assert options(page) == expected


def put_cursor(page: Chrome, offset: int) -> None:
    script = """const field = document.getElementById('target');
        field.focus(); field.setSelectionRange(arguments[0], arguments[0])"""
    run_js(page, script, offset)


def focused(page: Chrome) -> str:
    return str(run_js(page, "return document.activeElement.id"))


def test_text_is_translated_while_it_is_typed(page: Chrome) -> None:
    write(page, "The black cat sleeps.")
    wait_for_target(page, "le chat noir dort.")
    write(page, "\nHello\n\na dog 😀 eats")
    wait_for_target(page, "le chat noir dort.\nbonjour\n\nun chien😀 mange")
    loaded = run_js(page, "return performance.getEntriesByType('resource').map(e => e.name)")
    paths = {address.split("/", 3)[3] for address in loaded if not address.startswith("data:")}
    assert paths <= {"languages", "frontend/settings", "glossaries"}


def test_only_the_last_text_counts(page: Chrome, server: PageServer) -> None:
    write(page, "slow cat")
    wait_until_received(page, server, "slow cat")
    write(page, " sleeps slow dog")
    wait_until_received(page, server, "slow cat sleeps slow dog")
    write(page, " eats")
    wait_for_target(page, "SLOW chat dort SLOW chien mange")
    assert {message["slot"] for message in server.received if "text" in message} == {"translation"}


def wait_until_received(page: Chrome, server: PageServer, text: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(page, WAIT_SECONDS, 0.02).until(lambda _: text in server.texts())


def test_lines_that_are_known_are_not_sent_again(page: Chrome, server: PageServer) -> None:
    write(page, "a cat\na dog")
    wait_for_target(page, "un chat\nun chien")
    server.received.clear()
    write(page, " sleeps")
    wait_for_target(page, "un chat\nun chien dort")
    assert server.texts() and all("cat" not in text for text in server.texts())
    server.received.clear()
    press(page, *["BACKSPACE"] * len(" sleeps"))
    wait_for_target(page, "un chat\nun chien")
    assert "a dog" not in server.texts()


def test_pointing_at_a_word_shows_its_alignment(page: Chrome) -> None:
    write(page, "😀 the black cat sleeps")  # offsets of the server count code points
    wait_for_target(page, "😀 le chat noir dort")
    point_at(page, "chat")
    wait_for_text(page, "word-info", "chat ← cat 90\u00a0%, sleeps 10\u00a0%")
    assert words(page, "source", "highlighted") == ["cat", "sleeps"]
    weights = run_js(
        page,
        "return [...document.querySelectorAll('#source-mirror .highlighted')]"
        ".map(w => [w.style.getPropertyValue('--weight'), getComputedStyle(w).backgroundColor])",
    )
    assert [weight for weight, _ in weights] == ["0.900", "0.100"]
    assert len({colour for _, colour in weights}) == 2
    point_at(page, "black", "source")
    wait_for_text(page, "word-info", "black → noir 90\u00a0%")
    assert words(page, "target", "highlighted") == ["le", "noir"]
    assert words(page, "source", "selected") == ["black"]


def test_words_lie_under_the_text_that_is_seen(page: Chrome) -> None:
    """The mirror wraps lines as the field does, also in a narrow window with long words."""
    write(page, "the black cat sleeps " * 12 + "\n\n" + "x" * 90 + " a dog")
    wait_until(page, "document.querySelectorAll('#source-mirror .word').length === 51")
    for width in (1200, 360):
        resize(page, width, 900)
        heights = run_js(
            page,
            "return ['source', 'target'].flatMap(s => [document.getElementById(s),"
            " document.getElementById(s + '-mirror')].map(e => e.scrollHeight))",
        )
        assert heights[0] == heights[1] and heights[2] == heights[3]
        assert run_js(page, "return document.documentElement.scrollWidth") <= width


def test_a_click_offers_alternatives_and_goes_on_from_there(
    page: Chrome, server: PageServer
) -> None:
    write(page, "the black cat sleeps\na dog")
    wait_for_target(page, "le chat noir dort\nun chien")
    point_at(page, "chat", click=True)
    wait_for_options(page, ["matou", "minou"])
    left = run_js(
        page, "return document.getElementById('alternatives').getBoundingClientRect().left"
    )
    assert abs(left - word(page, "chat").rect["x"]) < 5
    page.find_element("id", "alternative-1").click()
    wait_for_target(page, "le minou noir dort\nun chien")
    asked = [message for message in server.received if message.get("alternatives")]
    assert [(m["text"], m["prefix"]) for m in asked] == [("the black cat sleeps", "le ")]
    assert server.received[-1]["prefix"] == "le minou "
    assert "un chien" not in server.received[-1]["text"]
    page.find_element("id", "undo").click()
    wait_for_target(page, "le chat noir dort\nun chien")


def test_everything_works_by_keyboard(page: Chrome) -> None:
    write(page, "the cat sleeps")
    wait_for_target(page, "le chat dort")
    while focused(page) != "target":
        press(page, "TAB")
    press(page, "HOME", "ARROW_RIGHT", "ARROW_RIGHT", "ARROW_RIGHT")
    wait_for_text(page, "word-info", "chat ← cat 90\u00a0%")
    wait_for_announcement(page, "chat ← cat 90\u00a0%")
    press(page, "ENTER")
    wait_for_options(page, ["matou", "minou"])
    press(page, "ARROW_DOWN")
    field = page.find_element("id", "target")
    active = field.get_attribute("aria-activedescendant")
    assert page.find_element("id", active).get_attribute("aria-selected") == "true"
    wait_for_announcement(page, "minou instead of chat")
    press(page, "ENTER")
    wait_for_target(page, "le minou dort")
    assert focused(page) == "target"
    press(page, "ENTER", "ESCAPE")
    assert not page.find_element("id", "alternatives").is_displayed()
    press(page, "z", control=True)
    wait_for_target(page, "le chat dort")


def wait_for_announcement(page: Chrome, text: str) -> None:
    wait_until(
        page, "document.getElementById('announcement').textContent.includes(arguments[0])", text
    )


def test_the_translation_goes_on_from_what_was_typed(page: Chrome, server: PageServer) -> None:
    write(page, "the black cat sleeps")
    wait_for_target(page, "le chat noir dort")
    put_cursor(page, 2)
    press(page, " ", "gros", "DELETE", "DELETE", "DELETE", "DELETE", "DELETE")
    wait_for_target(page, "le gros noir dort")
    assert words(page, "target") == ["le", "noir", "dort"]  # words outside the change
    point_at(page, "noir")
    assert words(page, "source", "highlighted") == ["black", "cat"]
    put_cursor(page, len("le gros"))
    press(page, "ENTER", control=True)
    wait_for_target(page, "le gros noir dort")
    assert server.received[-1]["prefix"] == "le gros"
    assert words(page, "target") == ["le", "gros", "noir", "dort"]
    press(page, "z", control=True)
    press(page, "z", control=True)
    wait_for_target(page, "le chat noir dort")


def test_lines_stay_one_to_one(page: Chrome) -> None:
    write(page, "a cat\na dog")
    wait_for_target(page, "un chat\nun chien")
    put_cursor(page, len("un chat\n"))
    press(page, "BACKSPACE")
    wait_for_text(page, "error", "one line of translation")
    wait_for_target(page, "un chat\nun chien")


def test_what_was_typed_survives_a_change_of_another_line(page: Chrome) -> None:
    write(page, "a cat\na dog")
    wait_for_target(page, "un chat\nun chien")
    put_cursor(page, len("un chat"))
    press(page, "on")
    write(page, " sleeps")
    wait_for_target(page, "un chaton\nun chien dort")


def test_a_glossary_is_kept_for_its_languages(page: Chrome, server: PageServer) -> None:
    write(page, "cat = minet | matou\nhouse = impossible\nwrong line", "glossary")
    write(page, "a cat\na house\na dog")
    wait_for_target(page, "un minet\nun impossible\nun chien")
    wait_for_text(page, "missing", "“house” (line 2)")
    wait_for_text(page, "glossary-error", "Line 3 is not used")
    assert server.received[-1]["terms"] == [["cat", "minet|matou"], ["house", "impossible"]]
    server.received.clear()
    reload(page)
    wait_until(page, "document.getElementById('glossary').value.startsWith('cat =')")
    page.find_element("id", "swap").click()
    assert page.find_element("id", "glossary").get_attribute("value") == ""


def test_a_request_has_as_many_terms_as_the_server_takes(page: Chrome, server: PageServer) -> None:
    words = [f"w{number:03}" for number in range(120)]
    write(page, "\n".join(f"{word} = t{word}" for word in words), "glossary")
    server.received.clear()
    lines = [" ".join(words[:60]), " ".join(words[60:])]
    write(page, "\n".join(lines))
    wait_until_received(page, server, lines[1])
    sent = [message for message in server.received if "text" in message]
    assert all(len(message["terms"]) <= 100 for message in sent)
    last = next(message for message in sent if message["text"] == lines[1])
    assert [word for word, _ in last["terms"]] == words[60:]


def test_a_glossary_of_the_server_can_be_chosen(page: Chrome, server: PageServer) -> None:
    from selenium.webdriver.support.ui import Select

    write(page, "a cat")
    wait_for_target(page, "un chat")
    Select(page.find_element("id", "named-glossary")).select_by_value("law")
    wait_until_asked(page, server, glossary="law")


def wait_until_asked(page: Chrome, server: PageServer, **fields: Any) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(page, WAIT_SECONDS, 0.02).until(
        lambda _: server.received and fields.items() <= server.received[-1].items()
    )


def test_doubtful_words_are_marked_not_by_colour_alone(page: Chrome, server: PageServer) -> None:
    write(page, "the big black cat sleeps")
    wait_for_target(page, "le noir chat grand dort")
    assert words(page, "target", "doubtful") == ["noir"]
    assert words(page, "target", "uncertain") == ["grand"]
    styles = run_js(
        page,
        "return [...document.querySelectorAll('#target-mirror .doubtful, #target-mirror"
        " .uncertain')].map(w => getComputedStyle(w).textDecorationStyle)",
    )
    assert styles == ["wavy", "dotted"]
    point_at(page, "noir")
    wait_for_text(page, "word-info", "35\u00a0% sure, doubtful")
    wait_for_text(page, "confidence", "35\u00a0% sure")
    page.find_element("id", "show-confidence").click()
    wait_for_target(page, "le noir chat grand dort")
    assert words(page, "target", "doubtful") == [] and text_of(page, "confidence") == ""
    assert "confidence" not in server.received[-1]


def test_a_model_without_confidences_is_said(page: Chrome, server: PageServer) -> None:
    server.calibrated = False
    write(page, "the black cat")
    wait_for_target(page, "le chat noir")
    wait_for_text(page, "uncalibrated", "not calibrated")
    assert not page.find_element("id", "legend").is_displayed()
    assert words(page, "target", "doubtful") == []


def test_languages_can_be_swapped(page: Chrome) -> None:
    from selenium.webdriver.support.ui import Select

    write(page, "the cat sleeps")
    wait_for_target(page, "le chat dort")
    page.find_element("id", "swap").click()
    wait_for_target(page, "the cat sleeps")
    assert page.find_element("id", "source").get_attribute("value") == "le chat dort"
    assert page.find_element("id", "target").get_attribute("lang") == "en"
    page.find_element("id", "swap").click()
    Select(page.find_element("id", "target-language")).select_by_value("ar")
    assert not page.find_element("id", "swap").is_enabled()  # nothing translates from Arabic
    reload(page)
    wait_until(page, "document.getElementById('target-language').value === 'ar'")


def test_languages_that_nothing_translates_from_have_names(
    page: Chrome, server: PageServer
) -> None:
    server.languages[:] = [{"code": "en", "name": "English", "targets": ["en", "de", "x-none"]}]
    reload(page)
    wait_until(page, "document.getElementById('target-language').options.length === 2")
    script = "return [...document.getElementById('target-language').options].map(o => o.text)"
    assert run_js(page, script) == ["German", "x-none"]


def test_a_pair_without_a_model_says_through_which_language_it_is_translated(
    page: Chrome, server: PageServer
) -> None:
    from selenium.webdriver.support.ui import Select

    server.languages[0] = {**server.languages[0], "through": {"ar": "fr"}}
    server.calibrated = False
    reload(page)
    wait_until(page, "document.getElementById('target-language').value === 'fr'")
    write(page, "cat = minet", "glossary")
    Select(page.find_element("id", "named-glossary")).select_by_value("law")
    write(page, "a cat")
    wait_for_target(page, "un minet")
    wait_for_text(page, "uncalibrated", "not calibrated")
    target = Select(page.find_element("id", "target-language"))
    assert [one.text for one in target.options] == ["French", "Arabic (through French)"]
    target.select_by_value("ar")
    wait_for_target(page, "un chat")
    wait_for_text(page, "glossary-error", "Terms cannot be applied through French.")
    wait_for_text(page, "uncalibrated", "Not known for translations through French.")
    sent = server.received[-1]
    assert sent["target"] == "ar" and not sent["terms"] and "glossary" not in sent
    fields = [page.find_element("id", name) for name in ("glossary", "named-glossary")]
    assert not any(field.is_enabled() for field in fields)
    target.select_by_value("fr")
    wait_for_target(page, "un minet")
    assert all(field.is_enabled() for field in fields)
    assert text_of(page, "glossary-error") == ""
    write(page, "a cat and a dog")
    wait_until_asked(page, server, glossary="law", terms=[["cat", "minet"]])


def test_text_runs_in_the_direction_of_its_script(page: Chrome) -> None:
    write(page, "السلام عليكم\nhello")
    wait_for_target(page, "السلام عليكم\nbonjour")
    lefts = run_js(
        page,
        "return [...document.querySelectorAll('#source-mirror .word')]"
        ".map(w => w.getBoundingClientRect().left)",
    )
    assert lefts[0] > lefts[1] > lefts[2]


def test_text_is_never_executed(page: Chrome) -> None:
    write(page, HOSTILE + "\ncat")
    wait_until(page, "document.getElementById('target').value.endsWith('chat')")
    write(page, "<b>x</b> = <img src=x onerror=window.boom=1>", "glossary")
    point_at(page, "chat", click=True)
    wait_for_options(page, ["matou", "minou"])
    assert run_js(page, "return document.querySelectorAll('img').length") == 0


def test_scripts_from_elsewhere_are_refused(chrome: Chrome, server: PageServer) -> None:
    open_page(chrome, server)
    run_js(
        chrome,
        "const tries = [() => document.body.setAttribute('onclick', 'window.boom=1'),"
        " () => { document.body.innerHTML += '<img src=x onerror=window.boom=1>'; },"
        " () => eval('window.boom=1'), () => fetch('https://example.org/').catch(() => 0)];"
        "setTimeout(() => {"  # WebDriver's own scripts may use eval
        " for (const run of tries) { try { run(); } catch { window.refused = true; } }"
        " document.body.click(); window.tried = true; })",
    )
    wait_until(chrome, "window.tried")
    assert run_js(chrome, "return [window.boom, window.refused]") == [None, True]
    refused = " ".join(entry["message"] for entry in chrome.get_log("browser"))
    assert "TrustedScript" in refused and "https://example.org/" in refused


def test_what_was_typed_stays_when_it_cannot_be_continued(page: Chrome, server: PageServer) -> None:
    write(page, "the cat")
    wait_for_target(page, "le chat")
    put_cursor(page, len("le ch"))
    server.fail_next.append(400)
    press(page, "ENTER", control=True)
    wait_for_text(page, "error", "Refused with 400.")
    wait_for_target(page, "le chat")


@pytest.mark.parametrize("status", [413, 500])
def test_errors_are_sentences_and_pass(page: Chrome, status: int) -> None:
    write(page, f"status{status} cat")
    wait_for_text(page, "error", f"Refused with {status}.")
    page.find_element("id", "clear").click()
    write(page, "a cat")
    wait_for_target(page, "un chat")
    assert not page.find_element("id", "error").is_displayed()


def test_a_busy_server_is_asked_again(page: Chrome, server: PageServer) -> None:
    server.fail_next.append(429)
    write(page, "cat")
    wait_for_text(page, "error", "Refused with 429. Trying again in 3 seconds.")
    wait_for_target(page, "chat")
    assert not page.find_element("id", "error").is_displayed()


def test_text_beyond_the_limit_is_not_sent(page: Chrome, server: PageServer) -> None:
    run_js(page, "document.getElementById('source').value = '😀'.repeat(2000)")
    write(page, "x")
    wait_for_text(page, "error", "The text has 2,001 characters; this server takes 2,000.")
    wait_for_text(page, "counter", "2,001 of 2,000 characters")
    press(page, "BACKSPACE")
    wait_until_received(page, server, "😀" * 2000)
    assert not page.find_element("id", "error").is_displayed()


def test_the_page_reconnects(chrome: Chrome) -> None:
    server = PageServer()
    with server.run():
        open_page(chrome, server)
        write(chrome, "a cat")
        wait_for_target(chrome, "un chat")
    wait_for_text(chrome, "status", "No connection to the server")
    write(chrome, " sleeps")
    with server.run():
        wait_for_target(chrome, "un chat dort")
        assert text_of(chrome, "status") == ""
    chrome.get("about:blank")
    chrome.get_log("browser")


def test_files_are_translated_and_offered(page: Chrome, server: PageServer, tmp_path: Path) -> None:
    for name, text in (("a.txt", "un"), ("b.pdf", "deux"), ("c.txt", "status")):
        (tmp_path / name).write_text(text)
    chooser = page.find_element("id", "file-input")
    chooser.send_keys("\n".join(str(tmp_path / name) for name in ("a.txt", "b.pdf", "c.txt")))
    wait_for_text(page, "file-list", "Save fr-a.txt")
    wait_for_text(page, "file-list", "it reads .txt, .docx")
    wait_for_text(page, "file-list", "The file is too large.")
    assert server.files == ["a.txt", "c.txt"]
    link = page.find_element("css selector", "a.download")
    read = "return fetch(arguments[0].href).then(r => r.text()).catch(e => String(e))"
    assert link.get_attribute("download") == "fr-a.txt"
    assert run_js(page, read, link).startswith("TypeError")  # connect-src: this server alone
    page.get_log("browser")


def test_files_can_be_dropped(page: Chrome, server: PageServer) -> None:
    drop = """const data = new DataTransfer();
        data.items.add(new File(['bonjour'], 'letter.txt'));
        const fire = (kind) => document.body.dispatchEvent(
            new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true}));
        fire('dragenter');
        const shown = document.getElementById('drop-hint').checkVisibility();
        fire('drop');
        return shown && !document.getElementById('drop-hint').checkVisibility();"""
    assert run_js(page, drop)
    wait_for_text(page, "file-list", "Save fr-letter.txt")
    assert server.files == ["letter.txt"]


def test_a_key_is_asked_for_only_where_needed(chrome: Chrome) -> None:
    server = PageServer()
    with server.run():
        open_page(chrome, server)
        assert not chrome.find_element("id", "api-key").is_displayed()
        server.settings["apiKeys"] = True
        reload(chrome)
        wait_until(chrome, "document.getElementById('api-key').checkVisibility()")
        chrome.find_element("id", "api-key").send_keys("secret\n")
        write(chrome, "cat")
        wait_for_target(chrome, "chat")
        assert server.received[-1]["api_key"] == "secret"
        assert run_js(chrome, "return JSON.stringify(localStorage)").find("secret") < 0


def test_the_translation_is_copied(page: Chrome) -> None:
    write(page, "a cat")
    wait_for_target(page, "un chat")
    page.find_element("id", "copy").click()
    wait_for_text(page, "copy", "Copied")
    page.find_element("id", "clear").click()
    wait_for_target(page, "")
    page.find_element("id", "source").click()
    press(page, "v", control=True)
    wait_until(page, "document.getElementById('source').value === 'un chat'")


def test_colours_follow_the_system_or_the_choice(chrome: Chrome, server: PageServer) -> None:
    from selenium.webdriver.support.ui import Select

    open_page(chrome, server)
    background = "return getComputedStyle(document.body).backgroundColor"
    light = run_js(chrome, background)
    resize(chrome, 1200, 900, dark=True)
    dark = run_js(chrome, background)
    assert dark != light
    Select(chrome.find_element("id", "theme")).select_by_value("light")
    assert run_js(chrome, background) == light
    reload(chrome)
    assert run_js(chrome, background) == light


def test_a_narrow_screen_shows_everything(chrome: Chrome, server: PageServer) -> None:
    open_page(chrome, server, width=360)
    write(chrome, "the black cat sleeps")
    wait_for_target(chrome, "le chat noir dort")
    point_at(chrome, "dort", click=True)
    wait_for_options(chrome, ["sommeille"])
    assert run_js(chrome, "return document.documentElement.scrollWidth") <= 360
    menu = chrome.find_element("id", "alternatives").rect
    assert menu["x"] >= 0 and menu["x"] + menu["width"] <= 360
    press(chrome, "ESCAPE")


def test_screen_readers_hear_results_not_every_key(page: Chrome) -> None:
    run_js(
        page,
        "window.heard = []; new MutationObserver(() => window.heard.push(document"
        ".getElementById('announcement').textContent)).observe(document.getElementById("
        "'announcement'), {childList: true})",
    )
    for character in "the cat":
        write(page, character)
    wait_for_announcement(page, "Translation: le chat")
    assert run_js(page, "return window.heard") == ["Translation: le chat"]


def test_the_page_is_printed(page: Chrome, tmp_path: Path) -> None:
    write(page, "the black cat sleeps")
    wait_for_target(page, "le chat noir dort")
    print_to_pdf(page, tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().count(b"/Type /Page\n") == 1


def test_without_scripts_the_page_says_so(chrome: Chrome, server: PageServer) -> None:
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        chrome.get(server.url)
        assert "POST /translate" in chrome.find_element("tag name", "noscript").text
        assert not chrome.find_element("id", "main").is_displayed()
    finally:
        chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_the_server_translates_for_its_page(chrome: Chrome, model: Path, tmp_path: Path) -> None:
    with running(model) as real:
        resize(chrome, 1200, 900)
        chrome.get(real.url)
        wait_until(chrome, "document.getElementById('target-language').value === 'fr'")
        write(chrome, "one two three\n\nfour")
        wait_for_target(chrome, real.text("one two three\n\nfour"))
        assert words(chrome, "source") == ["one", "two", "three", "four"]
        assert words(chrome, "target")
        point_at(chrome, "two", "source")
        assert text_of(chrome, "word-info").startswith("two → ")
        (tmp_path / "numbers.txt").write_text("one\ntwo\n")
        chrome.find_element("id", "file-input").send_keys(str(tmp_path / "numbers.txt"))
        wait_for_text(chrome, "file-list", "Save")
        assert [entry for entry in chrome.get_log("browser") if entry["level"] != "DEBUG"] == []
        chrome.get("about:blank")
