"""Uploaded files: their names, and the language that is detected in them."""

import asyncio
import json
from pathlib import Path

import pytest
from starlette.requests import Request

from nmtkit.serve.files import _sample
from nmtkit.serve.languages import Languages
from nmtkit.serve.libretranslate import LibreTranslate
from nmtkit.serve.routes import routes_of
from nmtkit.serve.service import Service
from nmtkit.serve.settings import ModelSettings, ServerSettings
from tests.unit.documents.office_files import book, opendocument, run, word, workbook


@pytest.mark.parametrize(
    ("name", "head", "encoding"),
    [
        ("a.html", "<meta charset=windows-1251>", "cp1251"),
        ("a.HTM", '<meta http-equiv=x content="text/html; charset=koi8-r">', "koi8-r"),
        ("a.html", "\ufeff", "utf-16-le"),
        ("a.txt", "\ufeff", "utf-16-be"),
        ("a.html", "", "utf-8"),
        ("a.html", "<meta charset=rot13>", "utf-8"),
        ("a.html", "<meta charset=idna>", "utf-8"),
        ("a.html", "<meta charset=punycode>-", "utf-8"),
        ("a.html", "<meta charset=undefined>", "cp1252"),
    ],
)
def test_the_sample_is_in_the_encoding_of_the_file(name: str, head: str, encoding: str) -> None:
    text = "Это предложение" if encoding != "cp1252" else "Eine schöne Übung"
    data = f"{head}<p>{text}</p>".encode(encoding)
    assert text in _sample(name.lower(), data)[0]


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("a.html", "<head><script>{code}</script></head><p>{text} Sch&ouml;n!</p>"),
        ("a.html", '<style>{code}</style><p class="{code}">{text}</p>'),
        ("a.xlf", '<xliff><file original="{code}"><source>{text}</source></file></xliff>'),
    ],
)
def test_the_language_of_a_file_is_that_of_its_text(name: str, page: str) -> None:
    code = "if (this.page.is_open() and not the_end) return the_content; " * 50
    text = "Das ist ein Text auf Deutsch, und wir lesen ihn gern."
    sample, markup = _sample(name, page.format(code=code, text=text).encode())
    pair, detected = Languages(routes_of([("de", "en")])).pair("auto", "en", sample, markup)
    assert pair == ("de", "en") and detected is not None and detected[0] == "de"


def test_the_formats_are_known_before_a_model_is_loaded(tmp_path: Path) -> None:
    """A page that comes meanwhile is translated as one, and a file is not refused."""
    service = Service(ServerSettings(ModelSettings({("en", "fr"): (tmp_path,)})))
    answer = asyncio.run(LibreTranslate(service).settings(Request({"type": "http"})))
    assert {".html", ".txt", ".epub", ".xlsx"} < set(
        json.loads(bytes(answer.body))["supportedFilesFormat"]
    )


@pytest.mark.parametrize("format", ["docx", "odt", "epub", "xlsx"])
def test_the_language_of_an_office_file_is_that_of_its_text(format: str) -> None:
    text = "Das ist ein Text auf Deutsch, und wir lesen ihn gern."
    data = {
        "docx": word(f"<w:p>{run(text)}</w:p>"),
        "odt": opendocument(f"<text:p>{text}</text:p>"),
        "epub": book({"a.xhtml": f"<p>{text}</p>"}),
        "xlsx": workbook([f"<t>{text}</t>"]),
    }[format]
    sample, markup = _sample(f"a.{format}", data)
    pair, detected = Languages(routes_of([("de", "en")])).pair("auto", "en", sample, markup)
    assert pair == ("de", "en") and detected is not None and detected[0] == "de"
    assert _sample(f"a.{format}", data[:50]) == ("", "xml")
