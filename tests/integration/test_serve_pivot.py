"""`nmtkit serve --pivot` over real sockets: two models that translate in turn."""

import json
import xmlrpc.client
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import FRENCH, Nmtkit
from tests.integration.serving import Running, running
from tests.unit.documents.office_files import PICTURE, body_of, members_of, run, word

FIRST, LAST = {"source": "de", "target": "en"}, {"source": "en", "target": "fr"}
WHOLE = {"source": "de", "target": "fr"}

LINES = [" ".join(FRENCH[:3]), "", "  ", "quatre cinq", "neuf huit sept six", "zéro"]

XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="de" target-language="fr" original="a" datatype="plaintext"><body>
<trans-unit id="1"><source>un <g id="1">deux</g> trois. Quatre <x id="2"/> six.</source>
</trans-unit>
<trans-unit id="2"><source>sept</source><target state="final">kept</target></trans-unit>
</body></file></xliff>
"""

HTML = (
    '<body title="un deux">\n'
    '<p>un <b>deux</b> trois. Quatre <a href="x?a=1&amp;b=2">cinq</a>.</p>\n'
)


@pytest.fixture(autouse=True, scope="module")
def hosts_start_at_once(preloaded: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nmtkit.serve.model_process.PYTHON", preloaded / "python")
        yield


@pytest.fixture(scope="module")
def back(
    corpus: Path, small: list[str], nmtkit: Nmtkit, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a model from the second language of `corpus`, which its config calls `de`, into en."""
    folder = tmp_path_factory.mktemp("back")
    splits: list[object] = []
    for name in ("train", "dev"):
        splits += [f"--{name}", corpus / f"{name}.fr", corpus / f"{name}.en"]
    options = ["-s", "de", "-t", "en", "--subword", "none", "--output", folder / "prepared"]
    nmtkit("prepare", *splits, *options)
    nmtkit("shortlist", folder / "prepared", "--size", 12)
    options = ["--output", folder / "model", "--recipe", "toy", "--device", "cpu"]
    nmtkit("train", folder / "prepared", *options, *small)
    return folder / "model"


@pytest.fixture(scope="module")
def server(model: Path, back: Path) -> Iterator[Running]:
    with running({("de", "en"): (back,), ("en", "fr"): (model,)}, pivots=("en",)) as found:
        yield found


def in_two_steps(server: Running, text: Any, **fields: Any) -> Any:
    return server.text(server.text(text, **FIRST, **fields), **LAST, **fields)


def test_a_text_is_translated_as_by_two_requests(server: Running) -> None:
    for ending in ("\n", "\r\n"):
        text = ending.join(LINES) + ending
        found = server.text(text, **WHOLE)
        assert found == in_two_steps(server, text)
        lines = found.split(ending)
        assert len(lines) == len(LINES) + 1
        assert [bool(line) for line in lines] == [bool(line.strip()) for line in [*LINES, ""]]
    assert server.text(LINES, **WHOLE) == in_two_steps(server, LINES)


@pytest.mark.parametrize("markup", ["html", "xml"])
def test_tags_and_placeholders_survive_both_steps(server: Running, markup: str) -> None:
    lines = [
        "un <b>deux trois</b> quatre",
        'sept <x id="1"/>huit &amp; %s',
        "<i>un</i> <b>deux</b>",
    ]
    found = server.text("\n".join(lines), format=markup, **WHOLE)
    assert found == in_two_steps(server, "\n".join(lines), format=markup)
    for line, text in zip(lines, found.split("\n"), strict=True):
        for part in ("<b>", "</b>", '<x id="1"/>', "&amp;", "%s", "<i>"):
            assert text.count(part) == line.count(part)


def test_languages_and_detection(server: Running) -> None:
    listing = {one["code"]: one for one in server.http.get("/languages").json()}
    assert listing["de"]["targets"] == ["en", "fr"] and listing["de"]["through"] == {"fr": "en"}
    assert "through" not in listing["en"] and listing["en"]["targets"] == ["fr"]
    german = "Das ist ein Satz in deutscher Sprache."
    answer = server.translate(q=german, source="auto", target="fr").json()
    assert answer["detectedLanguage"]["language"] == "de"
    assert answer["translatedText"] == in_two_steps(server, german)
    detected = server.http.post("/detect", json={"q": german}).json()
    assert detected[0]["language"] == "de"


def test_alternatives_are_those_of_the_last_model(server: Running) -> None:
    answer = server.translate(q=LINES[0], alternatives=2, confidence=True, **WHOLE).json()
    between = server.text(LINES[0], **FIRST)
    expected = server.translate(q=between, alternatives=2, **LAST).json()
    assert answer["alternatives"] == expected["alternatives"] and answer["confidence"] is None


def stream(server: Running, **message: Any) -> list[dict[str, Any]]:
    with server.socket("/stream") as socket:
        socket.send(json.dumps({"id": 1, **message}))
        answers = [json.loads(socket.recv(timeout=20))]
        while "line" in answers[-1]:
            answers.append(json.loads(socket.recv(timeout=20)))
    return answers


@pytest.mark.parametrize("markup", [{}, {"markup": "html"}])
def test_the_stream_links_the_words_of_the_text_and_its_translation(
    server: Running, markup: dict[str, str]
) -> None:
    text = "\n".join([*LINES, "un <b>deux</b> trois"])
    *lines, done = stream(server, text=text, confidence=True, **markup, **WHOLE)
    assert done == {"id": 1, "done": True} and len(lines) == len(LINES) + 1
    for line in lines:
        source = text.split("\n")[line["line"]]
        for words, whole in ((line["source_words"], source), (line["target_words"], line["text"])):
            assert all(whole[word["start"] : word["end"]] == word["text"] for word in words)
        assert len(line["word_scores"]) == len(line["target_words"])
        sums = [0.0] * len(line["target_words"])
        for target, source_word, weight in line["alignment"]:
            assert 0 <= source_word < len(line["source_words"])
            sums[target] += weight
        assert all(0 < value < 1.05 for value in sums)
        assert line["confidence"] is None and line["word_confidences"] is None


def test_the_stream_goes_on_after_a_prefix_of_the_last_language(server: Running) -> None:
    prefix = FRENCH[3]
    *lines, _ = stream(server, text=LINES[0], prefix=prefix, **WHOLE)
    assert [line["text"].startswith(prefix) for line in lines] == [True]
    asked = {"prefix": "z", "n": 3, "alternatives": True}
    (found,) = stream(server, text=LINES[0], **asked, **WHOLE)
    between = server.text(LINES[0], **FIRST)
    assert [found] == stream(server, text=between, **asked, **LAST) and found["alternatives"]


def test_marians_and_mosess_clients(server: Running) -> None:
    with server.socket("/translate?source=de&target=fr") as socket:
        socket.send("\n".join(LINES) + "\n")
        assert socket.recv(timeout=20) == server.text("\n".join(LINES) + "\n", **WHOLE)
    with xmlrpc.client.ServerProxy(f"{server.url}/RPC2?source=de&target=fr") as client:
        wanted = {"text": "un deux quatre", "align": True, "word-align": True, "nbest": 3}
        answer: Any = client.translate(wanted)
    assert answer["text"] == server.text(wanted["text"], **WHOLE) == answer["nbest"][0]["hyp"]
    scores = [one["totalScore"] for one in answer["nbest"]]
    assert scores == sorted(scores, reverse=True) and len(scores) > 1
    for one in [answer, *answer["nbest"]]:
        words = len(one.get("hyp", answer["text"]).split())
        assert all(link["source-word"] < 3 for link in one["word-align"])
        assert all(link["target-word"] < words for link in one["word-align"])


def translated_file(server: Running, name: str, data: bytes, fields: dict[str, str]) -> bytes:
    answer = server.http.post("/translate_file", data=fields, files={"file": (name, data)})
    assert answer.status_code == 200, answer.text
    return server.http.get(answer.json()["translatedFileUrl"]).content


def test_a_file_of_lines_and_a_page_are_translated_as_by_two_requests(server: Running) -> None:
    subtitle = "1\n00:00:01,000 --> 00:00:02,000\n<i>un deux</i>\ntrois quatre\n"
    image = '<p>un <img alt="deux trois" src="a"> quatre</p>'
    texts = [("a.txt", "\r\n".join(LINES)), ("a.md", "# un *deux*\n"), ("a.srt", subtitle)]
    for name, text in (*texts, *(("a.html", page) for page in (HTML, image))):
        between = translated_file(server, name, text.encode(), FIRST)
        expected = translated_file(server, name, between, LAST)
        assert translated_file(server, name, text.encode(), WHOLE) == expected
    page = server.text(HTML, format="html", **WHOLE)
    for part in ("<b>", "</b>", '<a href="x?a=1&amp;b=2">', "</a>", "<p>", "</p>\n"):
        assert page.count(part) == 1


def test_a_file_with_both_languages_has_the_source_and_the_last_language(server: Running) -> None:
    """Two passes over such a file would translate its source twice, and not its translation."""
    found = translated_file(server, "a.xlf", XLIFF.encode(), WHOLE).decode()
    source = XLIFF.partition("<source>")[2].partition("</source>")[0]
    assert f"<source>{source}</source>" in found
    target = found.partition("<target")[2].partition(">")[2].partition("</target>")[0]
    for part in ('<g id="1">', "</g>", '<x id="2"/>'):
        assert target.count(part) == 1
    assert '<target state="final">kept</target>' in found
    first = XLIFF.replace('target-language="fr"', 'target-language="en"')
    english = translated_file(server, "a.xlf", first.encode(), FIRST).decode()
    between = english.partition("<target")[2].partition(">")[2].partition("</target>")[0]
    assert between != target
    second = XLIFF.replace(source, between).replace('"de"', '"en"')
    expected = translated_file(server, "a.xlf", second.encode(), LAST).decode()
    assert expected.replace(between, source).replace('"en"', '"de"') == found


def test_a_damaged_file_is_the_first_models_answer(server: Running) -> None:
    files = {"file": ("a.docx", b"PK\x03\x04 not an archive")}
    answer = server.http.post("/translate_file", data=WHOLE, files=files)
    assert answer.status_code == 400 and answer.json()["error"]


def test_the_format_of_words_survives_both_steps(server: Running) -> None:
    body = f"<w:p>{run('un ')}{run('deux', 'b')}{run(' trois. Quatre.')}</w:p>"
    found = translated_file(server, "a.docx", word(body, footer=f"<w:p>{run('cinq')}</w:p>"), WHOLE)
    assert body_of(found).count("<w:p>") == 1 and "Quatre" not in body_of(found)
    assert body_of(found).count("<w:b/>") == 1
    members = members_of(found)
    assert members["media/image1.png"] == PICTURE
    assert ">cinq<" not in members["word/footer.xml"].decode()


def test_the_command_says_what_a_pivot_language_lacks(
    model: Path, back: Path, nmtkit: Nmtkit
) -> None:
    assert nmtkit("serve", back, model, "--pivot", "en", "--check").exit_code == 0
    result = nmtkit("serve", back, model, "--pivot", "english", "--check", status=1)
    assert result.stderr.splitlines()[-1] == (
        "nmtkit: error: --pivot english: nothing is translated through english; give a model into"
        " it and one from it, without a model between their languages; there are de-en, en-fr"
    )
    result = nmtkit("serve", "--new-key", "a", "--keys", "b", "--pivot", "en", status=2)
    assert "--pivot" in result.stderr
