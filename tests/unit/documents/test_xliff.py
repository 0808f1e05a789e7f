"""XLIFF 1.2 and 2.x: which units are translated, and what is written."""

import re
from xml.etree import ElementTree

import pytest

from nmtkit.documents.inline import code_pieces
from nmtkit.errors import DataError
from nmtkit.inference.document import translate_document
from nmtkit.text.markup_pieces import find_partners
from tests.unit.documents.stand_ins import StandIn, copied, translated

FIRST = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
 <file source-language="en" target-language="fr" datatype="html" original="a">
  <body>
   <trans-unit id="1">
    <source>Press <g id="1">Save</g> &amp; close<x id="2"/> now.</source>
   </trans-unit>
   <trans-unit id="2" approved="yes"><source>Done</source><target/></trans-unit>
   <trans-unit id="3"><source>Open <ph id="1">&lt;br/&gt;</ph> it <bpt id="2">&lt;b&gt;</bpt>bold\
<ept id="2">&lt;/b&gt;</ept></source><target state='new'/></trans-unit>
   <trans-unit id="4" translate="no"><source>Never</source></trans-unit>
   <trans-unit id="5"><source>Two. Sentences</source><seg-source><mrk mtype="seg" mid="1">Two.\
</mrk> <mrk mtype="seg" mid="2">Sentences</mrk></seg-source></trans-unit>
   <trans-unit id="6"><source><![CDATA[Some <b>CDATA</b>]]></source></trans-unit>
   <trans-unit id="7"><source>It is</source><target>C'est</target></trans-unit>
   <trans-unit id="8"><source>It was</source><target state="needs-review-translation">C'était\
</target></trans-unit>
   <trans-unit id="9"><source>A &lt;a href="x"&gt;link&lt;/a&gt; here</source><alt-trans><source>No\
</source></alt-trans></trans-unit>
   <group translate="no"><trans-unit id="10"><source>Neither</source></trans-unit></group>
   <trans-unit id="11"><source>Keep <mrk mtype="protected">Thi</mrk>s</source></trans-unit>
  </body></file></xliff>
"""
SECOND = """<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en">
 <file id="f1">
  <unit id="u1">
   <originalData><data id="d1">[b]</data></originalData>
   <segment id="s1">
    <source>A <pc id="1">bold</pc> word<ph id="2" dataRef="d1"/> and <sc id="3"/>more\
<ec startRef="3"/>.</source>
   </segment>
   <ignorable><source> </source></ignorable>
   <segment state="reviewed"><source>Ok</source><target>Bien</target></segment>
   <segment state="initial"><source>New</source><target></target></segment>
  </unit>
  <unit id="u2" translate="no"><segment><source>No</source></segment></unit>
  <unit id="u3"><segment><source>Say <mrk id="m1" translate="no">Hello</mrk></source></segment>\
</unit>
  <unit id="u4"><segment><source>Keep <sm id="m2" translate="no"/>This <pc id="4">too</pc>\
<em startRef="m2"/> here</source></segment></unit>
 </file></xliff>"""

TARGET = re.compile(r"\s*<target\b[^>]*?(?:/>|>.*?</target>)", re.DOTALL)


def targets(text: str) -> list[str | None]:
    """Return the text of each target."""
    root = ElementTree.fromstring(text)
    found = [element for element in root.iter() if element.tag.endswith("}target")]
    return ["".join(element.itertext()) for element in found]


def ids(text: str, name: str) -> list[str]:
    """Return the sorted tags in the sources or targets of a file."""
    inner = re.findall(rf"<{name}\b[^>]*>(.*?)</{name}>", text, re.DOTALL)
    return sorted(tag for one in inner for tag in re.findall(r"<[^/][^>]*>", one))


def test_units_of_version_1_2_get_targets() -> None:
    text = translated(FIRST, "xliff", str.upper).data.decode()
    assert targets(text) == [
        "PRESS SAVE & CLOSE NOW.", "", "OPEN <br/> IT <b>BOLD</b>", "TWO. SENTENCES",
        "SOME <b>CDATA</b>", "C'est", "C'était", 'A <a href="x">LINK</a> HERE', "KEEP This",
    ]  # fmt: skip
    assert TARGET.sub("", text) == TARGET.sub("", FIRST)
    states = re.findall(r"<target[^>]*state=\"([^\"]+)\"", text)
    assert states == ["needs-review-translation"] * 7
    assert text.count('state-qualifier="mt-suggestion"') == 6
    reviewed = translated(FIRST, "xliff", str.upper, reviewed=True).data.decode()
    assert reviewed.count('state="translated"') == 6


@pytest.mark.parametrize(
    ("target", "is_translated"),
    [
        ('<g id="0"><mrk mtype="seg" mid="1"/> <mrk mtype="seg" mid="2"></mrk></g>', False),
        ('<x:mrk mtype="seg" mid="1"/>', False),
        ("<![CDATA[]]>", False),
        ("<![CDATA[ ]]> <![CDATA[]]>", False),
        ("<![CDATA[.]]>", True),
        ("One. Two.", False),
        ('<mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk>', False),
        ('<mrk mtype="seg" mid="1">Un.</mrk> <mrk mtype="seg" mid="3"/>', True),
        ('<mrk mtype="x-b" mid="1"></mrk> Deux.', True),
        ('<x id="1"/>', True),
    ],
)
def test_targets_with_empty_segments_are_no_translations(target: str, is_translated: bool) -> None:
    inner = '<g id="0"><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk></g>'
    text = '<xliff version="1.2" xmlns:x="u"><file><body><trans-unit><source>One. Two.</source>'
    text += f"<seg-source>{inner}</seg-source><target>{target}</target></trans-unit></body></file>"
    changed = translated(f"{text}</xliff>", "xliff", str.upper).data.decode()
    expected = target if is_translated else inner.replace("One", "ONE").replace("Two", "TWO")
    assert f">{expected}</target>" in changed


@pytest.mark.parametrize(
    "target", ['<x:mrk mid="2" mtype="seg"/>', '<mrk mtype="seg" mid="2"></mrk>']
)
def test_empty_segments_of_a_translated_unit_are_filled(target: str) -> None:
    text = (
        '<xliff version="1.2" xmlns:x="u"><file><body><trans-unit><source>One. Two, three</source>'
    )
    text += (
        '<seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two, <g id="1">'
    )
    text += 'three</g></mrk></seg-source><target>{}<mrk mtype="seg" mid="1">Un.</mrk> {}</target>'
    text = text.replace("<target>{}", "{}") + "</trans-unit></body></file></xliff>"
    source = text.format("<target state='translated'>", target)
    changed = translated(source, "xliff", str.upper).data.decode()
    opening = target.split(">")[0].removesuffix("/")
    filled = f'{opening}>TWO, <g id="1">THREE</g></{opening[1:].split()[0]}>'
    state = '<target state="needs-review-translation" state-qualifier="mt-suggestion">'
    assert changed == text.format(state, filled)
    assert translated(changed, "xliff", str.lower).data.decode() == changed


@pytest.mark.parametrize(
    ("state", "is_kept"),
    [("translated", True), ("final", True), ("signed-off", True), ("needs-translation", False)]
    + [("new", False), ("needs-review-translation", True), ("", False)],
)
def test_a_target_that_repeats_its_source_needs_a_state(state: str, is_kept: bool) -> None:
    attribute = f' state="{state}"' if state else ""
    first = f'<xliff version="1.2"><file><body><trans-unit><source>One</source><target{attribute}>'
    first += "One</target></trans-unit></body></file></xliff>"
    second = (
        f'<xliff version="2.0" trgLang="fr"><file><unit><segment{attribute}><source>One</source>'
    )
    second += "<target>One</target></segment></unit></file></xliff>"
    for text in (
        first,
        second.replace('"needs-translation"', '"initial"').replace("new", "initial"),
    ):
        changed = translated(text, "xliff", str.upper).data.decode()
        assert (changed == text) is is_kept
        assert translated(text, "xliff").data.decode() == text


def test_segments_of_version_2_get_targets_and_the_state() -> None:
    text = translated(SECOND, "xliff", str.upper).data.decode()
    assert targets(text) == [
        "A BOLD WORD AND MORE.", "Bien", "NEW", "SAY Hello", "KEEP This too HERE",
    ]  # fmt: skip
    assert '<segment id="s1" state="translated">' in text
    assert re.findall(r'state="(\w+)"', text) == ["translated", "reviewed"] + ["translated"] * 3
    assert 'srcLang="en" trgLang="fr"' in text
    kept = TARGET.sub("", text).replace(' trgLang="fr"', "").replace("translated", "initial")
    for sign in (' id="s1" state="initial"', ' state="initial"'):
        kept = kept.replace(sign, sign.split(" state")[0])
    assert kept == TARGET.sub("", SECOND).replace(' state="initial"', "")


@pytest.mark.parametrize("text", [FIRST, SECOND])
def test_elements_come_back_once_whatever_the_words_are(text: str) -> None:
    for change in (str.upper, lambda word: "", lambda word: "< & ]]>", str.title):
        result = translated(text, "xliff", change).data.decode()
        pattern = r"<source>((?:(?!</source>).)*)</source>\s*<target[^>/]*>(.*?)</target>"
        units = re.findall(pattern, result, re.DOTALL)
        assert len(units) > 2
        for source, target in units:
            if "CDATA" not in source and "C'" not in target and target != "Bien":
                tags = [sorted(re.findall(r"<[^>]*>", side)) for side in (source, target)]
                assert tags[0] == tags[1]
        ElementTree.fromstring(result)


def test_characters_that_the_encoding_lacks_stand_outside_of_a_section() -> None:
    """They became references, which a section does not have."""
    text = '<?xml version="1.0" encoding="ISO-8859-1"?><xliff xmlns="u"><file><body>'
    text += "<trans-unit><source><![CDATA[One two]]></source></trans-unit></body></file></xliff>"
    changed = translated(text, "xliff", {"One": "\xe7uvre\u0153", "two": "\xe9"}.__getitem__).data
    assert targets(changed.decode("latin-1")) == ["\xe7uvre\u0153 \xe9"]
    assert b"<![CDATA[\xe7uvre]]>&#339;<![CDATA[ \xe9]]>" in changed


@pytest.mark.parametrize("text", [FIRST, SECOND])
def test_the_second_time_nothing_changes(text: str) -> None:
    once = translated(text, "xliff", copied).data
    assert translated(once, "xliff", str.upper).data == once
    again = translated(once, "xliff", copied, retranslate=True).data
    assert again == once.replace(b"C'\xc3\xa9tait", b"It was").replace(
        b'translation">It', b'translation" state-qualifier="mt-suggestion">It'
    )


def test_escaped_entities_are_entities_of_html() -> None:
    inner = "One&amp;nbsp;two &amp;amp; &amp;#169; caf&amp;eacute; &amp;foo; R&amp;D"
    text = f"<xliff version='1.2'><trans-unit><source>{inner}</source></trans-unit></xliff>"
    translator = StandIn(str.upper)
    result = translate_document(text.encode(), "xliff", translator)  # type: ignore[arg-type]
    assert translator.texts == [["One two & © café &foo; R&D"]]
    (target,) = re.findall("<target[^>]*>(.*)</target>", result.data.decode())
    assert re.findall("&[^;]*;(?:[a-z#0-9]*;)?", target) == [
        "&amp;nbsp;", "&amp;amp;", "&amp;#169;", "&amp;foo;", "&amp;",
    ]  # fmt: skip


def test_tags_of_angular_belong_together() -> None:
    """Pair them, numbers left out, so that none closes before it opens."""
    source = """<x id="START_LINK"/>one<x id="CLOSE_LINK"/> <x id="START_LINK_1"/>two <x id="ICU"/>\
<x id="START_TAG_H1"/>three<x id="CLOSE_TAG_H1"/><x id="CLOSE_LINK"/>"""
    partners = find_partners(list(code_pieces(source)))
    assert partners == {0: 2, 2: 0, 4: 10, 10: 4, 7: 9, 9: 7}


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "utf-8-sig"])
def test_declared_encodings_are_kept(encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    text = FIRST.replace("UTF-8", declared).replace("Press", "Préss")
    data = translated(text.encode(encoding), "xliff", lambda word: f"{word}œ").data
    assert data[:2] == text.encode(encoding)[:2]
    first = targets(data.decode(encoding).replace(declared, "utf-8"))[0]
    assert first is not None and first.startswith("Préssœ Saveœ")
    if encoding == "iso-8859-1":
        assert b"Pr\xe9ss&#339;" in data


def test_prefixes_of_names_are_kept() -> None:
    text = '<x:xliff version="1.2" xmlns:x="u"><x:file><x:body><x:trans-unit id="1"><x:source>A'
    text += "</x:source></x:trans-unit></x:body></x:file></x:xliff>"
    assert "<x:target state" in translated(text, "xliff", str.lower).data.decode()


@pytest.mark.parametrize(
    "tag",
    ['<x id="B" ctype="x-b" equiv-text="&lt;b&gt;"/>', '<ph id="1" disp="&lt;img alt=\'a\'/>"/>']
    + ['<x id="1" equiv-text="{{ a &lt; b }}"/>'],
)
def test_escaped_tags_in_attributes_are_not_text(tag: str) -> None:
    text = f'<xliff version="1.2"><file><body><trans-unit><source>One {tag} two</source>'
    text += "</trans-unit></body></file></xliff>"
    assert f">ONE {tag} TWO</target>" in translated(text, "xliff", str.upper).data.decode()


@pytest.mark.parametrize("section", ["{}", "<![CDATA[{}]]>"])
@pytest.mark.parametrize("place", ["unit", "root", "source", None])
def test_line_breaks_that_count_stay(section: str, place: str | None) -> None:
    attribute = ' xml:space="preserve"'
    unit, root, source = (attribute if place == one else "" for one in ("unit", "root", "source"))
    text = f'<xliff version="1.2"{root}><file><body><trans-unit id="1"{unit}><source{source}>'
    text += section.format("One is\nhere.\n  Two\tthree") + "</source></trans-unit></body></file>"
    changed = translated(f"{text}</xliff>", "xliff", str.upper).data.decode()
    expected = "ONE IS\nHERE.\n  TWO\tTHREE" if place else "ONE IS HERE.\n  TWO THREE"
    assert f">{section.format(expected)}</target>" in changed
    assert f"<target{source} state" in changed  # so that line breaks count there, too


def test_whitespace_around_a_section_stays() -> None:
    source = "\n  <![CDATA[<b>One</b> two]]>\n"
    text = f'<xliff version="1.2"><file><body><trans-unit><source>{source}</source></trans-unit>'
    changed = translated(f"{text}</body></file></xliff>", "xliff", str.upper).data.decode()
    target = source.replace("One", "ONE").replace("two", "TWO")
    assert f">{target}</target>" in changed


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("One <![CDATA[two & <b>three</b>]]> four.", "ONE TWO & <b>THREE</b> FOUR."),
        ("<![CDATA[one]]><![CDATA[ two]]>", "ONE TWO"),
        ("<![CDATA[a < %s]]> b", "A < %s B"),
        ("one <ph id='1'><![CDATA[<br>]]></ph> two", "ONE <br> TWO"),
        ("<!-- <![CDATA[ -->one <![CDATA[two]]>", "ONE TWO"),
    ],
)
def test_text_that_is_partly_a_section_is_translated(source: str, target: str) -> None:
    text = '<xliff version="1.2" xmlns="u"><file><body><trans-unit id="1"><source>'
    text += f"{source}</source></trans-unit></body></file></xliff>"
    changed = translated(text, "xliff", str.upper).data.decode()
    assert targets(changed) == [target]
    assert f"<source>{source}</source>" in changed


@pytest.mark.parametrize(
    ("source", "datatype", "target"),
    [
        ("&amp;File", "plaintext", "X-&amp;file"),
        ("Open &amp;Recent &quot;%1&quot;", "x-trolltech-linguist-ui", "X-open X-&amp;recent "),
        ("Tom &amp; Jerry", "plaintext", "X-tom &amp; X-jerry"),
        ("<![CDATA[E&xit]]>", "plaintext", "<![CDATA[&X-exit]]>"),
        ("&amp;File", "html", "&amp;X-file"),
    ],
)
def test_accelerator_keys(source: str, datatype: str, target: str) -> None:
    text = f'<xliff version="1.2"><file datatype="{datatype}"><body><trans-unit><source>{source}'
    text += "</source></trans-unit></body></file></xliff>"
    result = translated(text, "xliff", lambda w: f"X-{w.lower()}" if w.isalpha() else w)
    assert f">{target}" in result.data.decode()


LAUGHS = """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;">]>
<xliff version="1.2"><file><body><trans-unit><source>&lol2;</source></trans-unit></body></file>
</xliff>"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "declares the entity 'lol', which XLIFF does not need"),
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "/etc/passwd">]><xliff/>', "declares the entity 'a'"),
        ("<!DOCTYPE x [<!ELEMENT a ANY>]><xliff/>", "its document type has declarations"),
        ("<xliff><file>", "not well-formed XML"),
        ("", "not well-formed XML"),
        ("<html/>", "the document is <html>, not <xliff>"),
        ("<xliff>&undefined;</xliff>", "not well-formed XML: undefined entity"),
        ('<?xml version="1.0" encoding="klingon"?><xliff/>', "encoding cannot be read"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        translated(text, "xliff")


def test_states_of_version_2_say_who_has_looked_at_a_translation() -> None:
    changed = translated(SECOND, "xliff", str.upper, reviewed=True).data.decode()
    assert set(re.findall(r'state="(\w+)"', changed)) == {"reviewed"}
    first = translated(SECOND, "xliff", str.upper).data.decode()
    assert translated(first, "xliff", str.lower).data.decode() == first
    again = translated(first, "xliff", str.lower, retranslate=True).data.decode()
    assert again != first and "Bien" in again  # that was reviewed


def test_what_belongs_to_the_old_state_goes_with_it() -> None:
    second = (
        '<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en"'
        ' trgLang="fr"><file id="f"><unit id="1"><segment state="initial" subState="a:b">'
        "<source>one</source></segment></unit></file></xliff>"
    )
    changed = translated(second, "xliff", str.upper).data.decode()
    assert '<segment state="translated">' in changed
    first = (
        '<xliff version="1.2"><file source-language="en" target-language="fr" datatype="x"'
        ' original="o"><body><trans-unit id="1"><source>one</source><target state="new"'
        ' state-qualifier="exact-match"/></trans-unit></body></file></xliff>'
    )
    changed = translated(first, "xliff", str.upper, reviewed=True).data.decode()
    assert '<target state="translated">ONE</target>' in changed


@pytest.mark.parametrize("file", [FIRST, SECOND])
def test_a_translation_that_stays_the_same_is_reviewed(file: str) -> None:
    once = translated(file, "xliff", str.upper)
    done = translated(once.data, "xliff", str.upper, retranslate=True, reviewed=True)
    assert done.data == translated(file, "xliff", str.upper, retranslate=True, reviewed=True).data


def test_a_value_may_hold_what_looks_like_an_attribute() -> None:
    unit = "<trans-unit id='1' note=\" translate='no' \"><source>One</source>{}</trans-unit>"
    head, end = '<xliff version="1.2"><file><body>', "</body></file></xliff>"
    file = head + unit.format("<target note=\"a state='final' b\" state='new'>x</target>") + end
    state = 'state="needs-review-translation" state-qualifier="mt-suggestion"'
    target = f"<target note=\"a state='final' b\" {state}>ONE</target>"
    assert translated(file, "xliff", str.upper).data.decode() == head + unit.format(target) + end


@pytest.mark.parametrize("names", ["source-language target-language", "srcLang trgLang"])
def test_other_languages_are_reported_once(names: str) -> None:
    source, target = names.split()
    root, file = (source, target), ("", "")
    version = "2.0"
    if source == "source-language":
        root, file, version = file, root, "1.2"

    def attributes(pair: tuple[str, str], languages: tuple[str, str]) -> str:
        both = zip(pair, languages, strict=True)
        return "".join(f' {name}="{language}"' for name, language in both if name)

    def warnings(*languages: str) -> list[tuple[int, str]]:
        pair = (languages[0], languages[1])
        head = f'<xliff version="{version}"{attributes(root, pair)}>'
        files = f"\n<file{attributes(file, pair)}></file>" * 2
        return list(translated(f"{head}{files}</xliff>", "xliff", copied).warnings)

    line = 1 if version == "2.0" else 2
    assert warnings("EN_us", "fra") == []
    assert warnings("fr-FR", "de") == [
        (line, "the source language is fr-FR, but the model translates from en"),
        (line, "the target language is de, but the model translates into fr"),
    ]


@pytest.mark.parametrize("tag", ['<mrk mtype="term">', '<mrk id="m" type="comment" value="x">'])
def test_a_mark_within_a_sentence_ends_none(tag: str) -> None:
    translator = StandIn(copied)
    unit = f"<trans-unit><source>The {tag}red</mrk> house</source></trans-unit>"
    data = f'<xliff version="1.2"><file><body>{unit}</body></file></xliff>'.encode()
    translate_document(data, "xliff", translator)  # type: ignore[arg-type]
    assert translator.texts == [["The red house"]]


def test_escaped_tags_may_be_numbers() -> None:
    unit = "<trans-unit><source>Press &lt;0&gt;it&lt;/0&gt; &lt;1/&gt;</source></trans-unit>"
    data = f'<xliff version="1.2"><file><body>{unit}</body></file></xliff>'
    changed = translated(data, "xliff", str.upper).data.decode()
    assert ">PRESS &lt;0&gt;IT&lt;/0&gt; &lt;1/&gt;</target>" in changed
