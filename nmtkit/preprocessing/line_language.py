"""The language of a line, by py3langid, an optional dependency with its model in the package."""

from functools import cache

from nmtkit.errors import ConfigError
from nmtkit.extras import install_command
from nmtkit.text.language_identifier import language_identifier, related_languages
from nmtkit.text.languages import base_language

MIN_LETTERS = 20
"""Shorter lines are in no language that could be told."""


_ALIKE = frozenset(("bs", "hr", "sr"))
"""Languages that an identifier does not tell apart in one line."""


def check_identifier(languages: tuple[str, str]) -> None:
    """Raise ConfigError if py3langid is not installed, or does not know one of the languages."""
    try:
        known = set(language_identifier().labels)
    except ImportError as error:
        raise ConfigError(
            f"the rule language needs py3langid; install it: {install_command('langid')}"
        ) from error
    for language in languages:
        if not known & related_languages(base_language(language)):
            raise ConfigError(
                f"the rule language cannot be used: py3langid does not know '{language}'"
            )


def probability_of_other_language(line: str, language: str) -> float:
    """Return how probable it is that a line is in another language than this; 0 for short lines."""
    if sum(map(str.isalpha, line)) < MIN_LETTERS:
        return 0.0
    found, probability = language_identifier().classify(line)
    return 0.0 if found in _identified_as(base_language(language)) else float(probability)


@cache
def _identified_as(language: str) -> frozenset[str]:
    """Return the names that an identifier has for a language; `no` for `nb`, which it lacks."""
    if language in _ALIKE:
        return _ALIKE
    known = set(language_identifier().labels)
    return frozenset((language,)) if language in known else related_languages(language)
