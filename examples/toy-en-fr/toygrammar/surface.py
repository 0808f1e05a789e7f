"""Words with links, and how adjacent words change: elision, contraction, spacing.

Every word carries keys for the meanings that it expresses, as bits of an integer. An English and a
French word are linked exactly when they share a key, so phrases can be ordered freely on either
side and the alignment follows; `du` carries the keys of both `de` and `le`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

VOWELS = "aeiouyàâäéèêëîïôöùûüœ"
ASPIRATED = ("héros", "hibou", "hiboux", "huit")  # h aspiré: le héros, not l'héros
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


@dataclass(slots=True)
class Word:
    """One token.

    :param keys: the meanings that it expresses, one bit each; words that share a bit are linked.
    :param before_vowel: its form before a vowel sound (`l'`, `vieil`, `an`), if it has one.
    :param article: True for `le` and `les` as articles, which contract with `de` and `à`; the
        pronouns do not (`avant de le voir`).
    """

    text: str
    keys: int
    before_vowel: str = ""
    article: bool = False


@dataclass(slots=True)
class Phrase:
    """Words of both languages, each side in its own order, with its agreement features.

    :param kinds: what it denotes (`person`, `animal`, `place`, ...), so that verbs can choose.
    :param clitic: 0 for phrases after the verb; for French pronouns before it their rank: 1 me te
        se nous, 2 le la les, 3 lui leur.
    :param negative: the key of `nobody`, which requires `ne`, else 0.
    :param closed: True if a following `and` or `who` would be ambiguous.
    """

    english: list[Word] = field(default_factory=list)
    french: list[Word] = field(default_factory=list)
    person: int = 3
    plural: bool = False
    feminine: bool = False
    kinds: tuple[str, ...] = ()
    clitic: int = 0
    negative: int = 0
    closed: bool = False

    def __add__(self, other: "Phrase") -> "Phrase":
        """Concatenate two phrases, with the features of the first."""
        return Phrase(
            self.english + other.english,
            self.french + other.french,
            self.person,
            self.plural,
            self.feminine,
            self.kinds,
            self.clitic,
            self.negative,
            self.closed or other.closed,
        )


def phrase(key: int, english: str, french: str) -> Phrase:
    """Return a phrase in which every English word is linked to every French word."""
    return Phrase([Word(w, key) for w in english.split()], [Word(w, key) for w in french.split()])


def starts_with_vowel(word: str) -> bool:
    """Return True if French elides before this word: a vowel or a mute h."""
    lower = word.lower()
    if lower.startswith("h"):
        return lower not in ASPIRATED
    if lower.startswith("y"):
        return lower == "y"
    return lower[0] in VOWELS


def finish_english(words: list[Word]) -> list[Word]:
    """Choose between `a` and `an` and capitalise the first letter."""
    result = [
        Word(w.before_vowel, w.keys) if w.before_vowel and after.text[0].lower() in "aeiou" else w
        for w, after in zip(words, words[1:] + words[-1:], strict=True)
    ]
    return [_capital(result[0]), *result[1:]]


def finish_french(words: list[Word]) -> list[Word]:
    """Elide (`l'homme`, `vieil ami`), contract (`du`, `aux`) and capitalise the first letter."""
    result: list[Word] = []
    for word, after in zip(words, words[1:] + words[-1:], strict=True):
        word = _before(word, after)
        contracted = ""
        if result and word.article:
            contracted = CONTRACTED.get((result[-1].text, word.text), "")
        if contracted:
            result[-1] = Word(contracted, result[-1].keys | word.keys)
        else:
            result.append(word)
    return [_capital(result[0]), *result[1:]]


def _before(word: Word, after: Word) -> Word:
    """Return the form of a French word before another."""
    if not word.before_vowel or not starts_with_vowel(after.text):
        return word
    if word.text == "si" and after.text not in ("il", "ils"):
        return word
    return Word(word.before_vowel, word.keys)


def _capital(word: Word) -> Word:
    """Return the word with a capital first letter."""
    return Word(word.text[0].upper() + word.text[1:], word.keys)


def links(english: list[Word], french: list[Word]) -> list[tuple[int, int]]:
    """Return positions (English, French) of words that share a key, in order."""
    return [(i, j) for i, a in enumerate(english) for j, b in enumerate(french) if a.keys & b.keys]


def english_text(words: Iterable[Word]) -> str:
    """Return the line without spaces before punctuation marks and possessives."""
    line = ""
    for word in words:
        glued = not line or word.text in (",", ".", "?", "!", "'s")
        line += word.text if glued else " " + word.text
    return line


def french_text(words: Iterable[Word]) -> str:
    """Return the line without spaces after apostrophes, and with one before `?` and `!`."""
    line = ""
    for word in words:
        glued = not line or line.endswith("'") or word.text in (",", ".")
        line += word.text if glued else " " + word.text
    return line
