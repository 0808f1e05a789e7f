"""Compact JSON of a report's translations, small enough to send the page by mail.

Each sentence is an array

    [source, reference, outputs of the systems in order]

A line of text is an array [words joined by spaces, indices from 0 of the words without a space
before them], followed by the text itself if the words do not reproduce it. An output is

    [line, chrF, score, finished, word scores, tokens, alignment, n-best, states, errors]

score: log p, natural logarithm; null without a model. tokens: empty if equal to the words. An
n-best entry is [number of words in common with the best at the beginning, at the end, the words
between, score, ranking score, finished]. States of words are those of
`evaluation.translation_errors`: of the translation, the reference and, with an alignment, the
source, as one list. Errors: the sum of 2 to the power of the index in `KINDS`.

Numbers are rounded and encoded with the 64 characters of `DIGITS`, so that 3,000 newspaper
sentences fit. A token's log-probability has two digits: hundredths below 0, at most 40.95. An
alignment lists the cells with a weight of at least 0.03, row by row: the number of skipped cells
before it in base 32, least significant digit first, plus 32 if another digit follows; then the
weight in 63rds. States other than 0 are listed in the same way, the state in place of the weight.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nmtkit.evaluation.translation_errors import KINDS

if TYPE_CHECKING:
    from nmtkit.evaluation.translation_errors import SentenceErrors
    from nmtkit.inference.translation import Translation
    from nmtkit.report.lines import TokenizedLine
    from nmtkit.report.model_report import ModelReport, SystemOutput

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
MIN_ALIGNMENT_WEIGHT = 0.03  # smaller weights are omitted
WORD_SCORES, TOKENS, ALIGNMENT, N_BEST = 4, 5, 6, 7
"""Indices in the array of an output."""


@dataclass(frozen=True)
class Packed:
    """Sentences as JSON, and phrases that say what was left out."""

    text: str
    left_out: tuple[str, ...]


def pack_sentences(report: "ModelReport", limit: int) -> Packed:
    """Encode the sentences of a report, leaving out parts that do not fit.

    Parts are dropped in this order until the rest fits: n-best lists of the longest sentences,
    their word scores, their alignments, and at last whole sentences from the end.

    :param limit: Largest size of the JSON in bytes.
    """
    rows = list(_encode_sentences(report))
    size = 1 + sum(map(_size, rows))
    left_out = []
    for name, fields in (
        ("n-best lists", (N_BEST,)),
        ("word scores", (WORD_SCORES, TOKENS)),
        ("alignments", (ALIGNMENT,)),
    ):
        if size <= limit:
            break
        size, count = _empty_fields(rows, fields, size, limit)
        left_out.append(f"the {name} of the {count:,} longest sentences")
    n_shown = _count_fitting(rows, limit)
    if n_shown < len(rows):
        left_out.append(f"all sentences after the first {n_shown:,}")
    return Packed(script_json(rows[:n_shown]), tuple(left_out))


def script_json(value: Any) -> str:
    """Return JSON that is safe inside `<script>`, whatever strings it contains."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def positions_without_space(text: str, words: Sequence[str]) -> list[int] | None:
    """Return the indices of words without a space before them, the first word excepted.

    Return None if the text is not the sequence of these words.
    """
    joined, offset = [], 0
    for index, word in enumerate(words):
        spaces = len(text) - offset - len(text[offset:].lstrip())
        offset += spaces
        if not text.startswith(word, offset):
            return None
        if index and not spaces:
            joined.append(index)
        offset += len(word)
    return None if text[offset:].strip() else joined


def pack_alignment(matrix: ArrayLike) -> str:
    """Encode the weights of an alignment row by row, leaving out small weights."""
    weights = np.asarray(matrix, dtype=np.float64).ravel()
    (places,) = np.nonzero(weights >= MIN_ALIGNMENT_WEIGHT)
    levels = (63 * np.minimum(weights[places], 1.0) + 0.5).astype(int)
    return _pack_sparse(zip(places.tolist(), levels.tolist(), strict=True))


def _pack_sparse(numbers: Iterable[tuple[int, int]]) -> str:
    """Encode the numbers of a list that are not 0, at most 63, with their indices."""
    digits, next_index = [], 0
    for index, number in numbers:
        skipped = index - next_index
        while skipped >= 32:
            digits.append(DIGITS[32 + skipped % 32])
            skipped //= 32
        digits += [DIGITS[skipped], DIGITS[number]]
        next_index = index + 1
    return "".join(digits)


def pack_scores(scores: Sequence[float]) -> str:
    """Encode log-probabilities of tokens with two digits each."""
    hundredths = [min(4095, max(0, int(-100 * score + 0.5))) for score in scores]
    return "".join(DIGITS[number // 64] + DIGITS[number % 64] for number in hundredths)


def _encode_sentences(report: "ModelReport") -> Iterator[list[Any]]:
    systems = [
        (report.outputs[card.name], report.sentence_scores[card.name], report.errors[card.name])
        for card in report.model_cards
    ]
    for index, (source, reference) in enumerate(
        zip(report.sources, report.references, strict=True)
    ):
        outputs = [
            [
                *_encode_output(translations[index], chrf[index], source),
                *_pack_errors(errors[index]),
            ]
            for translations, chrf, errors in systems
        ]
        yield [_encode_line(source), _encode_line(reference), outputs]


def _encode_line(line: "TokenizedLine") -> list[Any]:
    joined = positions_without_space(line.text, line.words) or []
    packed = [" ".join(line.words), joined]
    return packed if _joined_text(line.words, joined) == line.text else [*packed, line.text]


def _joined_text(words: Sequence[str], joined: Sequence[int]) -> str:
    """Return the text that the page reconstructs from words."""
    without = {0, *joined}
    spaces = ["" if index in without else " " for index in range(len(words))]
    return "".join(space + word for space, word in zip(spaces, words, strict=True))


def _encode_output(output: "SystemOutput", chrf: float, source: "TokenizedLine") -> list[Any]:
    line, best, aligned = output.line, output.best, output.alignment
    if best is None:
        return [_encode_line(line), round(chrf, 2), None, True, "", "", "", []]
    fits = aligned is not None and len(aligned.columns) == len(source.words) + 1
    return [
        _encode_line(line),
        round(chrf, 2),
        round(best.score, 3),
        best.finished,
        pack_scores(best.word_scores),
        "" if best.tokens == line.words else " ".join(best.tokens),
        pack_alignment(aligned.matrix.cpu()) if aligned and fits else "",
        [_encode_alternative(translation, line) for translation in output.alternatives],
    ]


def _pack_errors(errors: "SentenceErrors") -> tuple[str, int]:
    """Return the states of all words, and the kinds of errors as a sum of powers of 2."""
    states = [*errors.translation, *errors.reference, *errors.source]
    packed = _pack_sparse((index, state) for index, state in enumerate(states) if state)
    return packed, sum(1 << KINDS.index(kind) for kind in errors.kinds)


def _encode_alternative(translation: "Translation", best: "TokenizedLine") -> list[Any]:
    """Encode a further entry of the n-best list by its difference from the best."""
    words, best_words = translation.text.split(" "), best.text.split(" ")
    begin = _common_prefix(words, best_words)
    end = _common_prefix(words[begin:][::-1], best_words[begin:][::-1])
    between = " ".join(words[begin : len(words) - end])
    scores = [round(translation.score, 2), round(translation.ranking_score, 3)]
    return [begin, end, between, *scores, translation.finished]


def _common_prefix(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the number of words that are equal from the beginning."""
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _size(row: list[Any]) -> int:
    """Return the size of a sentence in bytes, with the comma or bracket after it."""
    return len(script_json(row).encode()) + 1


def _longest_first(rows: Sequence[list[Any]]) -> list[list[Any]]:
    return sorted(rows, key=lambda row: -row[0][0].count(" "))


def _empty_fields(
    rows: Sequence[list[Any]], fields: Sequence[int], size: int, limit: int
) -> tuple[int, int]:
    """Empty fields in the outputs of the longest sentences until the size fits.

    :return: The size, and the number of sentences with emptied fields.
    """
    count = 0
    for row in _longest_first(rows):
        if size <= limit:
            break
        before = _size(row)
        for output in row[2]:
            for field in fields:
                output[field] = type(output[field])()
        size += _size(row) - before
        count += 1
    return size, count


def _count_fitting(rows: Sequence[list[Any]], limit: int) -> int:
    """Return the number of sentences from the beginning that fit."""
    size = 1
    for index, row in enumerate(rows):
        size += _size(row)
        if size > limit:
            return index
    return len(rows)
