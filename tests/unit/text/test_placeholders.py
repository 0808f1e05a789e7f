"""Placeholders are found as wholes, in every script."""

import pytest

from nmtkit.text.placeholders import PLACEHOLDER_PATTERN


@pytest.mark.parametrize(
    ("text", "expected"),
    [("v%s", ["%s"]), ("%dx%d", ["%d", "%d"]), ("%s%s", ["%s", "%s"]), ("%ds", ["%d"])]
    + [("100%sure", []), ("%description", []), ("100 %d", ["%d"]), ("50% By", []), ("5%A", [])]
    + [("%H, %lu", ["%H", "%lu"]), ("%s/%d", ["%s", "%d"])]
    + [("%d%%%s", ["%d", "%%%s"]), ("“%%%c”", ["%%%c"]), ("%%d", ["%%"])],
)
def test_placeholders_beside_letters_are_found(text: str, expected: list[str]) -> None:
    assert PLACEHOLDER_PATTERN.findall(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{{ user.name }}", "{{#if x}}", "{{/if}}", "{{> part}}", "{{ 'a' | translate }}",
        "{% if a %}", "%{count}", "#{user.name}", "%<total>d", "{0,10:N2}", "{name!r:>10}",
        "{0:%Y-%m-%d}", "{:?}", "{0,-5}", "${VAR:-no value}", "%'d", "%hu", "%zu", "%lld", "%n",
        "%.*s", "%-*.*s", "%.*ls", "%1$*2$d", "%3$.*2$s",
        "%L1", "%2", "%10", "%1$@", "{n, number, percent}", "{d, date}", "%Y", "%-d", "%OB",
        "%Y-%m-%d", "%Y%m%d", "%H:%M:%S", "%d/%m/%y", "###SITENAME###",
        "{count, plural, =0 {none} one {# file in {{dir}}} other {# files in {dir}}}",
        "{sex, select, male {{n, plural, one {his file} other {his files}}} other {it}}",
        "64MB", "3.5 GiB", "5 kg", "1,000 km", "1.000,5\u00a0mm", "20 °C", "60 km/h", "2em", "4 m²",
        "100 Mbit/s", "2.4 GHz", "12\u202fpt",
    ],
)  # fmt: skip
def test_placeholders_of_many_languages_are_found_whole(text: str) -> None:
    for line in (text, f"Take {text} now.", f"Page ({text}), {text}."):
        assert set(PLACEHOLDER_PATTERN.findall(line)) == {text}


@pytest.mark.parametrize(
    "line", ["打开{}文件", "ファイル{}です。", "เปิด{}ครับ", "문서 {}에서", "は、{}。次"]
)
@pytest.mark.parametrize(
    "text",
    ["%s", "%d", "%1$s", "%1", "%n", "%Y-%m-%d", "%<total>d", "64MB", "3.5 kg", "foo_bar", "a.txt"]
    + ["me@ex.org", "https://ex.com/a", "www.ex.com", "/usr/lib/x"]
    + ["~/.bashrc", "~/.config/a.xml", "/home/me/.profile", "./configure", "../a"],
)
def test_letters_without_blanks_are_no_part_of_placeholders(line: str, text: str) -> None:
    assert PLACEHOLDER_PATTERN.findall(line.format(text)) == [text]


@pytest.mark.parametrize(
    "text",
    ["文档.docx", "https://zh.wikipedia.org/wiki/中国", "https://ex.com/a_(b)", r"C:\用户\x"],
)
def test_names_may_have_letters_without_blanks(text: str) -> None:
    for line in (text, f"a {text} b", f"({text})."):
        assert PLACEHOLDER_PATTERN.findall(line) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "and/or",
        "/ -",
        "x ~/ y ../ z",
        "/α/β",
        "50% of it",
        "100 % de",
        "5%d",
        "set {a, b} of",
        "{note: see page 3}",
        "{",
        "}}",
        "7.5%, 8%.",
    ]
    + ["{count, plural, one {# file", "%", "a % b", "#tag", "{a, plural}"]
    + ["5 m, 2 l", "4 in", "5 kgs", "7 mm2", "v1.2 ms", "3 em dashes", "10 A", "MB 5"],
)
def test_plain_text_has_no_placeholder(text: str) -> None:
    assert PLACEHOLDER_PATTERN.findall(text) == []


@pytest.mark.parametrize(
    "name",
    ["रिपोर्ट.txt", "প্রতিবেদন.pdf", "ที่พัก.txt", "gu\u0308nther.txt", "குறிப்பு.txt", "മലയാളം.txt"]
    + [
        f"https://th.wikipedia.org/wiki/{page}"
        for page in ("กรุงเทพมหานคร", "မြန်မာ", "ភ្នំពេញ", "हिन्दी")
    ],
)
def test_marks_belong_to_the_letters_of_names_and_addresses(name: str) -> None:
    assert PLACEHOLDER_PATTERN.findall(f"x {name} y") == [name]


@pytest.mark.parametrize("sign", [*".,;:!?。，？", *"।،؟۔။።…"])
def test_an_address_ends_before_the_sign_of_its_sentence(sign: str) -> None:
    address = "https://ex.org/a"
    assert PLACEHOLDER_PATTERN.findall(f"{address}{sign} b") == [address]
