"""Whether the sides of a bitext are written in the scripts of their languages.

This needs no identifier of languages, knows languages that an identifier does not, and is sure of a
few lines. Latin letters say nothing against a language of another script: any can be written so.
"""

from collections.abc import Sequence

from nmtkit.errors import DataError
from nmtkit.preprocessing.languages import named_language
from nmtkit.preprocessing.scripts import letters_by_script, scripts_of

MIN_LETTERS = 200
"""Minimum number of letters of a side; fewer are not looked at."""

MAX_OWN, MIN_OTHER = 0.1, 0.7
"""A side is in another script if at most this share of its letters is of the language's scripts or
Latin, and at least that share of others."""


def check_scripts(
    tags: Sequence[str], texts: tuple[str, str], names: Sequence[str], known: Sequence[bool]
) -> None:
    """Check the letters of both sides of a bitext.

    :param tags: languages of the sides.
    :param names: their files, for messages.
    :param known: whether each language is written in the scripts of its table.
    :raises DataError: the sides are swapped, or one is in a script of other languages.
    """
    own = [
        set(scripts_of(tag)) if is_known else set()
        for tag, is_known in zip(tags, known, strict=True)
    ]
    shares = [_shares(text) for text in texts]
    if all(own) and not own[0] & own[1]:
        swapped = [sum(shares[i].get(script, 0.0) for script in own[1 - i]) for i in range(2)]
        if min(swapped) >= MIN_OTHER:
            _refuse_swapped(tags, names, swapped)
    for tag, scripts, found, name in zip(tags, own, shares, names, strict=True):
        if scripts and found:
            _check_side(tag, scripts, found, name)


def _shares(text: str) -> dict[str, float]:
    """Return the share of the letters of each script; nothing for a short text."""
    counts = letters_by_script(text)
    size = counts.total()
    return {script: count / size for script, count in counts.items()} if size >= MIN_LETTERS else {}


def _check_side(tag: str, scripts: set[str], found: dict[str, float], name: str) -> None:
    own = sum(found.get(script, 0.0) for script in scripts | {"Latin"})
    others = {script: found[script] for script in found.keys() - scripts - {"Latin", ""}}
    share = sum(others.values())
    if own <= MAX_OWN and share >= MIN_OTHER:
        other = max(others, key=lambda script: others[script])
        raise DataError(
            f"{name}: {share:.0%} of the letters are of scripts ({other}) in which"
            f" {named_language(tag)} is not written; name another file or language, or use"
            " --no-language-check"
        )


def _refuse_swapped(tags: Sequence[str], names: Sequence[str], shares: Sequence[float]) -> None:
    src, tgt = map(named_language, tags)
    raise DataError(
        f"{' and '.join(dict.fromkeys(names))}: the sides look swapped: {shares[0]:.0%} of the"
        f" source's letters are those of {tgt}, {shares[1]:.0%} of the target's those of {src};"
        " swap the files, or -s and -t, or use --no-language-check"
    )
