"""The languages of the models: their names, and which one a text is in."""

import asyncio
import html
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from nmtkit.extras import install_command
from nmtkit.preprocessing.languages import language_name
from nmtkit.serve.errors import RequestError
from nmtkit.serve.routes import DISTINCT, Pair, Route, distance
from nmtkit.text.language_identifier import language_identifier
from nmtkit.text.languages import base_language
from nmtkit.text.markup_pieces import Markup, PieceKind, split_pieces

AUTO = "auto"
"""Source language of requests that want it detected."""

MAX_CHARACTERS = 2_000
"""Characters of a text by which its language is detected."""

MAX_PIECES = 10_000
"""Tags and texts between them that are looked at to find so many characters."""

MIN_CONFIDENCE = 0.05
"""Probability below which a language is not named."""

MIN_CERTAINTY = 0.5
"""Probability from which a text is in a language, though no model translates from it."""

Detected = tuple[str, float]
"""A language that was detected, and its probability."""


class Languages:
    """The languages of some pairs.

    :param routes: source and target languages, as models name them, and the models between.
    """

    def __init__(self, routes: Mapping[Pair, Route]) -> None:
        self._routes = routes
        self.pairs = list(routes)
        self.sources = list(dict.fromkeys(source for source, _ in self.pairs))
        self.targets = list(dict.fromkeys(target for _, target in self.pairs))

    def listing(self) -> list[dict[str, Any]]:
        """Return all languages as LibreTranslate lists them: code, name, targets; sources first.

        Clients such as Weblate look for the codes of both languages, not into the targets. Of
        targets without a model of their own `through` says through which language they are reached.
        """
        codes = dict.fromkeys([*self.sources, *self.targets])
        return [
            {"code": code, "name": name_of(code), "targets": self.targets_of(code)}
            | ({"through": through} if (through := self._through(code)) else {})
            for code in codes
        ]

    def targets_of(self, source: str) -> list[str]:
        """Return the languages into which there is a model, or a way through another language."""
        return [target for one, target in self.pairs if one == source]

    def _known(self) -> str:
        """Return the pairs of the models, and the languages through which others are reached."""
        pairs = ["-".join(pair) for pair, route in self._routes.items() if len(route) == 1]
        pivots = dict.fromkeys(route[0][1] for route in self._routes.values() if len(route) > 1)
        return ", ".join([*pairs, *(f"others through {pivot}" for pivot in pivots)])

    def _through(self, source: str) -> dict[str, str]:
        """Return the targets that are reached through another language, and that language."""
        return {
            pair[1]: route[0][1]
            for pair, route in self._routes.items()
            if pair[0] == source and len(route) > 1
        }

    def pair(
        self, source: str, target: str, text: str = "", markup: str | None = None
    ) -> tuple[Pair, Detected | None]:
        """Return the pair of models for the languages of a request.

        A language stands for the same one with another script or region, or without; the nearest
        model is taken. Text that is in the target language stays as it is:
        unless there is a model, its pair is that language twice.

        :param source: a code, or `auto`. text: by which the language is detected. markup: in it.
        :return: the pair, and the language of the text if it was detected.
        :raises RequestError: there is no such model.
        """
        for name, code in (("source", source), ("target", target)):
            if not code.strip():
                raise RequestError(400, f"Invalid request: missing {name} parameter")
        if source.lower() == AUTO:
            return self._detected(target, text, markup)
        candidates = [
            pair for pair in self.pairs if _is_alike(pair[0], source) and _is_alike(pair[1], target)
        ]
        if not candidates and distance(source, target) < DISTINCT:
            same = [code for code in (*self.sources, *self.targets) if _is_alike(code, target)]
            candidates = [(code, code) for code in same]
        if not candidates:
            raise RequestError(
                400,
                f"{source[:20]} to {target[:20]} is not supported; this server has {self._known()}",
            )
        return min(
            candidates, key=lambda pair: distance(pair[0], source) + distance(pair[1], target)
        ), None

    def _detected(self, target: str, text: str, markup: str | None) -> tuple[Pair, Detected]:
        candidates = [pair for pair in self.pairs if _is_alike(pair[1], target)]
        if not candidates:
            raise RequestError(400, f"{target[:20]} is not supported as a target language")
        ranked = detect(text, markup)
        found = dict(ranked)

        def fitness(pair: Pair) -> tuple[float, int]:
            return found.get(base_language(pair[0]), 0.0), -distance(pair[1], target)

        best = max(candidates, key=fitness)
        first = base_language(best[0])
        language, probability = ranked[0] if ranked else (first, 0.0)
        if language == first or probability < MIN_CERTAINTY:
            return best, (best[0], found.get(first, 0.0))
        if not _is_alike(language, target):
            return best, (language, probability)
        goal = min((pair[1] for pair in candidates), key=partial(distance, target))
        return (goal, goal), (goal, probability)


def _is_alike(one: str, other: str) -> bool:
    return base_language(one) == base_language(other)


def name_of(code: str) -> str:
    """Return the English name of a language, or its code if it has none."""
    name = language_name(code)
    return name if "-" not in code or name == code else f"{name} ({code})"


async def load_identifier(source: str = AUTO) -> None:
    """Load what `detect` needs, which takes a second; meanwhile other clients are answered.

    :param source: code of the source language; unless it is `auto`, nothing is loaded.
    :raises RequestError: the identifier is not installed.
    """
    if source.lower() == AUTO:
        await asyncio.to_thread(_identifier)


def detect(text: str, markup: str | None = None) -> Sequence[tuple[str, float]]:
    """Return the languages of a text, the most probable first, with their probabilities.

    :param markup: in the text, which tells nothing of its language.
    :raises RequestError: the identifier is not installed.
    """
    shown = text[:MAX_CHARACTERS] if markup is None else _without_markup(text, markup)
    if not any(map(str.isalpha, shown)):
        return []
    found: Sequence[tuple[str, float]] = _identifier().rank(shown)
    return found


def _without_markup(text: str, markup: str) -> str:
    """Return the beginning of a text without its markup, with scripts and styles."""
    parts: list[str] = []
    size = 0
    for piece in islice(split_pieces(text, Markup(markup)), MAX_PIECES):
        is_text = piece.kind in (PieceKind.TEXT, PieceKind.ENTITY)
        parts.append(html.unescape(piece.source) if is_text else " ")
        size += len(parts[-1]) if parts[-1].strip() else 0
        if size >= MAX_CHARACTERS:
            break
    return " ".join("".join(parts).split())[:MAX_CHARACTERS]


def _identifier() -> Any:
    try:
        return language_identifier()
    except ImportError as error:
        sentence = f"this server detects no languages; install: {install_command('serve')}"
        raise RequestError(501, sentence) from error


def as_detection(language: str, probability: float) -> Mapping[str, Any]:
    """Return a language as LibreTranslate reports it, with a confidence in percent."""
    return {"confidence": round(100 * probability, 1), "language": language}
