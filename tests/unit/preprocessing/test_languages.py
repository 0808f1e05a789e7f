"""Languages that a user names are codes of ISO 639, or refused with the nearest one."""

import logging

import pytest

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError
from nmtkit.preprocessing.languages import (
    checked_language,
    language_name,
    log_languages,
    with_checked_languages,
)


@pytest.mark.parametrize(
    ("tag", "usual", "name"),
    [
        ("de", "de", "German"),
        ("DE", "de", "German"),
        ("deu", "de", "German"),
        ("ger", "de", "German"),
        ("cmn", "cmn", "Mandarin Chinese"),
        ("tlh", "tlh", "Klingon"),
        ("pt_BR", "pt-BR", "Portuguese"),
        ("zh-hant-tw", "zh-Hant-TW", "Chinese"),
        ("srp_Latn", "sr-Latn", "Serbian"),
        ("es-419", "es-419", "Spanish"),
        ("qaa", "qaa", "private use"),
    ],
)
def test_a_code_is_taken_and_spelt_as_usual(tag: str, usual: str, name: str) -> None:
    assert checked_language(tag, "-s") == usual
    assert language_name(usual) == name


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        ("German", "de"),
        ("german", "de"),
        ("deutsch", "de"),
        ("Germna", "de"),
        ("Français", "fr"),
        ("Simplified Chinese", "zh-Hans"),
        ("Klingon", "tlh"),
        ("cz", "cs"),
        ("jp", "ja"),
        ("iw", "he"),
        ("mo", "ro"),
        ("sr@latin", "sr-Latn"),
        ("sr_RS.UTF-8@latin", "sr-Latn"),
        ("ca@valencia", "ca"),
        ("zh_TW.UTF-8", "zh-TW"),
        ("de.UTF-8", "de"),
    ],
)
def test_a_name_or_an_old_code_is_refused_with_the_code(tag: str, code: str) -> None:
    with pytest.raises(ConfigError, match=f"^-t {tag}: not a language .*did you mean -t {code}[?]"):
        checked_language(tag, "-t")


@pytest.mark.parametrize("tag", ["xx", "xxx", "", "e", "de fr", "../de", "fra-", "日"])
def test_what_is_no_code_is_refused(tag: str) -> None:
    with pytest.raises(ConfigError, match="a code of ISO 639 such as de"):
        checked_language(tag, "-s")


def test_the_log_names_the_languages_and_those_without_rules_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, logger="nmtkit"):
        text = with_checked_languages(TextConfig(src_language="kat", tgt_language="ka"))
        log_languages(text)
    assert (text.src_language, text.tgt_language) == ("ka", "ka")
    assert "Georgian (ka) to Georgian (ka)" in caplog.text
    assert "both ka" in caplog.text
    assert caplog.text.count("Moses has no rules for this language") == 1


@pytest.mark.parametrize("tag", ["xx", "xx-Latn", "iw"])
def test_a_tag_of_an_older_model_that_is_no_language_is_its_own_name(
    tag: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="nmtkit"):
        log_languages(TextConfig(src_language=tag, tgt_language="de"))
    assert f"{tag} ({tag}) to German (de)" in caplog.text


def test_the_log_is_silent_about_rules_of_tokenised_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="nmtkit"):
        log_languages(TextConfig(src_language="ka", tgt_language="de", tokenized=True))
    assert "rules" not in caplog.text
