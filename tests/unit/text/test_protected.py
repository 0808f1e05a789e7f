"""Tags, addresses, placeholders and the like are found as wholes, in time that grows linearly."""

import re
import time

import pytest

from nmtkit.text.placeholders import PLACEHOLDER_PATTERN
from nmtkit.text.protected import PROTECTED
from nmtkit.text.tokenizer import Tokenizer


@pytest.mark.parametrize(
    "text",
    [
        "<b>", "</b>", "<br/>", "<br />", '<a href="x y" checked>', "<span class='a'>", "&amp;",
        "&#39;", "&#x2019;", "http://a.b/c?d=e&f=g#h", "https://[::1]/x", "mailto:a@b.co",
        "www.a.b/c", "a.b+c@d-e.fr", "/usr/bin/foo", "~/a/b", "../a/b.txt", r"C:\Win\x.txt",
        "{name}", "{0}", "{{x}}", "${x}", "$(x)", "%s", "%d", "%1$s", "%(n)d", "%5.2f", "%1",
        "%PRODUCTNAME%", "foo_bar", "__x__"[2:] + "_y",
    ],
)  # fmt: skip
def test_it_is_one_part(text: str) -> None:
    for line in (text, f"a {text} b", f"({text}),"):
        assert text in PROTECTED.findall(line)


@pytest.mark.parametrize(
    "line",
    ["a < b and c > d", "a <b or c> d", "100% sure", "5% of", "and/or 1/2/3", "{a, b}", "x & y;"],
)
def test_plain_text_has_no_such_part(line: str) -> None:
    assert PROTECTED.findall(line) == []


def test_an_address_ends_before_the_punctuation_of_its_sentence() -> None:
    tokens = Tokenizer("en", protected=True).tokenize("See http://a.b/c, (or www.x.y). <b>Yes</b>.")
    assert tokens == "See http://a.b/c , ( or www.x.y ) . <b> Yes </b> .".split()


@pytest.mark.parametrize(
    "evil",
    ["<a " + "a=b ", "<", "a@", "/a", "a_", "%", "{", "a.b-", "$(a", "%(aaaa", "a+", "~/", "{{ "]
    + ["{a, plural, ", "{a, plural, b {c} ", "{a:", "%{a", "{% ", "${a ", "%0", "%1", "{ "]
    + ["a-", "--a", "文-", "http://(a"],
)
@pytest.mark.parametrize("pattern", [PROTECTED, PLACEHOLDER_PATTERN])
def test_long_lines_take_linear_time(evil: str, pattern: re.Pattern[str]) -> None:
    started = time.process_time()
    pattern.sub("", evil * 3000)
    assert time.process_time() - started < 20
