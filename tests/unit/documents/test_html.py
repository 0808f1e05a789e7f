"""HTML: what is a segment, what is kept, and how attributes are written."""

from html.parser import HTMLParser

import pytest

from nmtkit.documents.document import DocumentOptions
from nmtkit.documents.formats import parse_document
from nmtkit.inference.document import translate_document
from nmtkit.inference.markup_translator import MarkupTranslator
from nmtkit.text.markup import MarkedText
from tests.unit.documents.sample_texts import PAGE
from tests.unit.documents.stand_ins import StandIn, copied, translated


def sources(text: str) -> list[str]:
    """Return the sources of the segments of a page."""
    document = parse_document(text.encode(), "html", "x", DocumentOptions())
    return [segment.source.strip() for segment in document.segments]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>A <b>b</b></p><p>C", ["A <b>b</b>", "C"]),
        ("<ul><li>A<li>B</ul>", ["A", "B"]),
        ("<select><option>A<option>B</select>", ["A", "B"]),
        ("A<br>b", ["A<br>b"]),
        ("<title>A</title><script>b</script><style>c</style>", ["A"]),
        ("<p>A <code>x</code> b</p><code>c</code>", ["A <code>x</code> b", "<code>c</code>"]),
        ("<pre>a <b>b</b></pre>", []),
        ("<pre>a", []),
        ("<textarea>a</textarea>", []),
        ("<div translate=no>A<p>b</p></div>C", ["C"]),
        ("<div class='x notranslate y'><p>b</p></div>C", ["C"]),
        ("<div class='notranslated'>b</div>", ["b"]),
        ("<span translate='no'><p>b</p></span>C", ["C"]),
        ("<x-card>A</x-card>", ["<x-card>A</x-card>"]),
        ("<p>1 + 2</p><p>&copy;</p><p>&eacute;</p>", ["&eacute;"]),
        ("<img alt='A'>", ["A"]),
        ("<img alt='' title=B src=c>", ["B"]),
        ("<meta name=description content='A b'><meta name=viewport content='c'>", ["A b"]),
        ("<optgroup label=A><option value=b>", ["A"]),
        ("<div translate=no title=A></div>", []),
        ("<img translate=no alt=A><p>B <img translate=no alt=C>", ["B <img translate=no alt=C>"]),
        ("<input type=submit value='A b'><input value=c><input type=Button value=D>", ["A b", "D"]),
        ("<li value=c>A</li><button value=d>B</button>", ["A", "B"]),
        ("<p>A <img alt='B'> c</p>", ["A <img alt='B'> c"]),
        ("<% if a > b %><p>C</p><% end %><?= d > e ?>", ["C"]),
        ("<input <% if a > b %>title='C'<% end %> <?= d > e ?>>", ["C"]),
        ("""<img alt="<%= a('b') %>" title='c <?= d ?>'>""", []),
        ("A <% b", ["A <% b"]),
        ("<p>A<!-- b <i>c</i> > d", ["A"]),
        ("<p>A<!--> b", ["A<!--> b"]),
        ("<p>A</p><!-- b <p>c</p> --> D <!-- e", ["A", "<!-- b <p>c</p> --> D"]),
        ("<p>A</p><!-- b <p>c</p>", ["A"]),
    ],
)
def test_segments(text: str, expected: list[str]) -> None:
    kept = [one for one in sources(text) if not one.startswith("<code>c")]
    assert kept == [one for one in expected if not one.startswith("<code>c")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<img alt=cat>", '<img alt="it&quot;s">'),
        ("<img alt='cat'>", "<img alt='it\"s'>"),
        ('<img alt="cat">', '<img alt="it&quot;s">'),
        ('<p>dog <img alt="cat"> 1</p>', '<p>it"s <img alt="it&quot;s"> 1</p>'),
    ],
)
def test_attributes_are_quoted_as_they_need(text: str, expected: str) -> None:
    assert (
        translated(text, "html", lambda w: 'it"s' if w.isalpha() else w).data.decode() == expected
    )


@pytest.mark.parametrize("entity", ["&copy", "&nbsp", "&#169", "&#xa9", "&amp", "&notin;"])
def test_entities_without_a_semicolon_stay(entity: str) -> None:
    assert translated(f"<p>a {entity} b", "html", str.upper).data.decode() == f"<p>A {entity} B"


@pytest.mark.parametrize("code", ['<%= b.c "d" > e %>', "<%# f %>", "<?= $g ?>", "<%@ h i='j' %>"])
def test_code_of_templates_stays(code: str) -> None:
    text = f"<p>one {code} <a class={code}>two</a></p>"
    expected = text.replace("one", "ONE").replace("two", "TWO")
    assert translated(text, "html", str.upper).data.decode() == expected


@pytest.mark.parametrize(
    "tag",
    [
        "<img title=a<%= x %>>",
        "<img title=<?= x ?>b alt=<%= c %>>",
        "<img title=a<%= x %>b<%= y %>>",
    ]
    + ["<a href=<%= f title=b %>>", "<img title=a{{ x }} alt={% y %}>"]
    + ["<img title=a'b c'>", "<img title=${ x }>"],
)
def test_attributes_without_quotes_with_code_in_them_stay(tag: str) -> None:
    changed = translated(f"<p>one {tag} two", "html", str.upper).data.decode()
    assert changed == f"<p>ONE {tag} TWO"


@pytest.mark.parametrize("rest", ["<!-- one", "<!-- one <b>two</b> three", "<!-- > one -- two"])
def test_a_comment_that_does_not_end_goes_to_the_end(rest: str) -> None:
    changed = translated(f"<p>one</p> two {rest}\n", "html", str.upper).data.decode()
    assert changed == f"<p>ONE</p> TWO {rest}\n"


@pytest.mark.parametrize(
    "rest", ['<a href="http://example.org/one"', '<p title="Close', "</di", "<b one two"]
)
def test_a_tag_that_does_not_end_stays(rest: str) -> None:
    changed = translated(f"<p>one</p> two {rest}", "html", str.upper).data.decode()
    assert changed == f"<p>ONE</p> TWO {rest}"


def test_a_sign_that_begins_no_tag_is_text() -> None:
    changed = translated("<p>one < two, <3 and a<b</p> c", "html", str.upper).data.decode()
    assert changed.startswith("<p>ONE") and changed.endswith("</p> C")


def test_a_comment_may_end_with_an_exclamation_mark_as_in_browsers() -> None:
    changed = translated("<p>one <!-- two --!> three <!-- four -->", "html", str.upper).data
    assert changed.decode() == "<p>ONE <!-- two --!> THREE <!-- four -->"


def test_names_behind_an_ampersand_that_are_no_entities_are_text() -> None:
    changed = translated("<p>x &copying=1 &notit y", "html", str.upper).data.decode()
    assert changed == "<p>X &COPYING=1 &NOTIT Y"


@pytest.mark.parametrize(
    "text",
    ["<code>String</code>s", "re<code>try</code>", "x<code>y</code>z", "<kbd>F</kbd>1"],
)
def test_letters_beside_what_is_kept_are_not_lost(text: str) -> None:
    changed = translated(f"<p>two {text}, three", "html", str.upper).data.decode()
    assert changed == f"<p>TWO {text}, THREE"


def test_signs_of_markup_never_come_from_the_model() -> None:
    changed = translated("<p>one &lt; two</p>", "html", lambda word: f"<b>{word}&").data.decode()
    assert changed.count("<") == 2 and changed.count("&") == 1


def test_characters_that_the_encoding_lacks_become_references() -> None:
    page = "<meta charset=iso-8859-1><p>heart".encode("latin-1")
    assert translated(page, "html", lambda word: "ψœ").data.endswith(b"<p>&#968;\x9c")


@pytest.mark.parametrize(
    ("head", "encoding", "word"),
    [
        ("<meta charset=windows-1251>", "cp1251", "дом"),
        ("<META CHARSET='KOI8-R'>", "koi8-r", "дом"),
        ('<meta http-equiv=x content="text/html; charset=windows-1250">', "cp1250", "dům"),
        ('<meta content="text/html;charset=iso-8859-9">', "cp1254", "ışık"),
        ("<meta charset=windows-874>", "cp874", "กขค"),
        ("<meta charset=gb2312>", "gbk", "镕"),
        ("<meta charset=ks_c_5601-1987>", "cp949", "똠"),
        ("<meta charset=x-sjis>", "cp932", "①髙"),
        ("<meta charset=utf-16>", "utf-8", "дом"),
        ("<!-- <meta charset=koi8-r> --><meta charset=windows-1251>", "cp1251", "дом"),
        ('<?xml version="1.0" encoding="iso-8859-2"?>', "iso-8859-2", "dům"),
    ],
)
def test_a_page_is_read_in_the_encoding_that_it_declares(
    head: str, encoding: str, word: str
) -> None:
    page = f"{head}<p>{word}</p>"
    read: list[str] = []

    def note(word: str) -> str:
        read.append(word)
        return word

    result = translated(page.encode(encoding), "html", note)
    assert "".join(read) == word
    assert result.data == page.encode(encoding) and not result.warnings


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_has_precedence(encoding: str) -> None:
    page = "\ufeff<meta charset=windows-1251><p>дом</p>"
    result = translated(page.encode(encoding), "html", str.upper)
    assert result.data == page.replace("дом", "ДОМ").encode(encoding)


@pytest.mark.parametrize("head", ["", "<meta charset=utf-8>"])
def test_bytes_that_cannot_be_decoded_stay(head: str) -> None:
    page = head.encode() + b"<p>caf\xe9</p>\n<p>two</p>"
    result = translated(page, "html", str.upper)
    if head:
        assert result.data == head.encode() + b"<p>caf\xe9</p>\n<p>TWO</p>"
        message = "bytes that cannot be decoded; the text was left as it is"
        assert result.warnings == [(1, message)]
    else:
        assert result.data == b"<p>CAF\xc9</p>\n<p>TWO</p>"


class Skeleton(HTMLParser):
    """The tags and attributes of a page, without texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[object] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = [(name, value.lower() if value else value) for name, value in attrs]
        self.tags.append((tag, values))

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(tag)


def test_another_parser_sees_the_same_tags() -> None:
    changed = translated(PAGE, "html", str.upper).data.decode()
    assert Skeleton(changed).tags == Skeleton(PAGE).tags


def test_elements_whose_words_are_lost_are_reported() -> None:
    text = "<p>a\n<b>dog</b> cat\n<p><b>dog</b> <b>cat</b>"
    result = translated(text, "html", lambda word: "" if word == "dog" else word)
    assert result.data.decode() == "<p>a\n<b>cat</b>\n<p><b></b> <b>cat</b>"
    message = "no words belong to <b>; check where it stands"
    assert result.warnings == [(1, message), (3, message)]


def test_sentences_have_the_spaces_of_the_target_language() -> None:
    english, japanese = "<p>One. <b>Two</b>. Three.", "<p>一つ。<b>二</b>つ。<b>三</b>つ。四つ"
    to_japanese = translated(english, "html", str.upper, languages=("en", "ja")).data.decode()
    assert to_japanese == "<p>ONE.<b>TWO</b>.THREE."
    to_english = translated(japanese, "html", lambda word: f"{word}x", languages=("ja", "en"))
    assert "。x <b>" in to_english.data.decode()
    assert translated(japanese, "html", languages=("ja", "en")).data.decode() == japanese


def test_the_text_of_a_sentence_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    original = MarkupTranslator.source_text

    def noted(self: MarkupTranslator, marked: MarkedText) -> str:
        texts.append(marked.text)
        return original(self, marked)

    monkeypatch.setattr(MarkupTranslator, "source_text", noted)
    translated("<p title='A cat'>One. <b>Two</b>! <p>1", "html", str.upper)
    assert sorted(texts) == ["A cat", "One.", "Two!"]


def test_sentences_are_translated_one_by_one_in_one_call() -> None:
    translator = StandIn(copied)
    page = "<p title='A cat'>One. Two <b>Mr. X</b>! Three<p>1"
    translate_document(page.encode(), "html", translator)  # type: ignore[arg-type]
    assert translator.texts == [["A cat", "One.", "Two Mr. X!", "Three"]]


@pytest.mark.parametrize(
    ("format", "before", "after"),
    [
        ("html", "<p>", "</p>"),
        ("md", "", ""),
        ("xliff", "<xliff version='1.2'><trans-unit><source>", "</source></trans-unit></xliff>"),
        ("srt", "1\n00:00:01,000 --> 00:00:02,000\n", ""),
    ],
)
def test_indentation_of_wrapped_text_is_one_blank_for_models(
    format: str, before: str, after: str
) -> None:
    translator = StandIn(copied)
    text = f"{before}One  word and\n      *some* more{after}\n"
    translate_document(text.encode(), format, translator)  # type: ignore[arg-type]
    assert translator.texts[0][0].replace("*", "") == "One word and some more"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("昨日東\n   京に行\nった", "昨日東京に行った"),
        ("โรง\nเรียน", "โรงเรียน"),
        ("한국\n어", "한국 어"),
        ("使用\nPython", "使用 Python"),
    ],
)
@pytest.mark.parametrize(("before", "after"), [("<p>", "</p>"), ("<b>x</b> <p><i>", "</i>")])
def test_wrapped_text_without_blanks_has_none_for_models(
    text: str, read: str, before: str, after: str
) -> None:
    page = f"{before}{text}{after}"
    translator = StandIn(copied, "ja", "en")
    result = translate_document(page.encode(), "html", translator)  # type: ignore[arg-type]
    assert translator.texts[0][-1] == read
    assert result.data.decode() == page


@pytest.mark.parametrize("part", ["我们今天去北京，", "我们今天去北京"])
def test_parts_of_a_long_sentence_have_the_spaces_of_the_target_language(part: str) -> None:
    page = f"<p>{part * 200}</p>"
    result = translated(page, "html", lambda word: f"{word}x", languages=("zh", "en"))
    assert result.data.decode().count("x ") == 1


@pytest.mark.parametrize(
    "text",
    ["http://x.org/<wbr>long/<wbr>path", "a<i>@</i>b.org", "%<b>d</b>", "https://x.org/<b>a</b>"],
)
def test_signs_that_tags_divide_are_not_lost(text: str) -> None:
    """Translate the words around them; no sign is missing then, and none is there twice."""

    def change(word: str) -> str:
        return word.upper() if word in ("see", "now") else word

    changed = translated(f"<p>see {text} now", "html", change).data.decode()
    assert changed == f"<p>SEE {text} NOW"


def test_a_sign_that_the_source_has_not_is_left_out() -> None:
    changed = translated("<p>see <b>it</b>", "html", lambda w: "%d" if w == "see" else w)
    assert "%d" not in changed.data.decode()


@pytest.mark.parametrize(
    ("format", "file"),
    [
        ("html", "<p>a {} b"),
        ("html", '<html xmlns="http://www.w3.org/1999/xhtml"><p>a {} b</p></html>'),
        ("md", "a {} b"),
        ("srt", "WEBVTT\n\n00:01.000 --> 00:02.000\na {} b\n"),
    ],
)
@pytest.mark.parametrize("reading", ["<rt>kan</rt>", "<rp>(</rp><rt>kan</rt><rp>)</rp>"])
def test_readings_of_ruby_stay_and_are_no_part_of_the_text(
    format: str, file: str, reading: str
) -> None:
    translator = StandIn(str.upper)
    data = file.replace("{}", f"<ruby>word{reading}</ruby>").encode()
    changed = translate_document(data, format, translator).data.decode()  # type: ignore[arg-type]
    assert f"A <ruby>WORD{reading}</ruby> B" in changed
    assert translator.texts == [["a word b"]]


def test_a_reading_needs_no_end_tag() -> None:
    changed = translated("<ruby>a<rp>(<rt>b<rp>)</ruby> <ruby>c<rt>d</ruby>", "html", str.upper)
    assert changed.data == b"<ruby>A<rp>(<rt>b<rp>)</ruby> <ruby>C<rt>d</ruby>"


@pytest.mark.parametrize(
    "page",
    [
        "<p>A <xmp>b <i>c</i> <p>d</xmp> E",
        "<p>A</p><listing>b <b>c</b></listing>E",
        "<p>A <plaintext>b <p>c</plaintext> d",
    ],
)
def test_old_elements_of_text_as_it_is_written_stay(page: str) -> None:
    source = page.replace("A", "a").replace("E", "e")
    assert translated(source, "html", str.upper).data == page.encode()
