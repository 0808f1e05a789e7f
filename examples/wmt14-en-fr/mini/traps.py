"""Put the difficulties of the real corpora into small ones.

The known troubles of WMT's archives: blank sides, separators that only some programs take for line
ends, carriage returns, control characters, invalid UTF-8, lines of thousands of words, both kinds
of quotes, members in other languages, and SGML with entities.
"""

import html

Bitext = tuple[list[str], list[str]]

_LONG_LINE_WORDS = 3_000
"""Words of the longest line."""

TRAPS: list[tuple[bytes, bytes]] = [
    (b"", "Cette ligne n\u2019a pas de traduction.".encode()),
    (b"This line has no translation.", b""),
    (b"", b""),
    (b" \t ", b"Des blancs seuls."),
    ("One line\u2028to all who count newlines.".encode(), "Une seule\u2028ligne.".encode()),
    ("So is\u2029this, and\u0085this.".encode(), "Celle-ci\u0085aussi.".encode()),
    (b"Ends as in other systems.\r", b"Finit comme ailleurs.\r"),
    (b"Turns\rback amid the line.", b"Revient\rau milieu.\r"),
    (b"A page\fends, a\vtab, \x1c a file, \x00 nothing.", b"Une page\ffinit,\x1e voil\xc3\xa0."),
    ("\ufeffA mark of byte order.".encode(), "\ufeffUne marque.".encode()),
    ("“Don’t”, he said, ‘now’.".encode(), "« N’y va pas », dit\u00a0: “ l’autre ”.".encode()),
    (b"'Don't', he said, \"now\".", b"\"N'y va pas\", dit l'autre."),
    (b"Caf\xe9 in another encoding.", b"Caf\xe9 dans un autre codage."),
    ("Ĳ ﬁne\u200b soft\u00adhyphen 👍 e\u0301.".encode(), "Œuvre\u202f中文 \ue000.".encode()),
    (b"Two  blanks   and &amp; an &quot;entity&quot;.", b"Deux  blancs   &#38; une entit\xc3\xa9."),
    (b"long " * _LONG_LINE_WORDS, b"longue " * _LONG_LINE_WORDS),
]  # fmt: skip


def with_traps(name: str, bitext: Bitext) -> tuple[bytes, bytes]:
    """Return both sides with difficulties spread evenly over them.

    :param name: Name of the corpus; Common Crawl gets all difficulties, the others some.
    """
    src, tgt = ([line.encode() for line in side] for side in bitext)
    selected = TRAPS if name in ("giga", "un", "commoncrawl") else TRAPS[:3] + TRAPS[9:12]
    step = max(len(src) // len(selected), 1)
    for number, (english, french) in enumerate(selected):
        src.insert(number * (step + 1), english)
        tgt.insert(number * (step + 1), french)
    return b"\n".join([*src, b""]), b"\n".join([*tgt, b""])


def joined(bitext: Bitext) -> tuple[bytes, bytes]:
    """Return both sides as bytes, with a newline after each line."""
    src, tgt = ("".join(f"{line}\n" for line in side).encode() for side in bitext)
    return src, tgt


def unrelated_members(archive: str) -> dict[str, bytes]:
    """Return further members of an archive, in other languages and directions."""
    if archive == "training-parallel-europarl-v7.tgz":
        return {"training/europarl-v7.cs-en.cs": b"Jin\xc3\xbd jazyk.\n"}
    if archive == "training-parallel-un.tgz":
        return {"un/undoc.2000.es-en.en": b"Another pair of languages.\n"}
    if archive == "test-full.tgz":
        return {"test-full/newstest2014-fren-src.fr.sgm": b"<srcset></srcset>\n"}
    return {}


def sgm(lines: list[str], side: str) -> bytes:
    """Return one side of the test set as SGML, in documents of ten segments."""
    kind = "refset" if side == "fr" else "srcset"
    of_target = ' trglang="fr"' if side == "fr" else ""
    parts = [f'<{kind} setid="newstest2014" srclang="any"{of_target}>\n']
    for first in range(0, len(lines), 10):
        origin = "en" if first % 20 else "fr"
        parts.append(f'<doc sysid="ref" docid="{first:05}-news.{origin}" genre="news"')
        parts.append(f' origlang="{origin}">\n<p>\n')
        for number, line in enumerate(lines[first : first + 10], start=1):
            parts.append(f'<seg id="{number}">{html.escape(line)}</seg>\n')
        parts.append("</p>\n</doc>\n")
    return "".join([*parts, f"</{kind}>\n"]).encode()
