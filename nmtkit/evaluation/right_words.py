"""Which words of a translation are right: those that the reference has, too.

Quality estimation of words (WMT since 2013) tags a word OK if TER aligns it with the same word of
the reference, after TER has moved words to their places. Moves put every word that both sides have
on its place, so that a word is OK if it can be matched with a word of the reference that no other
word is matched with. Of a word that a translation has more often than the reference, the first
occurrences are right, as models that repeat themselves repeat what was right before.
"""

from collections import Counter
from collections.abc import Sequence


def right_words(words: Sequence[str], reference: Sequence[str]) -> list[bool]:
    """Return for each word of a translation whether it is right.

    :param reference: the words of the reference, cut in the same way.
    """
    left = Counter(reference)
    right = []
    for word in words:
        right.append(left[word] > 0)
        left[word] -= 1
    return right


def right_pieces(words: Sequence[str], reference: str) -> list[bool]:
    """Return for each word of a text without blanks between words whether it is right.

    The reference may cut the same characters otherwise; so they are counted wherever they stand.

    :param reference: the text of the reference.
    """
    left: dict[str, int] = {}
    right = []
    for word in words:
        left.setdefault(word, reference.count(word) if word else 0)
        right.append(left[word] > 0)
        left[word] -= 1
    return right
