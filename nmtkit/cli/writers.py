"""Translations and alignments, formatted as lines of text."""

import json
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from nmtkit.inference.translation import Translation
    from nmtkit.inference.word_alignment import Alignment

Format = Literal["text", "scores", "n-best", "counts", "json"]
"""Format of the translations of a line."""


def translation_lines(
    number: int, translations: "list[Translation]", format: Format = "text"
) -> list[str]:
    """Format the translations of one line of input.

    :param number: number of the line, from 0.
    :param translations: translations, best first, or samples in the order drawn.
    """
    if format == "n-best":
        return n_best_lines(number, translations)
    if format == "counts":
        return counted_lines(number, translations)
    if format == "json":
        return [json_line(translations)]
    best = translations[0]
    if format == "text":
        return [best.text]
    suffix = "" if best.finished else "\tunfinished"
    return [f"{best.score:.6f}\t{best.text}{suffix}"]


def json_line(translations: "list[Translation]") -> str:
    """Format all translations of a line of input as one JSON object."""
    entries = [
        {
            "text": t.text,
            "tokens": t.tokens,
            "score": t.score,
            "ranking_score": t.ranking_score,
            "word_scores": t.word_scores,
            "finished": t.finished,
            **({"missing_terms": list(t.missing_terms)} if t.missing_terms else {}),
        }
        for t in translations
    ]
    table = {"source_tokens": translations[0].src_tokens, "translations": entries}
    return json.dumps(table, ensure_ascii=False)


def n_best_lines(number: int, translations: "list[Translation]") -> list[str]:
    """Format translations in Moses's n-best format, with `|` in the text escaped."""
    return [_n_best_line(number, t) for t in translations]


def counted_lines(number: int, translations: "list[Translation]") -> list[str]:
    """Format each distinct translation once with its count, in the n-best format."""
    from nmtkit.inference.translation import count_duplicates

    pairs = count_duplicates(translations)
    return [_n_best_line(number, t, f" count= {count}") for t, count in pairs]


def _n_best_line(number: int, t: "Translation", features: str = "") -> str:
    text = t.text.replace("|", "&#124;") if "|||" in t.text else t.text
    return f"{number} ||| {text} ||| nmtkit0= {t.score:.6f}{features} ||| {t.ranking_score:.6f}"


def alignment_line(alignment: "Alignment", format: str) -> str:
    """Format an alignment as Moses's links ("hard") or as JSON with six decimals ("soft")."""
    if format == "hard":
        return alignment.moses()
    weights = [[round(weight, 6) for weight in row] for row in alignment.matrix.tolist()]
    table = {"source": alignment.columns, "target": alignment.rows, "alignment": weights}
    return json.dumps(table, ensure_ascii=False)
