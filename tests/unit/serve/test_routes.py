"""Pairs without a model are translated through a pivot language, and no other pairs are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.errors import ConfigError
from nmtkit.serve.errors import RequestError
from nmtkit.serve.languages import Languages
from nmtkit.serve.routes import Pair, Route, distance, routes_of
from nmtkit.text.languages import base_language

CODES = ["en", "en-GB", "fr", "fr-CA", "de", "ru", "zh-Hans", "zh-Hant"]

pairs = st.lists(st.tuples(st.sampled_from(CODES), st.sampled_from(CODES)), unique=True)


def routes(models: list[Pair], *pivots: str) -> dict[Pair, Route]:
    return dict(routes_of(models, pivots))


def test_two_models_serve_a_pair_without_a_model() -> None:
    found = routes([("fr", "en"), ("en", "de"), ("en", "fr")], "en")
    assert found == {
        ("fr", "en"): (("fr", "en"),),
        ("en", "de"): (("en", "de"),),
        ("en", "fr"): (("en", "fr"),),
        ("fr", "de"): (("fr", "en"), ("en", "de")),
    }
    assert list(found)[:3] == [("fr", "en"), ("en", "de"), ("en", "fr")]


def test_a_direct_model_wins_with_or_without_a_region() -> None:
    for direct in (("fr", "de"), ("fr-CA", "de"), ("fr", "de-AT")):
        models = [("fr", "en"), ("en", "de"), ("en", "ru"), direct]
        assert routes(models, "en").keys() - models == {("fr", "ru")}


def test_the_first_pivot_language_counts() -> None:
    models = [("fr", "ru"), ("ru", "de"), ("fr", "en"), ("en", "de")]
    for pivots in (("en", "ru"), ("ru", "en")):
        assert routes(models, *pivots)["fr", "de"] == (("fr", pivots[0]), (pivots[0], "de"))


@pytest.mark.parametrize(
    ("models", "pivot"),
    [
        ([("fr", "en"), ("en", "de")], "English"),
        ([("fr", "en"), ("en", "fr")], "en"),
        ([("fr", "en"), ("en", "de"), ("fr", "de")], "en"),
        ([("zh-Hans", "en"), ("en", "zh-Hant")], "en"),  # the same language in another script
        ([("fr", "en"), ("en-GB", "de")], "en"),
    ],
)
def test_a_pivot_language_that_is_not_used_is_named_with_the_models(models, pivot) -> None:
    with pytest.raises(ConfigError, match=f"^--pivot {pivot}: nothing is translated.*fr-en|zh-"):
        routes_of(models, [pivot])


@given(pairs, st.lists(st.sampled_from(CODES), max_size=2))
def test_routes_lead_from_source_to_target_by_models(models: list[Pair], pivots) -> None:
    try:
        found = routes(models, *pivots)
    except ConfigError:
        return
    assert list(found)[: len(models)] == models
    for pair, route in found.items():
        assert (route[0][0], route[-1][1]) == pair and set(route) <= set(models)
        if pair in models:
            assert route == (pair,)
        else:
            assert len(route) == 2 and route[0][1] == route[1][0] and route[0][1] in pivots
            assert base_language(pair[0]) != base_language(pair[1])
            assert not any(
                distance(pair[0], one) < 2 and distance(pair[1], other) < 2 for one, other in models
            )


@given(pairs, st.sampled_from(CODES), st.sampled_from(CODES), st.sampled_from(CODES))
def test_what_models_translate_is_translated_as_without_a_pivot(
    models: list[Pair], pivot: str, source: str, target: str
) -> None:
    """A request whose languages have a model, or one in another region, is served by that."""
    try:
        found = routes(models, pivot)
    except ConfigError:
        return
    near = [
        pair for pair in models if distance(pair[0], source) < 2 and distance(pair[1], target) < 2
    ]
    if near:
        before = Languages(routes(models)).pair(source, target)
        assert Languages(found).pair(source, target) == before


def test_languages_say_through_which_one_targets_are_reached() -> None:
    languages = Languages(routes_of([("fr", "en"), ("en", "de"), ("ru", "en")], ["en"]))
    listing = {one.pop("code"): one for one in languages.listing()}
    assert listing == {
        "fr": {"name": "French", "targets": ["en", "de"], "through": {"de": "en"}},
        "en": {"name": "English", "targets": ["de"]},
        "ru": {"name": "Russian", "targets": ["en", "de"], "through": {"de": "en"}},
        "de": {"name": "German", "targets": []},
    }
    known = "this server has fr-en, en-de, ru-en, others through en$"
    with pytest.raises(RequestError, match=f"^de to fr is not supported; {known}"):
        languages.pair("de", "fr")
