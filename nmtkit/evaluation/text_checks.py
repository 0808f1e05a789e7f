"""Signs of the form a text is in: raw or tokenised, escaped or not, in words or subwords.

Many a low BLEU is only a comparison of two forms, or of text in a form that the measure is not
meant for; these signs are what a warning of that is made of.
"""

import re
from collections.abc import Sequence

_ENTITY = re.compile(r"&(?:amp|apos|quot|lt|gt|#91|#93|#124);")
_CHARACTER = re.compile(r"""['"<>\[\]|]""")


def looks_tokenized(lines: Sequence[str]) -> bool | None:
    """Whether most lines that end in a period have a space before it, as tokenised text has.

    :param lines: One sentence each.
    :return: None where fewer than one line in ten, or fewer than five, end in a period: then
        this sign says nothing.
    """
    ends = [line.rstrip() for line in lines]
    ends = [line for line in ends if line.endswith(".")]
    if len(ends) < max(5, len(lines) / 10):
        return None
    return 2 * sum(line.endswith(" .") for line in ends) > len(ends)


def looks_escaped(lines: Sequence[str]) -> bool | None:
    """Whether apostrophes, quotes and the like are written as entities, as Moses does (`&apos;`).

    :return: None where there are none, in either form.
    """
    if any(_ENTITY.search(line) for line in lines):
        return True
    return False if any(_CHARACTER.search(line) for line in lines) else None


def holds_subwords(lines: Sequence[str]) -> bool:
    """Whether a line holds pieces of words as BPE leaves them: `ad@@ vance`."""
    return any("@@ " in line for line in lines)
