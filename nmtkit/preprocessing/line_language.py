"""The language of a line, by py3langid, an optional dependency with its model in the package."""

from functools import cache
from typing import Any

from nmtkit.errors import ConfigError
from nmtkit.extras import install_command
from nmtkit.text.languages import base_language

MIN_LETTERS = 20
"""Shorter lines are in no language that could be told."""


@cache
def _identifier() -> Any:
    """Load the identifier.

    :raises ConfigError: py3langid is not installed.
    """
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise ConfigError(
            f"the rule language needs py3langid; install it: {install_command('langid')}"
        ) from error
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def check_identifier(languages: tuple[str, str]) -> None:
    """Raise ConfigError if py3langid is not installed, or does not know one of the languages."""
    known = set(_identifier().labels)
    for language in languages:
        if base_language(language) not in known:
            raise ConfigError(
                f"the rule language cannot be used: py3langid does not know '{language}'"
            )


def probability_of_other_language(line: str, language: str) -> float:
    """Return how probable it is that a line is in another language than this; 0 for short lines."""
    if sum(map(str.isalpha, line)) < MIN_LETTERS:
        return 0.0
    found, probability = _identifier().classify(line)
    return float(probability) if found != base_language(language) else 0.0
