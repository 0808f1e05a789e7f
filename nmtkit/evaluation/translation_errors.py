"""Errors of single translations that a score hides: omissions, additions, repetitions and others.

They are found by comparing words with the reference (`word_matching`), by the attention that source
words got, and by the numbers and names of the source. They are signs, not proofs: a good paraphrase
may lack words of the reference, so counts compare systems rather than judge a sentence.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nmtkit.evaluation.significance import Interval
from nmtkit.evaluation.word_matching import UNMATCHED, match_words
from nmtkit.special_symbols import UNK_WORD
from nmtkit.text.scripts import unspaced_characters

KINDS = ("missing", "uncovered", "added", "repeated", "differs", "unknown", "unfinished")
"""Kinds of errors of a sentence.

missing: a content word of the reference has no counterpart in the translation.
uncovered: a content word of the source got little attention.
added: the translation has a content word with no counterpart in the reference.
repeated: more words stand twice than in the reference and in the source.
differs: a number or a name of the source is missing, or a number is invented.
unknown: the model did not know a word of the source, or wrote `<unk>`.
unfinished: the translation reached the maximum length.
"""

ADDED, REPEATED = 2, 3
"""States of words of a translation; the states of `word_matching` are 0 to 2."""

MIN_ATTENTION = 0.3
"""Attention mass below which a source word counts as not covered.

On captions of Multi30k, 84 % of the words whose translation is taken out of the alignment have
less, and 1.6 % of all words."""

MIN_CONTENT_LETTERS = 4
"""Letters and digits of a content word; one is enough in scripts without spaces."""

MIN_CONTENT_RUN = 3
"""So many shorter words in a row count as content, too."""

MIN_REPEATED_WORDS = 3
"""Length of a sequence of words that must not stand twice anywhere in a sentence."""

MAX_PERIOD = 8
"""Longest sequence of words, in words, whose immediate repetition is found."""

NORMAL_QUANTILE = 1.959964  # of 95 % intervals
_NUMBER = re.compile(r"\d+(?:[.,:’'\u00a0\u202f\u066b\u066c]\d+| \d{3}(?!\d))*")


@dataclass(frozen=True)
class SentenceErrors:
    """Errors of one translation.

    kinds: those of `KINDS` that it has.
    translation, reference, source: state of each word: 0, or as in `word_matching` and `REPEATED`.
        The source is empty without an alignment.
    """

    kinds: frozenset[str]
    translation: list[int]
    reference: list[int]
    source: list[int]


@dataclass(frozen=True)
class ErrorCount:
    """Number of sentences with one kind of error.

    count: None if it cannot be found for this system.
    share: in percent, with its 95 % interval (Wilson 1927).
    """

    count: int | None
    share: float
    interval: Interval | None


def find_errors(
    source: Sequence[str],
    reference: Sequence[str],
    translation: Sequence[str],
    attention: Sequence[float] | None = None,
    *,
    unknown: bool = False,
    finished: bool = True,
) -> SentenceErrors:
    """Find the errors of one translation.

    :param source, reference, translation: words.
    :param attention: attention mass of each source word, the sum over the target words; None
        without an alignment.
    :param unknown: the model does not know a word of the source.
    """
    match = match_words(translation, reference)
    uncovered = [] if attention is None else _uncovered(source, attention)
    repeated = _repetitions(translation, reference, source)
    ours = [
        REPEATED if index in repeated else state for index, state in enumerate(match.translation)
    ]
    found = {
        "missing": _has_content(reference, match.reference),
        "uncovered": any(uncovered),
        "added": _has_content(translation, match.translation),
        "repeated": bool(repeated),
        "differs": _copies_differ(source, reference, translation),
        "unknown": unknown or UNK_WORD in translation,
        "unfinished": not finished,
    }
    kinds = frozenset(kind for kind in KINDS if found[kind])
    return SentenceErrors(kinds, ours, match.reference, uncovered)


def count_errors(sentences: Sequence[SentenceErrors], applicable: bool, kind: str) -> ErrorCount:
    """Count the sentences with a kind of error.

    :param applicable: False if this kind cannot be found for the system.
    """
    if not applicable or not sentences:
        return ErrorCount(None, math.nan, None)
    count = sum(kind in sentence.kinds for sentence in sentences)
    share = 100 * count / len(sentences)
    return ErrorCount(count, share, wilson_interval(count, len(sentences)))


def wilson_interval(count: int, total: int) -> Interval:
    """Return the 95 % interval of a share in percent (Wilson 1927, "Probable Inference")."""
    z2 = NORMAL_QUANTILE**2
    share = count / total
    centre = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = math.sqrt(share * (1 - share) / total + z2 / (4 * total**2))
    margin = NORMAL_QUANTILE * half / (1 + z2 / total)
    low, high = max(0.0, centre - margin), min(1.0, centre + margin)
    return Interval(100 * share, 100 * low, 100 * high)


def is_content(word: str) -> bool:
    """Return True for words with some letters, and words of scripts without spaces."""
    letters = sum(map(str.isalnum, word))
    return letters >= (1 if unspaced_characters(word) else MIN_CONTENT_LETTERS)


def _has_content(words: Sequence[str], states: Sequence[int]) -> bool:
    """Return True if unmatched words are content, or are several in a row."""
    run = 0
    for word, state in zip(words, states, strict=True):
        is_word = any(map(str.isalnum, word))
        if state == UNMATCHED and is_content(word):
            return True
        run = run + 1 if state == UNMATCHED and is_word else 0
        if run >= MIN_CONTENT_RUN:
            return True
    return False


def _uncovered(source: Sequence[str], attention: Sequence[float]) -> list[int]:
    return [
        UNMATCHED if mass < MIN_ATTENTION and is_content(word) else 0
        for word, mass in zip(source, attention, strict=True)
    ]


def _repetitions(
    translation: Sequence[str], reference: Sequence[str], source: Sequence[str]
) -> set[int]:
    """Return the positions of words that repeat earlier ones, more often than the other texts.

    A repetition in the reference or the source allows one as long, whatever its words are: "vous
    vous levez" is no error where the reference has "nous nous levons".
    """
    ours = [word.casefold() for word in translation]
    spans = _repeated_spans(ours)
    if not spans:
        return set()
    allowed = Counter[int]()
    for words in (reference, source):
        others = _repeated_spans([word.casefold() for word in words])
        allowed |= Counter(length for _, length in others)
    found = set[int]()
    for start, length in spans:
        if allowed[length]:
            allowed[length] -= 1
        else:
            found.update(range(start, start + length))
    return found


def _repeated_spans(words: Sequence[str]) -> list[tuple[int, int]]:
    """Return the begin and length of sequences of words that stood before in the sentence.

    These are immediate repetitions of up to `MAX_PERIOD` words with a letter, and sequences of at
    least `MIN_REPEATED_WORDS` words anywhere.
    """
    spans = [
        (start, period)
        for period in range(1, MAX_PERIOD + 1)
        for start in _immediate_repetitions(words, period)
    ]
    seen: set[tuple[str, ...]] = set()
    for start in range(len(words) - MIN_REPEATED_WORDS + 1):
        sequence = tuple(words[start : start + MIN_REPEATED_WORDS])
        if sequence in seen and sum(map(is_content, sequence)) > 1:
            spans.append((start, MIN_REPEATED_WORDS))
        seen.add(sequence)
    return spans


def _immediate_repetitions(words: Sequence[str], period: int) -> Iterator[int]:
    run = 0
    for index in range(period, len(words)):
        run = run + 1 if words[index] == words[index - period] else 0
        start = index - period + 1
        if run >= period and any(c.isalpha() for w in words[start : index + 1] for c in w):
            yield start


def _copies_differ(
    source: Sequence[str], reference: Sequence[str], translation: Sequence[str]
) -> bool:
    """Return True if a number or name is lost, or a number invented.

    Only numbers and names that stand in both source and reference have to stand in the translation;
    a number in it has to stand in one of the two.
    """
    src, ref, ours = (_numbers(words) for words in (source, reference, translation))
    if (src & ref) - ours or ours - (src | ref):
        return True
    folded = {word.casefold() for word in translation}
    names = {word for word in source[1:] if _is_name(word)} & set(reference[1:])
    return any(name.casefold() not in folded for name in names)


def _is_name(word: str) -> bool:
    return len(word) > 1 and word[0].isupper()


def _numbers(words: Sequence[str]) -> Counter[str]:
    """Return the numbers of a text by their digits, as separators and scripts of digits differ."""
    found = _NUMBER.findall(" ".join(words))
    return Counter(
        "".join(str(unicodedata.decimal(sign)) for sign in number if sign.isdecimal())
        for number in found
    )


def error_counts(
    errors: Mapping[str, Sequence[SentenceErrors]], applicable: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, ErrorCount]]:
    """Return the counts of each kind of error by system; kinds that no system has are left out.

    :param errors: by system.
    :param applicable: kinds that can be found, by system.
    """
    counts = {
        kind: {
            system: count_errors(sentences, kind in applicable[system], kind)
            for system, sentences in errors.items()
        }
        for kind in KINDS
    }
    return {
        kind: by_system
        for kind, by_system in counts.items()
        if any(count.count for count in by_system.values())
    }
