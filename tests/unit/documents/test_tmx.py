"""Translation memories: units that lack a variant get one."""

import re

import pytest

from nmtkit.errors import DataError
from nmtkit.io.tmx import read_tmx
from tests.unit.documents.stand_ins import translated

FILE = """<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
  <tu tuid="1">
    <tuv xml:lang="en-US">
      <seg>Hello <hi>you</hi> <ph x="1">{b}</ph></seg>
    </tuv>
  </tu>
  <tu><tuv xml:lang="EN"><seg>Bye</seg></tuv><tuv xml:lang="fr"><seg/></tuv></tu>
  <tu><tuv xml:lang="en"><seg>Bye</seg></tuv><tuv xml:lang="fr-CA"><seg>Salut</seg></tuv></tu>
  <tu><tuv xml:lang="de"><seg>Hallo</seg></tuv></tu>
</body></tmx>"""


def test_units_get_a_variant() -> None:
    text = translated(FILE, "tmx", str.upper).data.decode()
    new = '\n    <tuv xml:lang="fr">\n      <seg>HELLO <hi>YOU</hi> <ph x="1">{b}</ph></seg>\n'
    assert text.replace(new + "    </tuv>", "").replace("<seg>BYE</seg>", "<seg/>") == FILE
    pairs = [pair[1:] for pair in read_tmx(iter([text.encode()]), "x", ("en", "fr"))]
    assert pairs == [(b"Hello you", b"HELLO YOU"), (b"Bye", b"BYE"), (b"Bye", b"Salut")]


def test_sections_are_text() -> None:
    text = '<tmx version="1.4"><header/><body><tu><tuv xml:lang="en"><seg><![CDATA[one & two]]>'
    text += "</seg></tuv></tu></body></tmx>"
    changed = translated(text, "tmx", str.upper).data.decode()
    assert "<seg>ONE &amp; TWO</seg>" in changed and "<![CDATA[one & two]]>" in changed


def test_what_is_no_memory_is_refused() -> None:
    with pytest.raises(DataError, match=re.escape("the document is <xliff>, not <tmx>")):
        translated("<xliff/>", "tmx")


def test_prefixes_of_names_are_kept() -> None:
    text = '<t:tmx xmlns:t="x"><t:body><t:tu><t:tuv xml:lang="en"><t:seg>Hi</t:seg></t:tuv></t:tu>'
    changed = translated(text + "</t:body></t:tmx>", "tmx", str.upper).data.decode()
    assert '</t:tuv><t:tuv xml:lang="fr"><t:seg>HI</t:seg></t:tuv></t:tu>' in changed


def test_a_memory_without_the_source_language_is_reported() -> None:
    text = FILE.replace('"en-US"', '"de"').replace('"EN"', '"it"').replace('"en"', '"it"')
    result = translated(text, "tmx", str.upper)
    assert result.data.decode() == text
    assert result.warnings == [(1, "no unit has en; the languages are de, it, fr, fr-CA")]
    assert translated(FILE, "tmx", str.upper).warnings == []
