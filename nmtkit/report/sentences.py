"""The translations of a report as the JSON that its page holds, small enough to be sent by mail.

Of each sentence there is an array

    [source, reference, output of each system, in order]

where a line of text is [its words with blanks between, the places, from 0, of the words that no
blank stands before], and the text as it is behind these where they do not make it; an output is

    [line, chrF, score, finished, word scores, tokens, alignment, n-best]

score: log p, natural log; null where no model gave one. tokens: where they are not the words. An
n-best entry is [words in common with the best at the beginning, at the end, the words between,
score, ranking score, finished].

Departures and readings: numbers are rounded, and text is written in 64 digits, `DIGITS`, so that
3,000 sentences of newspapers fit. A log-probability of a token has two digits, in hundredths below
0, at most 40.95. An alignment lists the cells whose weight is at least 0.03, row by row: how many
cells are passed over before it, in digits of 32 with the least first, 32 more where another digit
follows; then the weight in 63rds.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmtkit.inference.translation import Translation
    from nmtkit.report.model_report import Line, ModelReport, Output

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
LIMIT = 4_800_000
"""Bytes of the sentences in a page, which shall stay below 5 MB."""

LEAST = 0.03  # weight of an alignment that is told
WORD_SCORES, TOKENS, ALIGNMENT, N_BEST = 4, 5, 6, 7
"""Places in an output."""


@dataclass(frozen=True)
class Packed:
    """Sentences as JSON, and in sentences for readers what was left out of them, if anything."""

    text: str
    left_out: tuple[str, ...]


def pack(report: "ModelReport", limit: int = LIMIT) -> Packed:
    """All sentences of a report, or as much of them as fits.

    What is left out first are the n-best lists of the longest sentences, then the word scores of
    the longest, then their alignments; at last the sentences at the end.

    :param limit: bytes of the JSON.
    """
    rows = list(_rows(report))
    size = 1 + sum(map(_size, rows))
    told = []
    for name, emptied in (
        ("n-best lists", (N_BEST,)),
        ("word scores", (WORD_SCORES, TOKENS)),
        ("alignments", (ALIGNMENT,)),
    ):
        if size <= limit:
            break
        size, count = _without(rows, emptied, size, limit)
        told.append(f"the {name} of the {count:,} longest")
    shown = _fitting(rows, limit)
    if shown < len(rows):
        told.append(f"all sentences behind the first {shown:,}")
    return Packed(to_json(rows[:shown]), tuple(told))


def to_json(value: Any) -> str:
    """JSON that may stand inside `<script>`, whatever the strings in it are."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def places_joined(text: str, words: Sequence[str]) -> list[int] | None:
    """The places of the words that no blank stands before, or None where the words do not make the
    text. The first word has none."""
    joined, at = [], 0
    for place, word in enumerate(words):
        blanks = len(text) - at - len(text[at:].lstrip())
        at += blanks
        if not text.startswith(word, at):
            return None
        if place and not blanks:
            joined.append(place)
        at += len(word)
    return None if text[at:].strip() else joined


def packed_alignment(matrix: Sequence[Sequence[float]]) -> str:
    """The weights of an alignment, row by row, but for the least."""
    digits, passed = [], 0
    for weight in (weight for row in matrix for weight in row):
        if weight < LEAST:
            passed += 1
            continue
        while passed >= 32:
            digits.append(DIGITS[32 + passed % 32])
            passed //= 32
        digits += [DIGITS[passed], DIGITS[int(63 * min(weight, 1.0) + 0.5)]]
        passed = 0
    return "".join(digits)


def packed_scores(scores: Sequence[float]) -> str:
    """Log-probabilities of tokens."""
    hundredths = [min(4095, max(0, int(-100 * score + 0.5))) for score in scores]
    return "".join(DIGITS[number // 64] + DIGITS[number % 64] for number in hundredths)


def _rows(report: "ModelReport") -> Iterator[list[Any]]:
    systems = [(report.outputs[a.name], report.qualities[a.name]) for a in report.accounts]
    for number, (source, reference) in enumerate(
        zip(report.sources, report.references, strict=True)
    ):
        outputs = [_output(of[number], quality[number], source) for of, quality in systems]
        yield [_packed_line(source), _packed_line(reference), outputs]


def _packed_line(line: "Line") -> list[Any]:
    joined = places_joined(line.text, line.words) or []
    packed = [" ".join(line.words), joined]
    return packed if _shown(line.words, joined) == line.text else [*packed, line.text]


def _shown(words: Sequence[str], joined: Sequence[int]) -> str:
    """The text that the page makes of words."""
    before = ["" if place in joined or not place else " " for place in range(len(words))]
    return "".join(blank + word for blank, word in zip(before, words, strict=True))


def _output(output: "Output", quality: float, source: "Line") -> list[Any]:
    line, best, aligned = output.line, output.best, output.alignment
    if best is None:
        return [_packed_line(line), round(quality, 2), None, True, "", "", "", []]
    fits = aligned is not None and len(aligned.columns) == len(source.words) + 1
    return [
        _packed_line(line),
        round(quality, 2),
        round(best.score, 3),
        best.finished,
        packed_scores(best.word_scores),
        "" if best.tokens == line.words else " ".join(best.tokens),
        packed_alignment(aligned.matrix.tolist()) if aligned and fits else "",
        [_other(other, line) for other in output.others],
    ]


def _other(other: "Translation", best: "Line") -> list[Any]:
    """One of the n-best behind the best, by what differs from it."""
    ours, theirs = other.text.split(" "), best.text.split(" ")
    begin = _alike(ours, theirs)
    end = _alike(ours[begin:][::-1], theirs[begin:][::-1])
    between = " ".join(ours[begin : len(ours) - end])
    scores = [round(other.score, 2), round(other.ranking_score, 3)]
    return [begin, end, between, *scores, other.finished]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words are the same from the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _size(row: list[Any]) -> int:
    """Bytes of a sentence, with the comma or bracket behind it."""
    return len(to_json(row).encode()) + 1


def _longest_first(rows: Sequence[list[Any]]) -> list[list[Any]]:
    return sorted(rows, key=lambda row: -row[0][0].count(" "))


def _without(
    rows: Sequence[list[Any]], places: Sequence[int], size: int, limit: int
) -> tuple[int, int]:
    """Empty these places in the outputs of the longest sentences until the size fits.

    :return: the size, and how many sentences have lost something.
    """
    count = 0
    for row in _longest_first(rows):
        if size <= limit:
            break
        before = _size(row)
        for output in row[2]:
            for place in places:
                output[place] = type(output[place])()
        size += _size(row) - before
        count += 1
    return size, count


def _fitting(rows: Sequence[list[Any]], limit: int) -> int:
    """How many sentences from the beginning fit."""
    size = 1
    for number, row in enumerate(rows):
        size += _size(row)
        if size > limit:
            return number
    return len(rows)
