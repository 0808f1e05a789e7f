"""Language identification by py3langid, an optional dependency with its model in the package."""

from functools import cache
from typing import Any

_RELATED = (
    "af nl", "ar ary arz arb apc acm acq ajp ars aeb", "az azj azb", "be", "bs cnr hbs hr sr sh",
    "ca oc an", "cs sk", "da nb nn no", "de lb gsw nds bar", "el grc ell", "es an ast ext gl",
    "fa prs pes tg", "ff fuv", "fr wa gcf gcr ht", "gn gug", "he hbo", "hi ne mr sa mai bho awa",
    "id jv ms ace bcl zsm su min", "it vec lij fur scn", "ki kik", "kk ky", "kok gom", "ku sdh ckb",
    "lv ltg lvs", "mk bg", "nso st tn", "om", "pt gl mwl", "rw rn", "sw swh", "tl fil bcl ceb",
    "tr crh", "tt ba", "uz uzs uzn", "xh zu ss nr", "zh cmn yue wuu hak nan gan hsn lzh",
)  # fmt: skip
"""Languages that are not told apart by an identifier. A language may be in several groups."""


@cache
def language_identifier() -> Any:
    """Return py3langid's identifier, whose probabilities of a text add to 1.

    It is loaded once, which takes a second and 120 MB.

    :raises ImportError: py3langid is not installed.
    """
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@cache
def related_languages(language: str) -> frozenset[str]:
    """Return the languages that are not told from one, and itself.

    :param language: base language, such as `nb`.
    """
    groups = (set(group.split()) for group in _RELATED)
    return frozenset({language}.union(*(group for group in groups if language in group)))
