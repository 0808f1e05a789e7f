"""Markdown: what is a segment, and what is kept."""

import pytest

from nmtkit.documents.document import DocumentOptions
from nmtkit.documents.formats import parse_document
from nmtkit.documents.markdown_inline import markdown_pieces
from nmtkit.text.markup_pieces import PieceKind
from tests.unit.documents.stand_ins import translated


def sources(text: str) -> list[str]:
    """Return the sources of the segments of a file."""
    document = parse_document(text.encode(), "md", "x", DocumentOptions())
    return [segment.source for segment in document.segments]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A #\nB\nc\n\nD", ["A", "B\nc", "D"]),
        ("A\n===\nB\n---\nC", ["A", "B", "C"]),
        ("- A\n  b\n- C\n\n  D\n", ["A\nb", "C", "D"]),
        ("1. A\n2) B", ["A", "B"]),
        ("> A\n> b\n>\n> - C", ["A\nb", "C"]),
        ("> A\n>> B\n> c\n>\n> D", ["A", "B\nc", "D"]),
        ("A\n> B\nc\n\n- D\n  > E", ["A", "B\nc", "D", "E"]),
        ("- [ ] A\n  * [x] B\n    C", ["A", "B\nC"]),
        ("```\na\n```\nB", ["B"]),
        ("~~~ x\na\n```\n~~~\nB", ["B"]),
        ("1. A:\n\n        b\n\n   C\n\n    D", ["A:", "C", "D"]),
        ("- A\n    - B\n\n        C\n\n            d\n\n    E", ["A", "B", "C", "E"]),
        ("> * A\n>\n>       b\n>\n>    C\n\nD", ["A", "C", "D"]),
        ("-      A\n\n  B\n\n      c\n\nD\n\n    e", ["A", "B", "D"]),
        ("-\tA\n\n\tB\n\n\t\tc", ["A", "B"]),
        ("!!! a\n    B\n\n        c\n\n    D", ["B", "D"]),
        ("- x\n  ```\n  a\n  ```\n  B", ["x", "B"]),
        ("    a\n\nB", ["B"]),
        ("A\n    b", ["A\nb"]),
        ("---\na: b\n---\nC", ["C"]),
        ("+++\na = 'b'\n+++\nC", ["C"]),
        ("***\nA", ["A"]),
        ("[a]: http://b\nC", ["C"]),
        ("[^1]: A note", ["A note"]),
        ("A\n[^1]: B\nc\n[^2]: D\n[^note]: E", ["A", "B\nc", "D", "E"]),
        ("*[HTML]: A b\n*[CSS]: C d", ["A b", "C d"]),
        ("<div>\na\n</div>\n\nB", ["B"]),
        ("<b>A</b> c", ["<b>A</b> c"]),
        ("<!-- a\n\nb -->\nC", ["C"]),
        ("| A | b |\n|---|:-:|\n| C |  |", ["A", "b", "C"]),
        ("A | b\n--|--\nC | d\n\nE | f", ["A", "b", "C", "d", "E | f"]),
        ("$$\na\n$$\nB", ["B"]),
        ("$$x^2$$ is A.\n\nB\n\n# C", ["$$x^2$$ is A.", "B", "C"]),
        ("$$x$$\nA", ["A"]),
        ("$$\na = b $$\n\nC", ["C"]),
        ("$$ a\n+ b\n$$\n\nC", ["C"]),
        ("$$\na\n\nb\n$$\nC", ["C"]),
        ("$$100 is A.\n\nB", ["$$100 is A.", "B"]),
        ("$$\nA\n\nB", ["$$\nA", "B"]),
        ("<script>\na\n\nb\n</script>\nC", ["C"]),
        ("<PRE>\na\n\nb</PRE>\n\nC", ["C"]),
        ("<style>\n.a {}\n\n.b {}\n</style>\n\nC", ["C"]),
        ('<?php\necho "a";\n\necho "b"; ?>\nC', ["C"]),
        ("<pre>a</pre>\nB", ["B"]),
        ("See [it][a].\n\n[a]:\n    http://x/b\n    'A title'\nC", ["See [it][a].", "C"]),
        ('[a]: http://x/b\n  "A title"\nC', ["C"]),
        ("[a]: http://x/b\nC d", ["C d"]),
        ("[Note]:\nA b.", ["[Note]:\nA b."]),
        ("> [a]:\n> http://x/b 'A'\n\nC", ["C"]),
        ("|A|B|\n|-|-|\n|``a`b`` C|`d` E|", ["A", "B", "``a`b`` C", "`d` E"]),
        ("> ```\n> a\n\nB", ["B"]),
        ("1. A\n\n    > B\n    > c\n    >\n    > ```\n    > d\n    > ```", ["A", "B\nc"]),
        ("A\n\n    > b\n\nC\n    > d", ["A", "C\n> d"]),
        ("1. A\n\n    ## B\n\n    C\n    d\n    ---\n\n    <p>\n    e", ["A", "B", "C\nd"]),
        ('=== "A"\n\n    # B\n\n    [c]: d\n\n        e', ["A", "B"]),
        ("A\n    ## b", ["A\n## b"]),
        (
            "A\n<pre>\nb\n\nc</pre>\nD\n<!-- e\n\nf -->\nG\n<!-- h --> i",
            ["A", "D", "G\n<!-- h --> i"],
        ),
        ("> ```\n> a\nB\n> ```\n> C", ["B"]),
        ("[^1]: A\n\n    B\n\nC\n\n    d", ["A", "B", "C"]),
        ("> [!NOTE]\n> A", ["A"]),
        (":::note\nA\n:::\nB", ["A", "B"]),
        (":::note[A b]{.c}\nD\n:::", ["A b", "D"]),
        (":::tip A *b*\nC\n:::", ["A *b*", "C"]),
        ("::: details A (b) {open}\nC\n:::", ["A (b)", "C"]),
        (":::{admonition} A b\n:class: c\nD\n:::", ["A b", ":class: c\nD"]),
        ("1. A\n\n    ::::info B :::\n    C\n    ::::", ["A", "B", "C"]),
        ("::: {.note}\n::: code-group\n:::{figure} a.png\n::: tip {open}\n:::", []),
        ("> [!tip]- A b\n> C", ["A b", "C"]),
        ("A\n: B\n: C", ["A", "B", "C"]),
        ('!!! note "A b"\n    C\n\n    D\n\nE\n\n    x', ["A b", "C", "D", "E"]),
        ('A\n??? tip inline\n    B\n\n=== "C"\n\n    D', ["A", "B", "C", "D"]),
        ("!!! A, b\nc", ["!!! A, b\nc"]),
        ("{% x %}\nA\n{: .b}", ["A"]),
        ("# A {#b}\n## C {.d} \n# {e}", ["A", "C", "{e}"]),
        ("{% highlight x %}\na\n\nb\n{%- endhighlight %}\nC", ["C"]),
        ("{{< highlight x >}}\na\n\nb\n{{< /highlight >}}\nC", ["C"]),
        ("[TOC]\nA\n\n[a] b", ["A", "[a] b"]),
    ],
)
def test_segments(text: str, expected: list[str]) -> None:
    assert sources(text) == expected
    assert sources(text.replace("\n", "\r\n")) == expected


@pytest.mark.parametrize("text", ["`a b`", "{ref}`a <b>`", "{py:func}``a ` b``"])
def test_code_is_one_piece_with_its_role(text: str) -> None:
    kept = [p.source for p in markdown_pieces(f"See {text} {{x}}` c") if p.kind is PieceKind.KEPT]
    assert kept == [text]


@pytest.mark.parametrize(
    "text",
    ["`code x`", "``a ` b``", "<http://x.org/a>", "<a@b.org>", "[^1]", "\\*", "&copy;", "[a][]"]
    + ["`String`s", "![](x.png)", "[](http://a.b/c_(d))", ":smile:", ":+1:", "$E = mc^2$", "$x$"]
    + ["$$a b$$", "[[a page]]", "[[a page#part]]s", "![[a.png]]", "![[a.png|size b]]"],
)
def test_what_comes_back_as_it_is(text: str) -> None:
    changed = translated(f"one {text} two", "md", str.upper).data.decode()
    assert changed == f"ONE {text} TWO"


@pytest.mark.parametrize("text", ["$5 and $6 or US$7", "$home/$name", "10:ab:cd", "a::b:c:"])
def test_prices_and_colons_are_text(text: str) -> None:
    assert (
        translated(f"one {text}, two", "md", str.upper).data.decode() == f"ONE {text}, TWO".upper()
    )


@pytest.mark.parametrize(
    "text",
    ["*a*", "**b**", "***c***", "_d_", "~~e~~", "[f](g)", "[f](g 'h')", "![i](j)", "[k][l]"]
    + ["**a *b***", "[*a*](b)", "<i>a</i>", "[[k 1|l]]", "[[k 1\\|*l* m]]", "*a [[k 1|l]]*"],
)
def test_what_stays_around_its_words(text: str) -> None:
    def bracketed(word: str) -> str:
        return f"⟦{word}⟧" if word.isalpha() else word

    changed = translated(f"one {text} two.", "md", bracketed).data.decode()
    assert changed.replace("⟦", "").replace("⟧", "") == f"one {text} two."
    assert changed.count("⟦") >= 3


@pytest.mark.parametrize("text", ["[[a]](b)", "[[a]][b]", "[a [b]](c)", "[[a|b](c)]"])
def test_links_with_brackets_are_no_links_of_a_wiki(text: str) -> None:
    changed = translated(f"one {text} two", "md", str.upper).data.decode()
    target = {"b]": "[b]", "b)": "(b)", "c)": "(c)", ")]": "(c)"}[text[-2:]]
    assert changed == f"ONE {text} TWO".upper().replace(target.upper(), target)


def test_a_page_of_a_wiki_is_kept_and_its_text_translated() -> None:
    text = "See [[my page|the text]] and [[my page]]."
    changed = translated(text, "md", str.upper).data.decode()
    assert changed == "SEE [[my page|THE TEXT]] AND [[my page]]."


def test_references_by_their_text_stay_if_the_file_defines_them() -> None:
    text = "One [the page] and ![Logo], [no page], [the page](x), [the page][a].\n\n"
    text += "> [The  Page]: x.org\n\n[logo]: y.png 'Two'\n[^1]: Three\n"
    changed = translated(text, "md", str.upper).data.decode()
    assert changed.startswith(
        "ONE [the page] AND ![Logo], [NO PAGE], [THE PAGE](x), [THE PAGE][a].\n\n> [The  Page]: x.o"
    )


@pytest.mark.parametrize("sign", ["~~", "**", "*", "__"])
def test_emphasis_around_nothing_is_left_out(sign: str) -> None:
    """`~~~~~~` at the beginning of a line would make code of all that follows."""
    text = " ".join(f"{sign}{word}{sign}" for word in ("old", "text", "here")) + " cat\n\nNext\n"
    result = translated(text, "md", lambda word: "" if word in ("old", "text") else word)
    changed = result.data.decode()
    assert changed.strip() in (f"{sign}here{sign} cat\n\nNext", f"here {sign}cat{sign}\n\nNext")
    message = f"no words belong to {sign}; check whether it is there"
    assert result.warnings == [(1, message), (1, message)]


@pytest.mark.parametrize("lost", ["one", "two"])
def test_a_break_at_the_edge_of_a_paragraph_is_left_out(lost: str) -> None:
    result = translated("one\\\ntwo\n\nthree\n", "md", lambda w: "" if w == lost else w.upper())
    assert result.data.decode() == ("TWO" if lost == "one" else "ONE") + "\n\nTHREE\n"
    kept = translated("one\\\ntwo\n", "md", str.upper).data.decode()
    assert kept == "ONE\\\nTWO\n"


def test_cells_stay_cells() -> None:
    text = "|a|b|\n|-|-|\n|c|d|"
    changed = translated(text, "md", lambda word: "x|y").data.decode()
    assert changed == "|x\\|y|x\\|y|\n|-|-|\n|x\\|y|x\\|y|"


def test_quotes_keep_their_signs_between_sentences() -> None:
    text = "> One is here.\n> Two is\n> there."
    assert translated(text, "md", str.upper).data.decode() == "> ONE IS HERE.\n> TWO IS THERE."


@pytest.mark.parametrize(
    ("line", "text"),
    [("# A #", "A"), ("# A ##  ", "A"), ("# A#", "A#"), ("# A # b", "A # b"), ("## A \t#", "A")]
    + [("# a  ", "a  "), ("# #", "")],
)
def test_signs_that_close_a_heading_are_no_text(line: str, text: str) -> None:
    assert sources(line) == [text]


@pytest.mark.parametrize("rule", ["|-|-|", "  | :-: |--:  |  ", ":-|-", "-|-", "|---|\t"])
def test_rules_of_tables(rule: str) -> None:
    assert sources(f"A | b\n{rule}\nC | d") == ["A", "b", "C", "d"]


def test_formulas_and_emoji_stay_beside_letters_of_scripts_without_blanks() -> None:
    text = "변수 $x$는 값이다. 其中$y$是好的:smile:的。 a:smile:b"
    changed = translated(text, "md", str.upper, languages=("ko", "zh")).data.decode()
    assert changed == "변수 $x$는 값이다. 其中$y$是好的:smile:的。 A:SMILE:B"


def test_an_empty_line_is_looked_for_within_a_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []

    class Pattern:
        def search(self, text: str, start: int, end: int | None = None) -> None:
            searched.append((len(text) if end is None else end) - start)

    monkeypatch.setattr("nmtkit.documents.markdown._EMPTY_LINE", Pattern())
    assert sources("$$x\n" * 100) == []
    assert len(searched) == 50 and sum(searched) <= 4 * 100
