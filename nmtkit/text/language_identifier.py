"""Language identification by py3langid, an optional dependency with its model in the package."""

from functools import cache
from typing import Any


@cache
def language_identifier() -> Any:
    """Return py3langid's identifier, whose probabilities of a text add to 1.

    It is loaded once, which takes a second and 120 MB.

    :raises ImportError: py3langid is not installed.
    """
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
