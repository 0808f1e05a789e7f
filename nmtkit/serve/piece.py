"""Translation of one piece of work in a worker: lines of the same task, and what clients see."""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from nmtkit.errors import ConfigError, DataError, ModelError
from nmtkit.inference.markup_translator import MarkupTranslator, read_patterns
from nmtkit.inference.translation import Translation
from nmtkit.inference.translator import Translator
from nmtkit.serve.results import MIN_WEIGHT, LineResult
from nmtkit.serve.task import Task, TermPairs
from nmtkit.text.glossary import Glossary, Term
from nmtkit.text.glossary_file import parse_term
from nmtkit.text.markers import HYPHEN
from nmtkit.text.markup_offsets import offsets_in_markup
from nmtkit.text.markup_pieces import Markup
from nmtkit.text.pipeline import TextPipeline

MAX_KEPT = 32
"""Translators with terms of a request that are kept, as one who types sends the same terms."""

Value = TypeVar("Value")


class PieceTranslator:
    """Translates pieces with one model or ensemble; threads take turns, as it keeps translators.

    :param translator: of the model.
    :param glossaries: by their names.
    """

    def __init__(self, translator: Translator, glossaries: Mapping[str, Glossary]) -> None:
        self._translator = translator
        self._glossaries = glossaries
        self._kept: OrderedDict[Task, Translator] = OrderedDict()
        self._turn = threading.Lock()

    def translate(
        self, lines: Sequence[str], prefixes: Sequence[str] | None, task: Task
    ) -> list[LineResult]:
        """Translate lines that have the same task.

        :param prefixes: the beginning of each translation, or None.
        :return: the result of each line.
        :raises DataError: a term is no term.
        :raises ConfigError, ModelError: the model cannot do what the task asks for.
        """
        with self._turn:
            return self._translate(lines, prefixes, task)

    def _translate(
        self, lines: Sequence[str], prefixes: Sequence[str] | None, task: Task
    ) -> list[LineResult]:
        translator = self._for_task(task)
        if task.continuations:
            return [
                _continuations(translator, line, prefix, task.continuations)
                for line, prefix in zip(lines, prefixes or [""] * len(lines), strict=True)
            ]
        n_best = task.alternatives + 1
        search: dict[str, Any] = {}
        if n_best > translator.search.beam:
            search["beam"] = n_best
        if task.markup is not None:
            keeper = _markup_translator(translator, task.markup)
            results = keeper.translate(lines, n_best, **search)
        else:
            if prefixes is not None and any(prefixes):
                search["prefixes"] = prefixes
            alignments = task.details and translator.ensemble.has_attention
            results = translator.translate(lines, n_best, alignments=alignments, **search)
        pairs = zip(lines, results, strict=True)
        return [line_result(line, n_best, task, translator) for line, n_best in pairs]

    def translate_files(self, files: dict[str, Any], task: Task) -> dict[str, Any]:
        """Translate files; see `document.translate_files`."""
        from nmtkit.serve.document import translate_files

        return translate_files(self._for_task(task), files)

    def _for_task(self, task: Task) -> Translator:
        """Return a translator for the terms and the confidence of a task."""
        key = Task(glossary=task.glossary, terms=task.terms, confidence=task.confidence)
        if key not in self._kept:
            self._kept[key] = self._new_translator(key)
            if len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]

    def _new_translator(self, task: Task) -> Translator:
        translator = self._confident if task.confidence else self._translator
        if task.glossary is not None and task.glossary not in self._glossaries:
            raise ConfigError(f"no glossary '{task.glossary}'")  # after a reload without it
        if task.glossary is not None or task.terms:
            named = self._glossaries[task.glossary].terms if task.glossary is not None else ()
            translator = translator.with_terms(Glossary([*terms_of(task.terms), *named]))
        return translator

    @cached_property
    def _confident(self) -> Translator:
        return with_confidence(self._translator)


def with_confidence(translator: Translator) -> Translator:
    """Return a translator that knows confidences, or the same one if its model is not calibrated.

    Clients then get null: they still want the translation.
    """
    try:
        return translator.with_confidence()
    except ModelError:
        return translator


def terms_of(pairs: TermPairs) -> list[Term]:
    """Return the terms of a request.

    :raises DataError: one is no term.
    """
    for pair in pairs:
        if any(sign in text for text in pair for sign in "\t\r\n"):
            raise DataError("terms: a term has a tab or a line break; leave it out")
    return [parse_term("\t".join(pair), "terms") for pair in pairs]


def line_result(
    line: str, translations: Sequence[Translation], task: Task, translator: Translator
) -> LineResult:
    """Return the result of a line for clients.

    text: the best translation. alternatives: others, none twice. ranking_scores: of it and them.
    missing_terms: those it lacks. finished: False if it reached the maximum length. score: log p.
    alternative_details: the words, alignment and word scores of the alternatives. The other entries
    stand in `docs/reference/http-api.md`.
    """
    distinct: dict[str, Translation] = {}
    for one in translations:
        distinct.setdefault(one.text, one)
    best, *others = distinct.values()
    result: LineResult = {
        "text": best.text,
        "alternatives": [one.text for one in others],
        "ranking_scores": [one.ranking_score for one in distinct.values()],
        "missing_terms": list(best.missing_terms),
        "finished": best.finished,
        "score": best.score,
    }
    if task.details:
        result |= _details(line, best, task.markup, translator)
        others_details = [_details(line, one, task.markup, translator) for one in others]
        result["alternative_details"] = others_details
    if task.confidence:
        result["confidence"] = best.confidence
        result["word_confidences"] = best.word_confidences
    return result


def _details(
    line: str, best: Translation, markup: str | None, translator: Translator
) -> LineResult:
    """Return the words of both sides with their places, the alignment and the words' scores."""
    alignment = best.word_alignment
    if alignment is None or best.alignment is None:
        return {"source_words": [], "target_words": [], "alignment": [], "word_scores": []}
    model = translator.ensemble.first
    sources, targets = len(alignment.src_words), len(alignment.tgt_words)
    weights = alignment.matrix[:targets, :sources].tolist()
    links = [
        [target, source, round(weight, 3)]
        for target, row in enumerate(weights)
        for source, weight in enumerate(row)
        if weight >= MIN_WEIGHT
    ]
    return {
        "source_words": _placed(alignment.src_words, line, markup, model.src_text),
        "target_words": _placed(alignment.tgt_words, best.text, markup, model.tgt_text),
        "alignment": links,
        "word_scores": _word_scores(best, translator),
    }


def _placed(
    words: Sequence[str], line: str, markup: str | None, pipeline: TextPipeline
) -> list[dict[str, Any]]:
    """Return words with the offsets in a line, in characters, where they begin and end."""
    if markup is None:
        offsets = pipeline.offsets(words, line)
    else:
        offsets = offsets_in_markup(words, line, Markup(markup), pipeline)
    return [
        {"text": "-" if word == HYPHEN else word, "start": start, "end": end}
        for word, (start, end) in zip(words, offsets, strict=True)
    ]


def _word_scores(best: Translation, translator: Translator) -> list[float]:
    """Return log p of each target word, the sum over its subwords."""
    words, indices = translator.ensemble.first.tgt_text.join(best.tokens)
    scores = [0.0] * len(words)
    for index, score in zip(indices, best.word_scores, strict=False):  # without that of `</s>`
        scores[index] += score
    return [round(score, 4) for score in scores]


def _continuations(translator: Translator, line: str, prefix: str, n: int) -> LineResult:
    """Return the n best ways to go on after a prefix."""
    found = translator.alternatives(line, prefix, n) if line.strip() else []
    return {
        "continuations": [
            {"text": one.text, "word": one.word, "score": float(one.score)} for one in found
        ]
    }


def _markup_translator(translator: Translator, markup: str) -> MarkupTranslator:
    return MarkupTranslator(translator, markup, read_patterns([], placeholders=True))
