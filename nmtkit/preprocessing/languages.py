"""The languages that a user names: checked against ISO 639, and logged with their names.

Only `prepare`, `select` and `evaluate` check: models have the languages that they were prepared
with.
"""

import dataclasses
import difflib
import logging
import re

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError
from nmtkit.text.languages import base_language, has_moses_rules

_TAG = re.compile(
    r"(?P<language>[a-z]{2,3})"
    r"(-(?P<script>[a-z]{4}))?"
    r"(-(?P<region>[a-z]{2}|[0-9]{3}))?"
    r"(?P<rest>(-([a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*(-x(-[a-z0-9]{1,8})+)?)",
    re.IGNORECASE,
)

_LOCALE = re.compile(
    r"(?P<language>[a-z]{2,3})(?P<region>_[a-z]{2})?(\.[\w-]+)?(@(?P<modifier>\w+))?", re.IGNORECASE
)
"""A language as POSIX and gettext write it: `pt_BR.UTF-8`, `sr@latin`."""

_SCRIPTS_OF_MODIFIERS = {"latin": "Latn", "latn": "Latn", "cyrillic": "Cyrl", "devanagari": "Deva"}

_PRIVATE = re.compile("q[a-t][a-z]")
"""Codes that ISO 639 leaves to everyone."""

_EXAMPLES = "a code of ISO 639 such as de, tr or zh, also with script or region (zh-Hant, pt-BR)"

_OTHER_NAMES = {
    "arabic": "ar", "bahasa": "id", "brazilian": "pt-BR", "brazilian portuguese": "pt-BR",
    "castellano": "es", "català": "ca", "chinese simplified": "zh-Hans",
    "chinese traditional": "zh-Hant", "dansk": "da", "deutsch": "de", "eesti": "et",
    "español": "es", "euskara": "eu", "farsi": "fa", "français": "fr", "francais": "fr",
    "gaelic": "ga", "galego": "gl", "greek": "el", "hrvatski": "hr", "italiano": "it",
    "latviešu": "lv", "lietuvių": "lt", "magyar": "hu", "mandarin": "zh", "nederlands": "nl",
    "norsk": "no", "polski": "pl", "português": "pt", "portugues": "pt", "română": "ro",
    "simplified chinese": "zh-Hans", "slovenčina": "sk", "slovenščina": "sl", "suomi": "fi",
    "svenska": "sv", "tiếng việt": "vi", "traditional chinese": "zh-Hant", "türkçe": "tr",
    "turkce": "tr", "čeština": "cs", "íslenska": "is", "ελληνικά": "el", "русский": "ru",
    "български": "bg", "српски": "sr", "українська": "uk", "עברית": "he", "العربية": "ar",
    "فارسی": "fa", "हिन्दी": "hi", "ไทย": "th", "中文": "zh", "汉语": "zh", "日本語": "ja",
    "한국어": "ko", "bangla": "bn", "at": "de", "cn": "zh", "cz": "cs", "dk": "da",
    "gb": "en", "gr": "el", "jp": "ja", "mo": "ro", "sh": "sr", "tw": "zh-Hant", "ua": "uk",
    "us": "en", "vn": "vi",
}  # fmt: skip
"""Names that ISO 639 does not list, and codes of countries, by which people look for a language."""

logger = logging.getLogger("nmtkit")


def with_checked_languages(text: TextConfig) -> TextConfig:
    """Return text settings whose languages are tags in their usual spelling.

    :raises ConfigError: a language is missing or is no code of ISO 639; the message suggests one.
    """
    src = checked_language(text.src_language, "-s")
    tgt = checked_language(text.tgt_language, "-t")
    return dataclasses.replace(text, src_language=src, tgt_language=tgt)


def log_languages(text: TextConfig) -> None:
    """Log the names of checked languages, and those whose rules of tokenisation are not known."""
    src, tgt = text.src_language, text.tgt_language
    logger.info("%s (%s) to %s (%s)", language_name(src), src, language_name(tgt), tgt)
    if src == tgt:
        logger.warning("source and target language are both %s; is that what you want?", src)
    if not text.tokenized and not text.raw:
        for language in dict.fromkeys((src, tgt)):
            _log_missing_rules(language)


def _log_missing_rules(language: str) -> None:
    if not has_moses_rules(language):
        logger.info(
            "%s (%s): Moses has no rules for this language; its general rules are used, with the"
            " English abbreviations",
            language_name(language), language,
        )  # fmt: skip


def checked_language(tag: str, option: str) -> str:
    """Return a tag in its usual spelling: `deu` as `de`, `PT_br` as `pt-BR`.

    :param option: the option that it is the value of, for the message.
    :raises ConfigError: it is no code of ISO 639; the message suggests one.
    """
    match = _TAG.fullmatch(tag.strip().replace("_", "-"))
    language = match and _code(match["language"].lower())
    if not match or not language:
        raise ConfigError(f"{option} {tag}: not a language code; {_suggestion(tag, option)}")
    script, region = match["script"], match["region"]
    parts = [language, script and script.title(), region and region.upper()]
    return "-".join(filter(None, parts)) + match["rest"].lower()


def language_name(tag: str) -> str:
    """Return the English name of a tag's language; the tag if ISO 639 has no such language in use.

    Older models may have such tags.
    """
    from iso639 import Lang
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    language = base_language(tag)
    if _PRIVATE.fullmatch(language):
        return "private use"
    try:
        return re.sub(r" \(.*", "", str(Lang(language).name))
    except (DeprecatedLanguageValue, InvalidLanguageValue):
        return tag


def named_language(tag: str) -> str:
    """Return a language's name with its tag, for messages."""
    return f"{language_name(tag)} ({tag})"


def _code(language: str) -> str | None:
    """Return the shortest code of a language, or None if it is no code of a language in use."""
    from iso639 import Lang
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    if _PRIVATE.fullmatch(language):
        return language
    try:
        found = Lang(language)
    except (DeprecatedLanguageValue, InvalidLanguageValue):
        return None
    return str(found.pt1 or found.pt3) or None


def _suggestion(tag: str, option: str) -> str:
    """Return the end of a message: the nearest code to what a user wrote, or what to write."""
    from iso639 import Lang
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    name = " ".join(tag.replace("_", " ").replace("-", " ").split()).lower()
    code: str | None = _OTHER_NAMES.get(name) or _tag_of_locale(tag)
    if code is None and len(name) > 3:
        try:
            code = _code(Lang(name.title()).pt3)
        except (DeprecatedLanguageValue, InvalidLanguageValue):
            code = _nearest_name(name)
    if code is None and (match := _TAG.fullmatch(tag.replace("_", "-"))):
        code = _replacement(match["language"].lower())
    return f"did you mean {option} {code}?" if code else f"give {_EXAMPLES}"


def _tag_of_locale(name: str) -> str | None:
    """Return the tag that means what a name of POSIX means: `sr-Latn` for `sr_RS@latin`."""
    locale = _LOCALE.fullmatch(name)
    code = locale and _code(locale["language"].lower())
    if not locale or not code:
        return None
    script = _SCRIPTS_OF_MODIFIERS.get((locale["modifier"] or "").lower(), "")
    region = (locale["region"] or "").replace("_", "-").upper()
    return f"{code}-{script}" if script else f"{code}{region}"


def _replacement(language: str) -> str | None:
    """Return the code that has replaced a withdrawn one."""
    from iso639 import Lang
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    try:
        Lang(language)
    except DeprecatedLanguageValue as error:
        return _code(error.change_to) or _OTHER_NAMES.get(language)
    except InvalidLanguageValue:
        return _OTHER_NAMES.get(language)
    return None


def _nearest_name(name: str) -> str | None:
    """Return the code of the language whose English name is nearest, or None if none is near."""
    from iso639 import iter_langs

    codes = {re.sub(r" \(.*", "", lang.name).lower(): lang.pt1 for lang in iter_langs() if lang.pt1}
    matches = difflib.get_close_matches(name, {**codes, **_OTHER_NAMES}, n=1, cutoff=0.75)
    return {**codes, **_OTHER_NAMES}[matches[0]] if matches else None
