"""The commands and programs in the documents."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

BLOCK = re.compile(
    r"(?P<comments>(?:^<!-- (?:needs|not run): .*? -->\n)*)"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)

RUN = ("sh", "python")


class Block(NamedTuple):
    """A fenced block of a page and what its comments say."""

    language: str
    code: str
    needs: tuple[str, ...]
    reason: str
    line: int


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a page that are commands or Python."""
    found = []
    for match in BLOCK.finditer(text):
        if match["language"] in RUN:
            needs = " ".join(re.findall(r"needs: (.*?) -->", match["comments"])).split()
            reason = re.search(r"not run: (.*?) -->", match["comments"])
            line = text.count("\n", 0, match.start("language")) + 1
            code = re.sub(rf"^{match['indent']}", "", match["code"], flags=re.MULTILINE)
            given = reason[1] if reason else ""
            found.append(Block(match["language"], code, tuple(needs), given, line))
    return found
