"""What decides how a line is translated; lines with the same task are searched together."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

Markup = Literal["html", "xml"]

TermPairs = tuple[tuple[str, str], ...]
"""Terms of a request: a source term, and its translations separated by `|`."""


@dataclass(frozen=True)
class Task:
    """How lines are translated.

    alternatives: further translations of each line.
    markup: what comes back around its words, or None.
    glossary: name of a glossary of the server, or None.
    terms: further terms, which come before those of the glossary.
    details: words, alignment, scores.
    confidence: of the line and its words; needs a calibrated model.
    continuations: of a prefix, at most so many, instead of translations; 0: translate.
    """

    alternatives: int = 0
    markup: Markup | None = None
    glossary: str | None = None
    terms: TermPairs = ()
    details: bool = False
    confidence: bool = False
    continuations: int = 0

    def steps(self, models: int) -> list["Task"]:
        """Return the task of each model, if so many translate in turn: one or two."""
        if models < 2:
            return [self] * models
        first = Task(markup=self.markup, details=self.details)
        return [first, replace(self, confidence=False)]

    def as_message(self) -> dict[str, Any]:
        """Return the task for a worker."""
        return asdict(self)

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> "Task":
        """Return the task that a worker has received."""
        terms = tuple((source, target) for source, target in message["terms"])
        return cls(**{**message, "terms": terms})
