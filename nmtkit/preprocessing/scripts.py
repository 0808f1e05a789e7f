"""Scripts of languages, and letters that belong to none of them."""

import re
from collections import Counter
from functools import cache, lru_cache

from nmtkit.text.languages import base_language

_RANGES = {
    "Latin": "A-Za-zªºÀ-ÖØ-öø-ʯ\u1d00-\u1dbf\u1e00-\u1eff\u2071\u207f\u2090-\u209c\u2c60-\u2c7f"
    "\ua722-\ua7ff\uab30-\uab6f\ufb00-\ufb06\uff21-\uff3a\uff41-\uff5a",
    "Greek": "\u0370-\u03ff\u1f00-\u1fff",
    "Cyrillic": "\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f",
    "Armenian": "\u0530-\u058f\ufb13-\ufb17",
    "Hebrew": "\u0590-\u05ff\ufb1d-\ufb4f",
    "Arabic": "\u0600-\u06ff\u0750-\u077f\u0870-\u08ff\ufb50-\ufdff\ufe70-\ufefc",
    "Syriac": "\u0700-\u074f",
    "Thaana": "\u0780-\u07bf",
    "Nko": "\u07c0-\u07ff",
    "Devanagari": "\u0900-\u097f\u1cd0-\u1cff\ua8e0-\ua8ff",
    "Bengali": "\u0980-\u09ff",
    "Gurmukhi": "\u0a00-\u0a7f",
    "Gujarati": "\u0a80-\u0aff",
    "Oriya": "\u0b00-\u0b7f",
    "Tamil": "\u0b80-\u0bff",
    "Telugu": "\u0c00-\u0c7f",
    "Kannada": "\u0c80-\u0cff",
    "Malayalam": "\u0d00-\u0d7f",
    "Sinhala": "\u0d80-\u0dff",
    "Thai": "\u0e00-\u0e7f",
    "Lao": "\u0e80-\u0eff",
    "Tibetan": "\u0f00-\u0fff",
    "Myanmar": "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f",
    "Georgian": "\u10a0-\u10ff\u1c90-\u1cbf\u2d00-\u2d2f",
    "Hangul": "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdc",
    "Ethiopic": "\u1200-\u139f\u2d80-\u2ddf\uab00-\uab2f",
    "Cherokee": "\u13a0-\u13ff\uab70-\uabbf",
    "Canadian": "\u1400-\u167f\u18b0-\u18ff",
    "Khmer": "\u1780-\u17ff\u19e0-\u19ff",
    "Mongolian": "\u1800-\u18af",
    "Tifinagh": "\u2d30-\u2d7f",
    "Kana": "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "Han": "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff",
    "Bopomofo": "\u3100-\u312f\u31a0-\u31bf",
}
"""Characters of each script, as ranges of a regular expression."""

_LANGUAGES = {
    "Latin": "af an ast az bs br ca ceb co cs cy da de dsb en eo es et eu fi fo fr frp fy ga gd gl"
    " gn ha haw hmn hr hsb ht hu ia id ig io is it jv kab ku la lb li lij ln lt lv mg mi mg ms mt"
    " nap nb nds nl nn no nso ny oc om pap pl pt qu rm ro rw sc scn se sk sl sm sn so sq sr st su"
    " sv sw szl tg tk tl tn to tr ts tt ty uz vec vi vo wa wo xh yo zu",
    "Greek": "el grc",
    "Cyrillic": "ab av az ba be bg bs ce cv kk ku ky mk mn mo os ro ru sah sr tg tk tt udm"
    " ug uk uz",
    "Armenian": "hy",
    "Hebrew": "he yi",
    "Arabic": "ar arz az bal ckb fa ha kk ks ku ky ms pa pnb ps sd sw tg tk ug ur uz wo",
    "Syriac": "syr",
    "Thaana": "dv",
    "Nko": "nqo",
    "Devanagari": "bho hi kok ks mai mr ne sd",
    "Bengali": "as bn",
    "Gurmukhi": "pa",
    "Gujarati": "gu",
    "Oriya": "or",
    "Tamil": "ta",
    "Telugu": "te",
    "Kannada": "kn kok",
    "Malayalam": "kok ml",
    "Sinhala": "si",
    "Thai": "th",
    "Lao": "lo",
    "Tibetan": "bo dz",
    "Myanmar": "my shn",
    "Georgian": "ka",
    "Hangul": "ko",
    "Ethiopic": "am om ti",
    "Cherokee": "chr",
    "Canadian": "cr iu",
    "Khmer": "km",
    "Mongolian": "mn",
    "Tifinagh": "zgh kab",
    "Kana": "ja",
    "Han": "ja ko vi yue wuu zh lzh",
    "Bopomofo": "zh",
}
"""Languages that are written in each script, also in one country or by some of their writers.

Sanskrit, which is written in most scripts of India, is not there."""

_WIDE = re.compile(f"[{_RANGES['Han']}{_RANGES['Kana']}{_RANGES['Hangul']}]")


def scripts_of(language: str) -> list[str]:
    """Return the scripts of a language; none if the language is not in the table."""
    base = base_language(language)
    return [script for script, languages in _LANGUAGES.items() if base in languages.split()]


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {script: re.compile(f"[{ranges}]") for script, ranges in _RANGES.items()}


def letters_by_script(text: str) -> Counter[str]:
    """Return the number of letters of each script; those of other scripts are under ""."""
    characters = Counter(text)
    letters = "".join(filter(str.isalpha, characters))
    counts = Counter[str]()
    for script, pattern in _patterns().items():
        counts[script] = sum(characters[letter] for letter in pattern.findall(letters))
        letters = pattern.sub("", letters)
    counts[""] = sum(characters[letter] for letter in letters)
    return +counts


def wide_characters(line: str) -> int:
    """Return the number of ideographs, kana and syllables of hangul in a line."""
    return 0 if line.isascii() else len(_WIDE.findall(line))


@lru_cache(maxsize=8)
def foreign_letters(languages: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern of letters of scripts that none of the languages is written in.

    Latin letters are used everywhere. Return None if a language's scripts are not known.
    """
    scripts = [scripts_of(language) for language in languages]
    if not all(scripts):
        return None
    used = {"Latin", *(script for known in scripts for script in known)}
    return re.compile(f"[{''.join(_RANGES[script] for script in _RANGES if script not in used)}]")
