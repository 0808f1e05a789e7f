"""Translation in segments: each equation computed by single calls, and the laws of a stream."""

import dataclasses
import itertools
import math

import pytest

from nmtkit.errors import ModelError
from nmtkit.inference import segmenter as driver
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.random_segmenter import RandomSegmenter, with_random_confidences
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.segmenter import ConfidentSegmenter
from nmtkit.inference.translator import Translator
from nmtkit.text.subword.bpe import BPE
from tests.unit.inference.segmenters import (
    LINES,
    backwards,
    with_text,
)


def by_hand(translator, reverse, words, max_words, divided=True):
    """Compute the best segmentation of a sentence by the equations, one span at a time.

    :param reverse: None: confidence from log p alone.
    """
    best = {}
    for i, j in itertools.combinations_with_replacement(range(1, len(words) + 1), 2):
        if j - i + 1 > max_words:
            continue
        e_ij = " ".join(words[i - 1 : j])
        [candidates] = translator.translate([e_ij], translator.search.beam, tokenized=True)
        c = []
        for f_k in candidates:
            log_probs = [f_k.score]
            if reverse:
                [back] = reverse.score([(" ".join(f_k.tokens), e_ij)], tokenized=True)
                log_probs.append(back.log_prob)
            divisor = math.log(len(e_ij.split() + ["</s>"]) + 1) if divided else 1
            c.append(sum(log_probs) / len(log_probs) / divisor)
        k = max(range(len(c)), key=c.__getitem__)
        best[i, j] = c[k], e_ij, candidates[k]
    s: list[float] = [0.0]
    chosen: list[list[tuple]] = [[]]
    for j in range(1, len(words) + 1):
        totals = [(best[i, j][0] + s[i - 1], i) for i in range(1, j + 1) if (i, j) in best]
        total, i = max(totals)
        s.append(total)
        chosen.append([*chosen[i - 1], best[i, j]])
    return chosen[-1]


@pytest.mark.parametrize("divided", [True, False])
@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("line", ["a b c d", "c", "e f a b d d"])
def test_the_segments_are_those_of_the_equations(translator, reverse, line, both, divided):
    back = reverse if both else None
    [segmented] = ConfidentSegmenter(translator, back, 3, divided).segment([line])
    expected = by_hand(translator, back, line.split(), max_words=3, divided=divided)
    assert [segment.source for segment in segmented.segments] == [text for _, text, _ in expected]
    for segment, (confidence, _, translation) in zip(segmented.segments, expected, strict=True):
        assert segment.confidence == pytest.approx(confidence, abs=1e-4)
        assert segment.translation.tokens == translation.tokens


def test_the_most_confident_candidate_is_not_always_the_first_of_search(confident, translator):
    """The confidence must change the choice at least once, or the test above shows nothing."""
    first = [
        next(translator.translate([segment.source], tokenized=True))[0].tokens
        == segment.translation.tokens
        for line in confident.segment(LINES)
        for segment in line.segments
    ]
    assert not all(first)


@pytest.mark.parametrize("kind", ["confident", "at_random"])
def test_a_translation_joins_those_of_its_segments(request, kind):
    results = list(request.getfixturevalue(kind).segment(LINES))
    assert len(results) == len(LINES)
    for line, segmented in zip(LINES, results, strict=True):
        joined, parts = segmented.translation, [s.translation for s in segmented.segments]
        assert " ".join(s.source for s in segmented.segments).split() == line.split()
        assert all(len(s.source.split()) <= 3 for s in segmented.segments)
        assert bool(joined.text) == bool(line.split())
        assert joined.text.split() == joined.tokens == [t for p in parts for t in p.tokens]
        assert joined.src_tokens == line.split()
        assert joined.score == pytest.approx(sum(p.score for p in parts))
        assert joined.score == pytest.approx(sum(joined.word_scores))
        assert joined.finished == all(p.finished for p in parts)


@pytest.mark.parametrize("kind", ["confident", "at_random"])
def test_segments_of_a_line_do_not_depend_on_other_lines(request, kind, monkeypatch):
    segmenter = request.getfixturevalue(kind)
    together = list(segmenter.segment(LINES))
    monkeypatch.setattr(driver, "MAX_SPANS", 1)
    for number, (line, expected) in enumerate(zip(LINES, together, strict=True), start=1):
        [alone] = segmenter.segment([line], first_line=number)
        assert [s.source for s in alone.segments] == [s.source for s in expected.segments]
        assert alone.translation.text == expected.translation.text
        assert alone.translation.score == pytest.approx(expected.translation.score, abs=1e-4)
    parts = list(segmenter.segment(LINES))
    assert [p.translation.text for p in parts] == [p.translation.text for p in together]


def test_each_span_is_translated_once_in_bounded_windows(translator, reverse, monkeypatch):
    """500 words over a vocabulary of 5: at most 5 + 25 + 125 distinct spans."""
    translated_windows = []
    real = Translator.translate

    def recorded(self, lines, *arguments, **options):
        translated_windows.append(list(lines))
        return real(self, lines, *arguments, **options)

    monkeypatch.setattr(Translator, "translate", recorded)
    line = " ".join("abcde"[(k * k + k // 7) % 5] for k in range(500))
    words = line.split()
    [segmented] = ConfidentSegmenter(translator, reverse, max_words=3).segment([line])
    assert " ".join(s.source for s in segmented.segments) == line
    texts = [text for window in translated_windows for text in window]
    assert sorted(texts) == sorted(
        {" ".join(words[k : k + n]) for n in (1, 2, 3) for k in range(501 - n)}
    )
    assert len(translated_windows) > 1 and max(map(len, translated_windows)) <= translator.window


def test_results_come_before_all_lines_are_read(confident):
    def lines():
        yield from ["a b"] * confident.window
        raise AssertionError("read too far")

    results = confident.segment(lines())
    assert all(next(results).segments for _ in range(confident.window))


def test_segments_are_cut_between_words_not_subwords(make_model):
    """Both sides have their own merges; the reverse model has none."""
    bpe = BPE([("a", "b</w>")])
    model = make_model(1, src="ab a@@ b c@@ a b@@ c", tgt="v@@ w x v w@@", bpe=bpe)
    reverse = backwards(make_model(2, src="vw vx xw v w x", tgt="ab ca bc"))
    reverse = with_text(reverse, subwords="none")
    segmenter = ConfidentSegmenter(
        Translator(Ensemble((model,))), Scorer(Ensemble((reverse,))), max_words=2
    )
    [segmented] = segmenter.segment(["ab ca bc ab"], tokenized=True)
    assert " ".join(s.source for s in segmented.segments) == "ab ca bc ab"
    assert segmented.translation.src_tokens == ["ab", "c@@", "a", "b@@", "c", "ab"]
    texts = [s.translation.text for s in segmented.segments]
    assert segmented.translation.text == " ".join(texts) and "@@" not in segmented.translation.text


def test_each_segment_is_translated_behind_the_tag_of_its_line(make_model, reverse):
    model = make_model(1, src="<x> <y> a b c d e", tags=("<x>", "<y>"))
    translator = Translator(Ensemble((model,))).with_tag("<y>")
    draw = with_random_confidences(2)
    for make in (
        lambda one: RandomSegmenter(one, draw),
        lambda one: ConfidentSegmenter(one, reverse, 2),
    ):
        [expected] = make(translator.with_tag("<x>")).segment(["a b c d e"])
        [actual] = make(translator).segment(["<x> a b c d e"])
        assert actual == expected and len(actual.segments) > 2


def test_a_line_is_detokenised_as_one(make_model):
    translator = Translator(Ensemble((make_model(1, tgt="d' , ( ) w"),)))
    draw = with_random_confidences(1)
    [raw] = RandomSegmenter(translator, draw).segment(["a b c d e"])
    [words] = RandomSegmenter(translator, draw).segment(["a b c d e"], tokenized=True)
    text = translator.ensemble.first.tgt_text
    assert words.translation.text == " ".join(words.translation.tokens)
    assert raw.translation.text == text.line(words.translation.tokens) != words.translation.text


def test_replacing_unknown_words_does_not_change_confidences(make_model, reverse):
    search = dataclasses.replace(make_model(1).config.search, beam=1)
    translator = Translator(Ensemble((make_model(1, tgt="vw"),)), search)
    unreplaced = list(ConfidentSegmenter(translator, reverse, 2).segment(LINES))
    replaced = list(ConfidentSegmenter(translator.with_replacements({}), reverse, 2).segment(LINES))
    assert any("<unk>" in line.translation.text for line in unreplaced)
    for expected, actual in zip(unreplaced, replaced, strict=True):
        assert "<unk>" not in actual.translation.text
        assert [s.confidence for s in actual.segments] == [s.confidence for s in expected.segments]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"src_language": "en", "tgt_language": "fr"}, "translates en-fr; it must translate fr-en"),
        ({"hyphens": True}, "split lines into words differently"),
        ({"escape": True}, "split lines into words differently"),
        ({"tokenized": True}, "split lines into words differently"),
    ],
)
def test_a_reverse_model_must_fit(translator, make_model, changes, message):
    reverse_model = with_text(backwards(make_model(2, src="vwxyz", tgt="abcde")), **changes)
    with pytest.raises(ModelError, match=message):
        ConfidentSegmenter(translator, Scorer(Ensemble((reverse_model,))))
