"""Languages by their tags: the part that chooses the rules of tokenisation.

A tag is a code of ISO 639, which may be followed by a script and a region as in BCP 47: `de`,
`pt-BR`, `zh-Hant`. Rules depend on the language alone. `nmtkit.preprocessing.languages` checks the
tags that a user gives; this module takes any string, as older models may have any.
"""

_MOSES_LANGUAGES = frozenset(
    "as bn ca cs de el en es et fi fr ga gu hi hu is it ja kn ko lt lv ml mni mr nl or pa pl pt ro"
    " ru sk sl sv ta tdt te yue zh".split()
)
"""Languages with non-breaking prefixes or letters of their own in Moses."""

CHINESE = frozenset("zh zho chi cmn yue wuu nan hak gan hsn lzh".split())
"""Codes of Chinese and its languages (ISO 639)."""

EAST_ASIAN = CHINESE | {"ja", "jpn"}
"""Languages without spaces between words, nor between sentences."""

_RULES_OF = {"cmn": "zh", "ekk": "et", "lvs": "lv", "ory": "or"}
"""Languages -> the macrolanguage whose rules they share."""


def base_language(tag: str) -> str:
    """Return the language of a tag, without script and region."""
    return tag.replace("_", "-").partition("-")[0].lower()


def rules_language(tag: str) -> str:
    """Return the code by which rules of tokenisation are found."""
    language = base_language(tag)
    return _RULES_OF.get(language, language)


def has_moses_rules(tag: str) -> bool:
    """Return whether Moses has rules of its own for a language; others use the English ones."""
    return rules_language(tag) in _MOSES_LANGUAGES
