"""Subtitles, checked with the package srt."""

import re

import pytest
import srt

from nmtkit.documents.inline import subtitle_pieces
from nmtkit.documents.srt import balanced_lines
from nmtkit.inference.document import translate_document
from nmtkit.text.markup_pieces import find_partners
from tests.unit.documents.sample_texts import SUBTITLES
from tests.unit.documents.stand_ins import StandIn, copied, translated


def test_times_and_numbers_stay() -> None:
    old = list(srt.parse(SUBTITLES))
    new = list(srt.parse(translated(SUBTITLES, "srt", str.upper).data.decode()))
    assert [(s.index, s.start, s.end, s.proprietary) for s in new] == [
        (s.index, s.start, s.end, s.proprietary) for s in old
    ]
    assert [s.content for s in new] == [
        "{\\an8}I THINK THAT YOU\nKNOW <i>THIS</i>",
        "AND GO ON WITH IT.\nBYE NOW!",
        "- HELLO.\n- WHO ARE YOU?",
    ]


def test_a_sentence_over_two_subtitles_is_translated_as_one() -> None:
    translator = StandIn(copied)
    translate_document(SUBTITLES.encode(), "srt", translator)  # type: ignore[arg-type]
    assert "I think that you know this and go on with it." in translator.texts[0]


@pytest.mark.parametrize(
    ("end", "goes_on"),
    [("", True), (",", True), ("…", True), ("...", True), ("...</i>", True)]
    + [(".", False), ("...?", False), (".”", False), ("]", False)],
)
def test_a_sentence_goes_on_behind_an_ellipsis(end: str, goes_on: bool) -> None:
    file = f"1\n{TIME.format(1)}We think{end}\n\n2\n{TIME.format(2)}...that it is.\n"
    translator = StandIn(copied)
    translate_document(file.encode(), "srt", translator)  # type: ignore[arg-type]
    assert (len(translator.texts[0]) == 1) == goes_on


def test_lines_are_at_most_as_many() -> None:
    text = SUBTITLES.replace("Bye now!", "Bye now, my dear!")
    new = translated(text, "srt", lambda word: word * 3 if word.isalpha() else word).data.decode()
    pairs = zip(srt.parse(text), srt.parse(new), strict=True)
    for old_subtitle, new_subtitle in pairs:
        assert new_subtitle.content.count("\n") <= old_subtitle.content.count("\n")


@pytest.mark.parametrize(
    ("text", "most", "lines"),
    [
        ("one two three four", 2, ["one two", "three four"]),
        ("one two three four", 1, ["one two three four"]),
        ("a\nb\nc", 2, ["a b", "c"]),
        ("a\nb", 2, ["a", "b"]),
        ("word", 3, ["word"]),
        ("- a b c d\n- e", 3, ["- a b", "c d", "- e"]),
        ("", 2, []),
    ],
)
def test_lines_are_balanced(text: str, most: int, lines: list[str]) -> None:
    assert balanced_lines(text, most) == lines


@pytest.mark.parametrize(
    ("text", "most", "lines"),
    [
        (
            "私は昨日東京に行って、友達に会いました。とても楽しかったです。",
            2,
            ["私は昨日東京に行って、友達に会いました。", "とても楽しかったです。"],
        ),
        ("はい。", 2, ["はい。"]),
        ("上\n中\n下", 1, ["上中下"]),
    ],
)
def test_lines_without_blanks_are_balanced(text: str, most: int, lines: list[str]) -> None:
    assert balanced_lines(text, most) == lines


def test_lines_are_joined_as_their_script_needs() -> None:
    file = f"1\n{TIME.format(1)}私は昨日東\n京に行った\n"
    translator = StandIn(copied, "ja", "en")
    translate_document(file.encode(), "srt", translator)  # type: ignore[arg-type]
    assert translator.texts == [["私は昨日東京に行った"]]


def test_georgian_subtitles_do_not_go_on() -> None:
    texts = ["გამარჯობა", "როგორ ხარ", "კარგად"]
    file = "".join(f"{n}\n{TIME.format(n)}{text}\n\n" for n, text in enumerate(texts, 1))
    translator = StandIn(copied, "ka", "en")
    translate_document(file.encode(), "srt", translator)  # type: ignore[arg-type]
    assert translator.texts == [texts]


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("JOHN: Hello", ["Hello"]),
        ("JOHN: Hello\nyou\nMARY #2: Hi", ["Hello you", "Hi"]),
        ("- DR. O'NEIL: Hello\n- Hi", ["Hello", "Hi"]),
        ("<i>JOHN (V.O.): Hello</i>", ["Hello"]),
        ("<b>JOHN:</b>\nHello there. You", ["Hello there.", "You"]),
        ("ÉVA: Hello. Note: it is", ["Hello.", "Note: it is"]),
        ("Note: hello", ["Note: hello"]),
        ("I SAID: GO HOME!", ["I SAID: GO HOME!"]),
        ("Hello. NOTE: it is", ["Hello.", "NOTE: it is"]),
        ("It is 10: no", ["It is 10: no"]),
    ],
)
def test_labels_of_speakers_stay(text: str, texts: list[str]) -> None:
    file = f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n"
    translator = StandIn(lambda word: f"{word}x" if word.isalpha() else word)
    result = translate_document(file.encode(), "srt", translator)  # type: ignore[arg-type]
    assert translator.texts[0] == texts
    assert result.data.decode().replace("x", "").split() == file.split()


def test_labels_stay_at_the_beginning_of_a_line() -> None:
    file = "1\n00:00:01,000 --> 00:00:02,000\nJOHN: It is here\nnow and then so\nMARY: No\n"
    changed = translated(file, "srt", str.lower).data.decode()
    assert changed == file.replace("It", "it").replace("No", "no")


def test_webvtt_keeps_its_head_and_notes() -> None:
    text = (
        "WEBVTT - x\n\nNOTE no\n\nSTYLE\n::cue { color: red }\n\n00:01.000 --> 00:02.000 line:0\n"
    )
    text += "<v Bob>Hello &amp; bye"
    changed = translated(text, "srt", str.upper).data.decode()
    assert changed == text.replace("Hello", "HELLO").replace("bye", "BYE")


@pytest.mark.parametrize(
    "text",
    ["one<00:01.200><c> two</c><00:01.500><c> three</c>", "{\\i1}one{\\i0} two {\\fad(1,2)}three"]
    + ["one\\Ntwo", "one {y:i}two", "one <c.red>two</c> three"],
)
def test_codes_are_no_text(text: str) -> None:
    file = f"WEBVTT\n\n00:01.000 --> 00:02.000\n{text}"
    translator = StandIn(str.upper)
    result = translate_document(file.encode(), "srt", translator)  # type: ignore[arg-type]
    assert re.sub(r"one|two|three", lambda found: found[0].upper(), file) == result.data.decode()
    assert not re.search(r"[\\<\d]|y:i", translator.texts[0][0])


def test_classes_are_no_part_of_the_names_of_tags() -> None:
    pieces = list(subtitle_pieces("<v.loud Ann>One <c.yellow.bg>two</c></v>"))
    assert find_partners(pieces) == {0: 5, 5: 0, 2: 4, 4: 2}


def test_a_line_of_spaces_does_not_end_a_text_in_webvtt() -> None:
    text = (
        "WEBVTT\n\n00:01.000 --> 00:02.000\n \none\n \n\nNOTE x\n\n00:03.000 --> 00:04.000\n\t\ntwo"
    )
    changed = translated(text, "srt", str.upper).data.decode()
    assert changed == text.replace("one", "ONE").replace("two", "TWO")


TIME = "00:00:0{0},000 --> 00:00:0{0},900\n"


@pytest.mark.parametrize(
    "text",
    [
        f"1\n{TIME.format(1)}One\n2\n{TIME.format(2)}Two\n3\n{TIME.format(3)}Three\n",
        f"1\n{TIME.format(1)}One\n\n\nstill one\n\n2\n{TIME.format(2)}Two",
        f"1\n\n{TIME.format(1)}\nOne\n \t\n2\n\n{TIME.format(2)}\n\nTwo\n",
        f"{TIME.format(1)}One\n{TIME.format(2)}Two\n",
        f"1 {TIME.format(1)}One\n2 {TIME.format(2)}Two\n",
        f"1\n{TIME.format(1).replace(',900', '')}1999\n2\n{TIME.format(2)}In 1999\n",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_unusual_blank_lines_lose_nothing(text: str, newline: str) -> None:
    """Translate each word, and change nothing else: numbers and times stay lines."""
    text = text.replace("\n", newline)
    changed = translated(text, "srt", str.upper).data.decode()
    assert changed == text.upper()


def test_a_number_before_a_time_is_no_text() -> None:
    text = f"1\n{TIME.format(1)}One\n2\n{TIME.format(2)}Two\n1999\n\n3\n{TIME.format(3)}Three"
    translator = StandIn(copied)
    translate_document(text.encode(), "srt", translator)  # type: ignore[arg-type]
    assert translator.texts == [["One", "Two 1999", "Three"]]


def test_files_of_windows_are_read() -> None:
    data = SUBTITLES.replace("Bye", "Café").encode("cp1252")
    assert translated(data, "srt").data == data


def test_a_file_without_subtitles_is_left_and_reported() -> None:
    result = translated("one two\n\nthree\n", "srt", str.upper)
    assert result.data == b"one two\n\nthree\n"
    assert result.warnings == [(1, "no subtitles here; the file was left as it is")]
    assert not translated(SUBTITLES, "srt", str.upper).warnings
