"""Which tokens follow each other without a blank, in languages other than English and French.

The rules are the same for all; tables say what differs: percent signs, quotation marks and
apostrophes. Quotation marks need no table where a line has both of a pair, because what opens and
what closes follows from their order: `„…“`, `“…”`, `»…«`, `«…»`.
"""

import re
from functools import lru_cache
from typing import ClassVar

from nmtkit.text.languages import EAST_ASIAN
from nmtkit.text.spacing import English, French, Line

BLANK_BEFORE_PERCENT = frozenset(
    ("be", "bg", "cs", "da", "de", "es", "et", "fi", "hr", "is", "lt", "lv", "nb", "nn", "no")
    + ("ru", "sk", "sl", "sv", "uk")
)
"""Languages that write `3,5 %`."""

PERCENT_BEFORE_NUMBER = frozenset(("tr", "eu"))
"""Languages that write `%5`."""

INWARD_GUILLEMETS = frozenset(("cs", "da", "de", "hr", "hu", "sk", "sl", "sr"))
"""Languages in which `»` without another mark before it opens a quotation."""

CLOSING_MARKS_ONLY = frozenset(("fi", "sv"))
"""Languages that open and close a quotation with the same mark: `”…”`, `»…»`."""

_BEHIND_COLON = {
    "fi": frozenset(
        "a aa aan aita an den een eiden eita en han hen hin hon hun hyn hön i ia iden ien ihin iin"
        " iksi illa ille illä ilta iltä in ina inä issa issä ista istä it ita itä iä itten jen jä"
        " kin ksi kaan kään lla lle llä lta ltä n na nen nkin nneksi nnelle nnellä nnen nnessä"
        " nnestä nnet nsa nsä nteen ntenä nä on s seen ssa ssakin ssä ssäkin sta stä t ta tta ttä"
        " tä un yn ä ään ää ön öön".split()
    ),
    "sv": frozenset(
        "a an ans ar arna arnas are aren as e er erna ernas es et ets n na nas ns or orna s"
        " t".split()
    ),
}
"""Endings that a language joins to acronyms and numbers by a colon: `EU:n`."""

_ELISION = re.compile(
    r"[cdhjlmnstv]|ch|qu|un|gl|(?:d?e|a|da|ne|su|co)ll|quell?|bell?|sant|quest|quant|cent|mezz"
    r"|o|mc|aujourd",
    re.IGNORECASE,
)
"""Words before an apostrophe that is no quotation mark: `l'`, `dell'`, `O'`."""

_ENDINGS: dict[str, tuple[str, ...]] = {
    "de": ("s", "n", "ne", "nen", "ner", "nem", "nes", "ns", "m", "r", "t"),
    "nl": ("s", "tje", "er", "en", "ers", "n", "tjes"),
    "ca": ("l", "ls", "n", "ns", "m", "t", "hi", "ho", "s"),
    "it": (),
    "tr": (),
}
"""Words after an apostrophe that is no quotation mark: `geht's`, `so'n`, `foto's`."""

_ENGLISH_ENDINGS = ("s", "t", "re", "ve", "ll", "d", "m")
"""The same for languages without an entry: names of other languages (`McDonald's`)."""

_CLIPPED = {"nl": ("t", "k", "r")}
"""Words whose beginning an apostrophe replaces: `'t`."""

APOSTROPHES_IN_WORDS = frozenset(("be", "br", "gn", "haw", "ht", "mi", "to", "uk", "uz"))
"""Languages in which an apostrophe is like a letter: `п’ять`, `oʻzbek`."""

_SPLIT_MARKS = "،؛؟।॥։՝՜՞፣።፤፥፦၊။།៖។៕·‐‑"
"""Punctuation of other scripts that stands directly after a word."""

_EAST_ASIAN = re.compile(
    "[\u2e80-\u2fdf\u3001-\u303f\u3040-\u30ff\u3100-\u312f\u31a0-\u4dbf\u4e00-\ua4cf\uf900-\ufaff"
    "\ufe30-\ufe4f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uffee\U00020000-\U0003ffff]"
)
"""Characters of scripts that have no blanks between words."""


_WIDE_MARKS = frozenset("“”‘’…—·")
"""Punctuation of western scripts that also stands among such characters."""


class General(Line):
    """The rules of every language but English and French."""

    RULES: ClassVar[dict[str, str]] = Line.RULES | {
        **dict.fromkeys(_SPLIT_MARKS, "join_left"),
        **dict.fromkeys("‹〈「『【《", "join_right"),
        "…": "join_left",
        "‘": "single_mark",
        "‚": "opening_low",
        "%": "percent",
        ":": "colon",
        "'": "apostrophe",
        "’": "apostrophe",
        "“": "quotation_mark",
        "”": "quotation_mark",
        "«": "quotation_mark",
        "»": "quotation_mark",
        "„": "opening_low",
        "–": "dash",
        "—": "dash",
        "×": "dash",
    }
    language = ""

    def percent(self, index: int) -> None:
        """Join a percent sign to its number as the language does."""
        if self.language in PERCENT_BEFORE_NUMBER and self.after(index)[:1].isdigit():
            self.join_right(index)
        elif self.language not in BLANK_BEFORE_PERCENT:
            self.join_left(index)

    def colon(self, index: int) -> None:
        """Join a colon to the previous word, and to digits or an ending after it."""
        before, after = self.before(index), self.after(index)
        self.mark(index)
        if after in _BEHIND_COLON.get(self.language, ()):
            if before.isupper() or before[-1:].isdigit():
                self.join_right(index)

    def dash(self, index: int) -> None:
        """Join a range of numbers, `3–5`."""
        if self.between_digits(index):
            self.join_both(index)

    def opening_low(self, index: int) -> None:
        """Join „ or ‚ to the quotation after it."""
        self.open.add(self.words[index])
        self.join_right(index)

    def single_mark(self, index: int) -> None:
        """Join ‘, which closes what ‚ opened, or opens a quotation itself."""
        if "‚" in self.open:
            self.open.remove("‚")
            self.join_left(index)
        else:
            self.opening(index)

    def quotation_mark(self, index: int) -> None:
        """Join a mark that closes what an earlier mark opened, or opens a quotation itself."""
        sign = self.words[index]
        partners = {"“": "„", "”": "“„", "«": "»", "»": "«"}[sign]
        partner = next((mark for mark in partners if mark in self.open), None)
        if partner is None and sign in self.open and self.language in CLOSING_MARKS_ONLY:
            partner = sign
        if partner is not None:
            self.open.discard(partner)
            self.join_left(index)
        elif self._opens(sign, index):
            self.open.add(sign)
            self.join_right(index)
        else:
            self.join_left(index)

    def _opens(self, sign: str, index: int) -> bool:
        """Return whether a mark without a partner before it opens a quotation."""
        if sign == "”":
            return self.language in CLOSING_MARKS_ONLY
        if sign == "»":
            return self.language in INWARD_GUILLEMETS | CLOSING_MARKS_ONLY
        return bool(self.after(index))

    def apostrophe(self, index: int) -> None:
        """Join an apostrophe within a word; others are quotation marks."""
        sign, before, after = self.words[index], self.before(index), self.after(index)
        if after in _CLIPPED.get(self.language, ()):
            self.join_right(index)
        elif before[-1:].isalnum() and after[:1].isalnum() and self._in_word(index):
            self.join_both(index)
        elif sign == "'":
            self.quotation(index)
        else:
            self.open -= {"‘", "‚"}
            self.join_left(index)

    def _in_word(self, index: int) -> bool:
        """Return whether an apostrophe between two words joins them: `Ankara'da`, `l'Élysée`."""
        sign, before, after = self.words[index], self.before(index), self.after(index)
        if "'" in self.open and sign == "'":
            return self._known_apostrophe(before, after)
        suffix = after[0].islower() and (before[0].isupper() or before[-1].isdigit())
        if suffix or self.language in APOSTROPHES_IN_WORDS or self._known_apostrophe(before, after):
            return True
        return sign == "'" and self.unpaired(index)

    def _known_apostrophe(self, before: str, after: str) -> bool:
        endings = _ENDINGS.get(self.language, _ENGLISH_ENDINGS)
        return after in endings or _ELISION.fullmatch(before) is not None

    def word(self, index: int) -> None:
        """Join a word that ends with an apostrophe to the next one."""
        super().word(index)
        word = self.words[index]
        if word[-1] == "'" and word[-2:-1].isalpha() and self.after(index):
            self.join_right(index)


class EastAsian(General):
    """The rules of Chinese and Japanese: no blank between their characters."""

    @classmethod
    def keeps_blanks(cls, word: str) -> bool:
        """Return False if a wide character begins or ends a word: its blanks are taken off."""
        return not any(map(_EAST_ASIAN.match, (word[0], word[-1])))

    def __init__(self, words: list[str]) -> None:
        super().__init__(words)
        for index in range(1, len(words)):
            pair = words[index - 1][-1], words[index][0]
            wide = [_EAST_ASIAN.match(character) is not None for character in pair]
            if any(wide) and all(map(bool.__or__, wide, map(_WIDE_MARKS.__contains__, pair))):
                self.joined[index] = True


@lru_cache
def line_class(language: str) -> type[Line]:
    """Return the rules of a language."""
    if language in ("en", "fr"):
        return English if language == "en" else French
    base = EastAsian if language in EAST_ASIAN or language == "cjk" else General
    return type("Rules", (base,), {"language": language})
