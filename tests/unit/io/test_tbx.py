"""Term bases of both versions, and documents that are none."""

import re

import pytest

from nmtkit.errors import DataError
from nmtkit.io.tbx import Concept, is_tbx, read_tbx

NEW = """<?xml version="1.0" encoding="UTF-8"?>
<tbx type="TBX-Basic" xml:lang="en"><text><body>
<conceptEntry id="1">
<langSec xml:lang="en"><termSec><term>hard disk</term></termSec>
<termSec><term>hard
drive</term></termSec></langSec>
<langSec xml:lang="fr-FR"><termSec><term>disque dur</term></termSec>
<termSec><term>HD</term>
<termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></termSec></langSec>
</conceptEntry>
<conceptEntry id="2"><langSec xml:lang="de"><termSec><term>Tor</term></termSec></langSec>
</conceptEntry></body></text></tbx>"""

OLD = """<!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd">
<martif type="TBX"><text><body><termEntry><langSet xml:lang="en"><tig><term>disk</term></tig>
</langSet><langSet xml:lang="fr"><ntig><termGrp><term>disque</term></termGrp></ntig></langSet>
</termEntry></body></text></martif>"""


def read(document: str, languages: tuple[str, str] = ("en", "fr"), step: int = 7) -> list[Concept]:
    data = document.encode()
    chunks = [data[start : start + step] for start in range(0, len(data), step)]
    return list(read_tbx(chunks, "terms.tbx", languages))


def test_terms_of_a_concept_belong_together() -> None:
    (concept,) = read(NEW)
    assert concept == Concept(3, ("hard disk", "hard drive"), ("disque dur",), ("HD",))


def test_the_status_may_be_an_element_of_its_own() -> None:
    old, new = 'termNote type="administrativeStatus"', "min:administrativeStatus"
    document = NEW.replace(old, new).replace("sts</termNote", f"sts</{new}")
    assert "termNote" not in document and read(document) == read(NEW)


@pytest.mark.parametrize("document", [NEW, OLD])
def test_elements_may_have_the_prefix_of_a_namespace(document: str) -> None:
    prefixed = re.sub(r"(</?)(?=[a-zA-Z])", r"\1t:", document)
    prefixed = re.sub(r"<t:(tbx|martif)", r"<t:\1 xmlns:t='urn:x'", prefixed)
    assert is_tbx(prefixed.encode()) and read(prefixed) == read(document)


def test_the_older_version_is_read() -> None:
    (concept,) = read(OLD)
    assert (concept.sources, concept.targets) == (("disk",), ("disque",))


@pytest.mark.parametrize("document", [NEW, OLD, f"\ufeff{NEW}", f"<!-- x -->{OLD}"])
def test_tbx_is_recognised(document: str) -> None:
    assert is_tbx(document.encode()) and is_tbx(document.encode("utf-16"))


@pytest.mark.parametrize("entity", ['<!ENTITY a "b">', '<!ENTITY % a "<b>"><!-- ] -->', ""])
def test_tbx_with_declarations_is_recognised(entity: str) -> None:
    document = OLD.replace('dtd">', f'dtd" [\n{entity}\n] >\n<!-- x -->', 1)
    assert is_tbx(document.encode())
    if entity:
        with pytest.raises(DataError, match="terms.tbx:2: declares .* entities are refused"):
            read(document)


@pytest.mark.parametrize(
    "sign", ["<!-- a -->", "<!DOCTYPE a [", "]", "<?xml ?>", "<!DOCTYPE a []>", "<a:", "a.-"]
)
def test_hostile_beginnings_take_linear_time(sign: str) -> None:
    """End at all: comments took twice the time for each one more."""
    assert not is_tbx(f"<!DOCTYPE a [{sign * 3000}".encode())
    assert not is_tbx(f"{sign * 3000}x".encode())


@pytest.mark.parametrize("text", ["a\tb\n", "<tmx></tmx>", "", "<tbxy>", "<:tbx>", "<tbx:a>"])
def test_other_text_is_not(text: str) -> None:
    assert not is_tbx(text.encode())


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (NEW[:300], "not well-formed XML"),
        (NEW.replace("<tbx", '<!DOCTYPE tbx [<!ENTITY a "b">]><tbx', 1), "declares the entity 'a'"),
        (OLD.replace("disk<", f"{'x' * 10_001}<"), "more than 10,000 characters"),
        (OLD.replace("<body>", "<body>" + "<a>" * 200), "more than 100 elements"),
    ],
)
def test_hostile_documents_are_refused(document: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        read(document)


def test_a_base_without_the_languages_names_those_that_it_has() -> None:
    with pytest.raises(DataError, match="its languages are de, en, fr-FR"):
        read(NEW, ("en", "ja"))
