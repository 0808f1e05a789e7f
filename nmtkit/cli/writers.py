"""Translations and alignments, formatted as lines of text."""

import json
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from nmtkit.inference.translation import Translation
    from nmtkit.inference.word_alignment import Alignment

Format = Literal["text", "scores", "n-best", "counts", "json"]
"""Format of the translations of a line."""

N_BEST_FEATURE = "nmtkit0"
"""Feature of n-best lists that holds the score."""


class ConfidenceFormat(NamedTuple):
    """How confidences are written.

    shown: write them in a column. minimum: translations below it are left empty; 0 for none.
    marks: mark them instead.
    """

    shown: bool = False
    minimum: float = 0.0
    marks: bool = False

    def is_low(self, translation: "Translation") -> bool:
        """Return whether the confidence of a translation is below the minimum."""
        return translation.confidence is not None and translation.confidence < self.minimum

    def text(self, translation: "Translation") -> str:
        """Return the text of a translation, or nothing if its confidence is too low."""
        return "" if self.is_low(translation) and not self.marks else translation.text


PLAIN = ConfidenceFormat()
"""No confidences."""


def translation_lines(
    number: int,
    translations: "list[Translation]",
    format: Format = "text",
    confidence: ConfidenceFormat = PLAIN,
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
        return [json_line(translations, confidence)]
    best = translations[0]
    columns = [f"{best.score:.6f}"] if format == "scores" else []
    if confidence.shown and best.confidence is not None:
        columns.append(f"{best.confidence:.4f}")
    columns.append(confidence.text(best))
    if format == "scores" and not best.finished:
        columns.append("unfinished")
    if confidence.marks and confidence.is_low(best):
        columns.append("low confidence")
    return ["\t".join(columns)]


def json_line(translations: "list[Translation]", confidence: ConfidenceFormat = PLAIN) -> str:
    """Format all translations of a line of input as one JSON object."""
    entries = [
        {
            "text": confidence.text(t),
            "tokens": t.tokens,
            "score": t.score,
            "ranking_score": t.ranking_score,
            "word_scores": t.word_scores,
            "finished": t.finished,
            **({"missing_terms": list(t.missing_terms)} if t.missing_terms else {}),
            **_confidences(t),
            **({"low_confidence": True} if confidence.is_low(t) else {}),
        }
        for t in translations
    ]
    table = {"source_tokens": translations[0].src_tokens, "translations": entries}
    return json.dumps(table, ensure_ascii=False)


def _confidences(t: "Translation") -> "dict[str, object]":
    """Return the confidences of a translation as fields of JSON, if it has some."""
    if t.confidence is None:
        return {}
    words = None if t.word_confidences is None else [round(p, 6) for p in t.word_confidences]
    return {"confidence": round(t.confidence, 6), "word_confidences": words}


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
    if t.confidence is not None:
        features += f" confidence= {t.confidence:.4f}"
    score = f"{N_BEST_FEATURE}= {t.score:.6f}"
    return f"{number} ||| {text} ||| {score}{features} ||| {t.ranking_score:.6f}"


def alignment_line(alignment: "Alignment", format: str) -> str:
    """Format an alignment as Moses's links ("hard") or as JSON with six decimals ("soft")."""
    if format == "hard":
        return alignment.moses()
    weights = [[round(weight, 6) for weight in row] for row in alignment.matrix.tolist()]
    table = {"source": alignment.columns, "target": alignment.rows, "alignment": weights}
    return json.dumps(table, ensure_ascii=False)
