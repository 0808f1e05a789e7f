"""Which model translates which languages."""

import os

import pytest

from nmtkit.errors import ConfigError, ModelError
from nmtkit.serve.errors import RequestError
from nmtkit.serve.languages import Languages
from nmtkit.serve.pairs import models_of_pairs, named_files
from nmtkit.serve.routes import routes_of

GERMAN = "Das ist ein Satz in deutscher Sprache."
FRENCH = "Bonjour le monde, tout va bien ici"


@pytest.fixture
def folder(tmp_path):
    def make(name, source="en", target="fr"):
        path = tmp_path / name
        path.mkdir()
        text = f'format = 2\n[text]\nsrc_language = "{source}"\ntgt_language = "{target}"\n'
        (path / "config.toml").write_text(text)
        return str(path)

    return make


def test_pairs_stand_in_the_models_or_in_options(folder):
    one, two, three = folder("one"), folder("two"), folder("three", "pt-BR", "zh-Hant")
    found = models_of_pairs([one, three], [f"de-en={one}", f"pt-BR-fr={one},{two}"])
    assert list(found) == [("en", "fr"), ("pt-BR", "zh-Hant"), ("de", "en"), ("pt-BR", "fr")]
    assert [len(folders) for folders in found.values()] == [1, 1, 1, 2]


def test_what_is_no_pair_is_named(folder, tmp_path):
    one = folder("one")
    for folders, options, problem in (
        ([], [], "no model to serve"),
        ([one, one], [], f"{one}: there is another model of en-fr"),
        ([one], [f"en-fr={one}"], f"{one}: there is another model of en-fr"),
        ([], [f"en={one}"], f"--pair en={one}: not of the form"),
        ([], ["en-fr="], "--pair en-fr=: not of the form"),
        ([], [f"en-fr={one},"], f"--pair en-fr={one},: not of the form"),
        *(
            ([], [f"{pair}={one}"], f"--pair {pair}: not two languages")
            for pair in ("a-b-c", "-", "-fr", "en-", "EN-fr", "en-FR")
        ),
    ):
        with pytest.raises(ConfigError, match=problem):
            models_of_pairs(folders, options)
    for path, problem in ((str(tmp_path), "no config.toml"), (folder("empty", "", ""), "not name")):
        with pytest.raises(ModelError, match=problem):
            models_of_pairs([path], [])
    os.mkfifo(tmp_path / "pipe")
    for options in (["x"], ["=x"], ["x="], ["a=b", "a=c"], [f"a={tmp_path / 'pipe'}"]):
        with pytest.raises(ConfigError, match=f"--glossary {options[-1]}: "):
            named_files(options)


def test_a_region_stands_for_its_language():
    languages = Languages(routes_of([("en", "pt-BR"), ("de", "en")]))
    for source, target in (("en", "pt-BR"), ("en", "pt"), ("en-GB", "pt-PT"), ("EN", "pt_BR")):
        assert languages.pair(source, target)[0] == ("en", "pt-BR")
    for source, target in (("en", "fr"), ("pt", "en"), ("", ""), ("auto", "fr")):
        with pytest.raises(RequestError):
            languages.pair(source, target)
    pair, detected = languages.pair("auto", "en", GERMAN)
    assert pair == ("de", "en") and detected is not None
    assert detected[0] == "de" and detected[1] > 0.5


@pytest.mark.parametrize(
    ("pairs", "wanted", "text", "pair", "language"),
    [
        ([("en", "fr")], ("auto", "fr"), FRENCH, ("fr", "fr"), "fr"),
        ([("en", "fr-CA")], ("auto", "fr"), FRENCH, ("fr-CA", "fr-CA"), "fr-CA"),
        ([("en", "fr"), ("fr", "fr")], ("auto", "fr"), FRENCH, ("fr", "fr"), "fr"),
        ([("en", "fr"), ("fr-CA", "fr")], ("auto", "fr"), FRENCH, ("fr-CA", "fr"), "fr-CA"),
        ([("en", "fr"), ("fr", "en")], ("auto", "fr"), FRENCH, ("fr", "fr"), "fr"),
        ([("en", "fr")], ("auto", "fr"), GERMAN, ("en", "fr"), "de"),
        ([("en", "fr")], ("auto", "fr"), "Bonjour", ("en", "fr"), "en"),
        ([("en", "fr")], ("auto", "fr"), "12", ("en", "fr"), "en"),
        ([("en", "fr")], ("en", "en"), "", ("en", "en"), None),
        ([("en", "fr")], ("fr", "fr-CA"), "", ("fr", "fr"), None),
        ([("en-GB", "en-US")], ("en-GB", "en"), "", ("en-GB", "en-US"), None),
    ],
)
def test_text_in_the_target_language_stays_as_it_is(pairs, wanted, text, pair, language):
    source, target = wanted
    found, detected = Languages(routes_of(pairs)).pair(source, target, text)
    assert found == pair
    assert (detected and detected[0]) == language


def test_other_scripts_and_unknown_languages_are_not_the_target_language():
    languages = Languages(routes_of([("en", "zh-Hant"), ("zh-Hans", "en")]))
    for source, target in (("zh-Hans", "zh-Hant"), ("de", "de")):
        with pytest.raises(RequestError):
            languages.pair(source, target)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (("en", "pt"), ("en", "pt")),
        (("en", "pt-BR"), ("en", "pt-BR")),
        (("en", "pt_br"), ("en", "pt-BR")),
        (("en", "pt-AO"), ("en", "pt")),
        (("en-GB", "pt-BR"), ("en", "pt-BR")),
        (("pt-BR", "en"), ("pt-BR", "en")),
        (("pt", "en"), ("pt", "en")),
        (("en", "zh-Hant-TW"), ("en", "zh-Hant")),
        (("auto", "pt-BR"), ("en", "pt-BR")),
        (("auto", "pt"), ("en", "pt")),
    ],
)
def test_the_nearest_pair_is_taken_whatever_the_order_of_models(wanted, expected):
    pairs = [("en", "pt"), ("en", "pt-BR"), ("en", "pt-PT"), ("pt", "en"), ("pt-BR", "en"),
             ("en", "zh-Hans"), ("en", "zh-Hant")]  # fmt: skip
    for order in (pairs, pairs[::-1], sorted(pairs, key=lambda pair: pair[1][::-1])):
        text = "This is a sentence in the English language."
        source, target = wanted
        assert Languages(routes_of(order)).pair(source, target, text)[0] == expected


@pytest.mark.parametrize(
    ("source", "target", "name"), [("", "fr", "source"), ("en", " ", "target")]
)
def test_an_empty_language_is_missing(source, target, name):
    with pytest.raises(RequestError, match=f"^Invalid request: missing {name} parameter$"):
        Languages(routes_of([("en", "fr")])).pair(source, target)
