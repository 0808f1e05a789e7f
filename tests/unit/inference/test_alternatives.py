"""Alternatives after a prefix: different next words, each with a whole translation."""

import itertools
from collections.abc import Callable

import pytest

from nmtkit.errors import ConfigError
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.translator import Translator
from nmtkit.model_folder import LoadedModel
from nmtkit.special_symbols import UNK

MakeModel = Callable[..., LoadedModel]

LINES = ["a b c", "b", "e d c b a"]
PREFIXES = ["", "w ", "w x", "xylo", "wa wb ", "wa w", "  "]
WORDS = "wa wb wc x xa y ya yb z"


def start_of_word(prefix: str) -> int:
    """Return where the next word begins, or the last one if the vocabulary can spell it."""
    last = prefix.split(" ")[-1]
    return len(prefix) - (len(last) if any(word.startswith(last) for word in WORDS.split()) else 0)


@pytest.fixture(params=[(1,), (2, 3)])
def translator(make_model: MakeModel, request: pytest.FixtureRequest) -> Translator:
    models = tuple(make_model(seed, tgt=WORDS) for seed in request.param)
    return Translator(Ensemble(models)).with_search(min_length_ratio=0.3)


@pytest.mark.parametrize(("line", "prefix"), [*itertools.product(LINES, PREFIXES)])
def test_the_next_words_differ_and_texts_begin_with_the_prefix(
    translator: Translator, line: str, prefix: str
) -> None:
    found = translator.alternatives(line, prefix, 4)
    assert 1 <= len(found) <= 4 and len({one.word for one in found}) == len(found)
    for text, word, _ in found:
        start = start_of_word(prefix)
        assert text.startswith(prefix)
        assert text[start:].split()[:1] == ([word] if word else [])


@pytest.mark.parametrize(("line", "prefix"), [*itertools.product(LINES, PREFIXES)])
def test_no_word_comes_twice_if_the_search_forbids_it(
    translator: Translator, line: str, prefix: str
) -> None:
    """The prefix alone may have one twice."""
    ruled = translator.with_search(no_repeat_ngram=1)
    for text, *_ in ruled.alternatives(line, prefix, 4):
        words, given = text.split(), prefix.split()
        for place, word in enumerate(words):
            assert place < len(given) or word not in words[:place]


@pytest.mark.parametrize(("line", "prefix"), [*itertools.product(LINES, PREFIXES)])
def test_each_is_the_translation_that_begins_so(
    translator: Translator, line: str, prefix: str
) -> None:
    """The one that a search with beam 1 finds, with its score, whatever was asked before."""
    translator.alternatives(line, "w", 2)
    start = start_of_word(prefix)
    for text, word, score in translator.alternatives(line, prefix, 3):
        begun = text[: text.index(word, start) + len(word)]
        ((best,),) = translator.translate([line], beam=1, prefixes=[f"{begun} " if word else text])
        if best.text.strip() == text.strip():
            assert best.score == pytest.approx(score, abs=1e-4)
        else:  # one is unfinished, as a long prefix leaves room for more
            assert word and (best.text.startswith(text) or text.startswith(best.text))


@pytest.mark.parametrize("words", [5, 10, 11, 12, 30])
def test_a_prefix_may_be_longer_than_translations_otherwise_are(
    make_model: MakeModel, words: int
) -> None:
    """A one-word line has at most ten tokens otherwise."""
    translator = Translator(Ensemble((make_model(1, tgt=WORDS),)))
    prefix = "w x " * words
    found = translator.alternatives("b", prefix, 3)
    assert len(found) == 3
    for text, word, _ in found:
        assert text.startswith(prefix.strip()) and (word or text.strip() == prefix.strip())
        assert len(text.split()) > 2 * words + 1 or text.endswith(word)


def test_they_are_sorted_by_score_and_the_translation_is_among_them(make_model: MakeModel) -> None:
    for seed, line in itertools.product(range(5), LINES):
        translator = Translator(Ensemble((make_model(seed),))).with_search(length_penalty=0.0)
        found = translator.alternatives(line, "", 5)
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        ((best,),) = translator.translate([line], beam=1)
        suggested = any(one.text.startswith(best.text) for one in found)
        assert suggested or best.tokens[0] == "<unk>"


def test_a_translation_may_end_after_the_prefix(make_model: MakeModel) -> None:
    translator = Translator(Ensemble((make_model(1, tgt="w x"),)))
    words = [one.word for one in translator.alternatives("a b", "w ", 9)]
    assert sorted(words) == ["", "w", "x"]


@pytest.mark.parametrize(("signs", "begun"), [*itertools.product(["", "(", "x/"], ["w", "'w"])])
def test_signs_before_the_last_word_are_no_part_of_it(
    make_model: MakeModel, signs: str, begun: str
) -> None:
    """Else all alternatives would have one word, so that only one of them were left."""
    translator = Translator(Ensemble((make_model(1, tgt="( wa wb wc x , / 'wa 'wb 'wc"),)))
    found = [one.word for one in translator.alternatives("a b", f"{signs}{begun}", 5)]
    assert sorted(found) == [f"{begun}{letter}" for letter in "abc"]


def test_words_have_their_combining_marks(make_model: MakeModel) -> None:
    """A vowel sign is no letter to Python; words that differ behind it are different."""
    words = "हिन्दी हिंदू e\u0301te\u0301 e\u0301t שָׁלוֹם שָׁלוֹ"
    translator = Translator(Ensemble((make_model(1, tgt=words),)))
    found = {one.word for one in translator.alternatives("a b", "", 9)}
    assert found == set(words.split())


def test_candidates_and_settings_count(make_model: MakeModel) -> None:
    class Few:
        def candidates(self, source_tokens: object) -> list[int]:
            return [0, UNK, 2, 5]

    translator = Translator(Ensemble((make_model(1, tgt="v w x y z"),)))
    assert len(translator.alternatives("a b", "z ", 9)) == 6
    few = translator.with_candidates(Few())
    for _ in range(2):
        assert {one.word for one in few.alternatives("a b", "z ", 9)} <= {"", "v", "y", "z"}
    assert len(translator.alternatives("a b", "z ", 9)) == 6


@pytest.mark.parametrize("line", ["", "  "])
def test_a_blank_line_has_none(translator: Translator, line: str) -> None:
    assert translator.alternatives(line, "w") == []


def test_at_least_one_must_be_asked_for(translator: Translator) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        translator.alternatives("a", "w", 0)
