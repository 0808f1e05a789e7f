"""Language tags in names and attributes of files: en-US, EN_us and eng are English."""

from collections.abc import Sequence
from functools import lru_cache


def normalized_tag(tag: str) -> str:
    """Return a tag in lower case with hyphens: `pt-br` for `pt_BR`."""
    return tag.strip().lower().replace("_", "-")


def best_matches(language: str, tags: Sequence[str]) -> list[int]:
    """Return the indices of the tags that fit a language best, all equally well.

    The same tag is best, then the language in any region or script, then the language without one:
    `en-US` fits `en`, and `pt` fits `pt-BR`, but `pt-PT` does not. If no tag fits, those of three
    letters are compared by the language that they mean: `deu` and `ger` fit `de`. If still none
    fits, by the macrolanguage of ISO 639-3: `cmn` fits `zh`, and `nb` fits `no`, and the other way;
    but two languages of the same one, as `nb` and `nn`, do not fit each other.
    """
    wanted = normalized_tag(language)
    normalized = [normalized_tag(tag) for tag in tags]
    for code, code_of_tag in (
        (str, str),
        (_with_shortest_code, _with_shortest_code),
        (_with_shortest_code, _with_macrolanguage),
        (_with_macrolanguage, _with_shortest_code),
    ):
        matches = _best_matches(code(wanted), [code_of_tag(tag) for tag in normalized])
        if matches:
            return matches
    return []


def _best_matches(wanted: str, normalized: Sequence[str]) -> list[int]:
    by_rank: tuple[list[int], ...] = ([], [], [])
    for index, tag in enumerate(normalized):
        if tag == wanted:
            by_rank[0].append(index)
        elif tag.startswith(f"{wanted}-"):
            by_rank[1].append(index)
        elif tag and wanted.startswith(f"{tag}-"):
            by_rank[2].append(index)
    return next(filter(None, by_rank), [])


@lru_cache(maxsize=1024)
def _with_shortest_code(tag: str) -> str:
    """Return a tag with its language's code of two letters: `pt-br` for `por-br`."""
    language, hyphen, rest = tag.partition("-")
    if len(language) != 3:
        return tag
    from iso639 import Lang  # lazy: few files need it
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    try:
        return f"{Lang(language).pt1 or language}{hyphen}{rest}"
    except (DeprecatedLanguageValue, InvalidLanguageValue):
        return tag


@lru_cache(maxsize=1024)
def _with_macrolanguage(tag: str) -> str:
    """Return a tag with the shortest code of its language's macrolanguage, if it is part of one."""
    language, hyphen, rest = tag.partition("-")
    from iso639 import Lang
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    try:
        known = Lang(language)
        whole = known.macro() or known
        return f"{whole.pt1 or whole.pt3}{hyphen}{rest}"
    except (DeprecatedLanguageValue, InvalidLanguageValue):
        return tag
