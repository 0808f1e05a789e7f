"""Language tags in names and attributes of files: en-US and EN_us are English."""

from collections.abc import Sequence


def normalized_tag(tag: str) -> str:
    """Return a tag in lower case with hyphens: `pt-br` for `pt_BR`."""
    return tag.strip().lower().replace("_", "-")


def best_matches(language: str, tags: Sequence[str]) -> list[int]:
    """Return the indices of the tags that fit a language best, all equally well.

    The same tag is best, then the language in any region or script, then the language without one:
    `en-US` fits `en`, and `pt` fits `pt-BR`, but `pt-PT` does not.
    """
    wanted = normalized_tag(language)
    normalized = [normalized_tag(tag) for tag in tags]
    by_rank: tuple[list[int], ...] = ([], [], [])
    for index, tag in enumerate(normalized):
        if tag == wanted:
            by_rank[0].append(index)
        elif tag.startswith(f"{wanted}-"):
            by_rank[1].append(index)
        elif tag and wanted.startswith(f"{tag}-"):
            by_rank[2].append(index)
    return next(filter(None, by_rank), [])
