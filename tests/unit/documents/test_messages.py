"""Messages of ICU: their variants are translated, and their syntax comes back byte for byte."""

import pytest

from nmtkit.inference.document import translate_document
from tests.unit.documents.stand_ins import StandIn, copied, translated

CASES = [
    ("{n, plural, one {# file} other {# files}}", "{n, plural, one {# FILE} other {# FILES}}"),
    (
        "You have {n,plural,=0{no mail}other{{n} mails}}.",
        "YOU HAVE {n,plural,=0{NO MAIL}other{{n} MAILS}}.",
    ),
    (
        "{sex, select, male {{n, plural, one {his # x} other {a}}} other { it is {name} }} on",
        "{sex, select, male {{n, plural, one {HIS # X} other {A}}} other { IT IS {name} }} ON",
    ),
    (
        "{n, plural, offset:1 few {#} other {}} {n, selectordinal, one {#st day} other {#}}",
        "{n, plural, offset:1 few {#} other {}} {n, selectordinal, one {#st DAY} other {#}}",
    ),
    (
        "{n} item{n, plural, one {} other {s}} found",
        "{n} item{n, plural, one {} other {S}} FOUND",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target"), CASES)
def test_variants_are_translated(source: str, target: str) -> None:
    table = f"a\t{source}\n"
    assert translated(table, "tsv", columns=(2, 2)).data.decode() == table
    changed = translated(table, "tsv", str.upper, columns=(2, 2)).data.decode()
    assert changed == f"a\t{target}\n"
    entry = translated(f'msgid "{source}"\nmsgstr ""\n', "po", str.upper, reviewed=True)
    text = "".join(line.strip('"') for line in entry.data.decode().split("msgstr ")[1].split("\n"))
    assert text == target
    assert translated(source, "md", str.upper).data.decode() == target
    assert translated(f"<p>{source}</p>", "html", str.upper).data.decode() == f"<p>{target}</p>"


def test_variants_with_tags_are_translated() -> None:
    source = '{VAR, plural, =0 {none &lt; <g id="1">here</g>} other {<x id="I"/> ago}}'
    target = '{VAR, plural, =0 {NONE &lt; <g id="1">HERE</g>} other {<x id="I"/> AGO}}'
    text = '<xliff version="1.2"><file><body><trans-unit><source>{}</source></trans-unit></body>'
    file = f"{text.replace('{}', source)}</file></xliff>"
    assert f">{target}</target>" in translated(file, "xliff", str.upper).data.decode()


def test_each_variant_is_a_text_of_its_own() -> None:
    translator = StandIn(copied)
    data = b"{n, plural, one {# file. It is here} other {# files}}\n"
    translate_document(data, "tsv", translator)  # type: ignore[arg-type]
    assert translator.texts == [["1 file.", "It is here", "5 files"]]


def test_words_of_a_variant_stand_for_a_message_in_a_text() -> None:
    translator = StandIn(copied)
    data = b"You have {n, plural, one {# file} other {# files of {a}}} here.\n"
    translate_document(data, "tsv", translator)  # type: ignore[arg-type]
    assert translator.texts == [["You have 5 files of a here.", "1 file", "5 files of {a}"]]


def test_apostrophes_quote_no_argument() -> None:
    text = "{n, plural, one {the {a}} other {it''s the # one}}"
    changed = translated(text, "tsv", lambda word: "l'" if word == "the" else word).data.decode()
    assert changed == "{n, plural, one {l' {a}} other {it''s l' # one}}"
    glued = translated(text.replace("the {", "the{"), "tsv", lambda w: "l'" if w == "the" else w)
    assert glued.data.decode() == "{n, plural, one {l''{a}} other {it''s l' # one}}"


@pytest.mark.parametrize("lost", ["file", "#", "{a}"])
def test_numbers_and_arguments_come_back_whatever_the_words_are(lost: str) -> None:
    text = "{n, plural, one {# file of {a}} other {{a} has #}}"
    changed = translated(text, "tsv", lambda w: "" if w in lost else w.upper()).data.decode()
    assert changed.count("#") == 2 and changed.count("{a}") == 2
    assert changed.startswith("{n, plural, one {") and "} other {" in changed


@pytest.mark.parametrize("text", ["{n, plural, one {a", "{n, plural}", "{n, plural, one {'{' a}}"])
def test_what_is_no_whole_message_does_no_harm(text: str) -> None:
    assert translated(text, "tsv").data.decode() == text


def test_messages_in_attributes_stay() -> None:
    tag = '<x id="ICU" equiv-text="{n, plural, =1 {a} other {b}}"/>'
    unit = f"<trans-unit><source>You have {tag} here</source></trans-unit>"
    file = f'<xliff version="1.2"><file><body>{unit}</body></file></xliff>'
    changed = translated(file, "xliff", str.upper).data.decode()
    assert f">YOU HAVE {tag} HERE</target>" in changed
