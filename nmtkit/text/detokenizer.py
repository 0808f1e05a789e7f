"""Detokenisation: join the words of a sentence to a line by the rules of its language.

The detokenizers of Moses and sacremoses know neither the typographic apostrophe (`l ’ arbre`) nor
l' before a digit or a quotation, join quotation marks wrongly where a sentence has only one of the
two, and treat most languages as English. Therefore `spacing.py` (English, French) and
`typography.py` (other languages) have rules of their own. In French, ? ! : ; and % get a plain
blank before them, as mostly in Multi30k and the laws of Canada.

`bench/roundtrip.py` measures which share of raw lines `detokenize(tokenize(line))` restores.
"""

from collections.abc import Mapping, Sequence

from nmtkit.text.languages import rules_language
from nmtkit.text.markers import HYPHEN, MARKERS, mark_spacing, read_spacing
from nmtkit.text.typography import line_class

_ENTITIES = (
    ("&bar;", "|"),
    ("&#124;", "|"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&bra;", "["),
    ("&ket;", "]"),
    ("&quot;", '"'),
    ("&apos;", "'"),
    ("&#91;", "["),
    ("&#93;", "]"),
    ("&amp;", "&"),
)
"""Moses's escapes, including those of older versions; & last."""


class Detokenizer:
    """Joins the words of a sentence to a readable line.

    :param language: language tag, such as `de` or `pt-BR`.
    :param unescape: replace Moses's entities by characters.
    :param joiners: follow the spacing markers among the tokens (`markers.py`).
    """

    def __init__(self, language: str, unescape: bool = True, joiners: bool = False) -> None:
        self._rules = line_class(rules_language(language))
        self._unescape = unescape
        self._joiners = joiners

    def detokenize(self, tokens: Sequence[str]) -> str:
        """Return the line, with entities replaced by characters and `@-@` by a hyphen."""
        tokens = [token for token in tokens if token]
        gaps: dict[int, str] = {}
        if self._joiners:
            tokens, gaps = read_spacing(tokens)
        if self._unescape:
            tokens = [unescaped(token) for token in tokens]
        words, starts = _join_hyphens(tokens)
        line = self._rules(words)
        return _spaced(words, starts, line.joined, gaps) if gaps else line.text()

    def restores(self, tokens: Sequence[str], word: str) -> bool:
        """Return whether the tokens of one word of a line give it back, whatever stands around it.

        This is a quick check that may be wrong for a word that is restored, never the reverse: if
        all words of a line pass, the line is restored.
        """
        rules = self._rules(tokens)
        return (
            all(map(rules.is_local, range(len(tokens))))
            and rules.text() == word
            and not rules.joined[0]
            and not rules.joined[-1]
            and MARKERS.isdisjoint(word)
            and self.keeps_blanks(word)
        )

    def keeps_blanks(self, word: str) -> bool:
        """Return whether the blanks around a word never depend on its letters."""
        return self._rules.keeps_blanks(word)

    def mark(self, tokens: Sequence[str], line: str) -> list[str]:
        """Put spacing markers where this detokenizer would not restore a line.

        :param tokens: the tokens of the line, not escaped.
        :param line: the line, without control characters or spaces at its ends.
        """
        words, starts = _join_hyphens(tokens)
        rules = self._rules(words)
        if rules.text() == line and MARKERS.isdisjoint(line):
            return list(tokens)
        joined = [True] * len(tokens)
        for start, join in zip(starts, rules.joined, strict=False):
            joined[start] = join
        return mark_spacing(tokens, joined, line)


def unescaped(token: str) -> str:
    """Return the token with Moses's entities replaced by their characters."""
    if "&" in token:
        for entity, character in _ENTITIES:
            token = token.replace(entity, character)
    return token


def _join_hyphens(tokens: Sequence[str]) -> tuple[Sequence[str], Sequence[int]]:
    """Return the words that tokens make with their hyphens, and the index of each one's first."""
    if HYPHEN not in tokens:
        return tokens, range(len(tokens))
    words: list[str] = []
    starts: list[int] = []
    joined = False
    for index, token in enumerate(tokens):
        if token == HYPHEN and words:
            words[-1] += "-"
        elif joined:
            words[-1] += token
        else:
            words.append("-" if token == HYPHEN else token)
            starts.append(index)
        joined = token == HYPHEN
    return words, starts


def _spaced(
    words: Sequence[str], starts: Sequence[int], joined: Sequence[bool], gaps: Mapping[int, str]
) -> str:
    """Join words, with what markers ask for before some of them instead of what rules say."""
    parts: list[str] = []
    for word, start, join in zip(words, starts, joined, strict=False):
        if parts:
            parts.append(gaps.get(start, "" if join else " "))
        parts.append(word)
    return "".join(parts)
