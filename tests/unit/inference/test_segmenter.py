"""Lines in segments: each equation by hand with single calls, and the laws of a stream."""

import dataclasses
import itertools
import json
import math

import pytest

from nmtkit.errors import ConfigError, DataError, ModelError
from nmtkit.inference import segmenter as driver
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.segmenter import (
    ConfidentSegmenter,
    RandomSegmenter,
    random_lengths,
    segments_line,
    with_random_confidences,
)
from nmtkit.inference.translator import Translator
from nmtkit.text.subword.bpe import BPE

LINES = ["a b c d", "", "e", "a b c d", "f f a b", "   ", "b a c a d a e a"]


def with_text(model, **changes):
    """A model whose text was prepared otherwise."""
    text = dataclasses.replace(model.config.text, **changes)
    return dataclasses.replace(model, config=dataclasses.replace(model.config, text=text))


def backwards(model):
    return with_text(model, src_language="fr", tgt_language="en")


@pytest.fixture
def translator(make_model):
    return Translator(Ensemble((make_model(1),)), batch_size=4)


@pytest.fixture
def reverse(make_model):
    return Scorer(Ensemble((backwards(make_model(2, src="vwxyz", tgt="abcde")),)), batch_size=5)


@pytest.fixture
def confident(translator, reverse):
    return ConfidentSegmenter(translator, reverse, max_words=3)


@pytest.fixture
def at_random(translator):
    return RandomSegmenter(translator, with_random_confidences(3), seed=1)


def by_hand(translator, reverse, words, max_words):
    """The best segmentation of a sentence: every equation by itself, span after span."""
    best = {}
    for i, j in itertools.combinations_with_replacement(range(1, len(words) + 1), 2):
        if j - i + 1 > max_words:
            continue
        e_ij = " ".join(words[i - 1 : j])
        [candidates] = translator.translate([e_ij], translator.search.beam, tokenized=True)
        c = []
        for f_k in candidates:
            [back] = reverse.score([(" ".join(f_k.tokens), e_ij)], tokenized=True)
            divisor = abs(math.log(j - i + 1)) if j > i else math.log(2)
            c.append((f_k.score + back.log_prob) / (2 * divisor))
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


@pytest.mark.parametrize("line", ["a b c d", "c", "e f a b d d"])
def test_the_segments_are_those_of_the_equations(confident, translator, reverse, line):
    [found] = confident.segment([line])
    expected = by_hand(translator, reverse, line.split(), max_words=3)
    assert [segment.source for segment in found.segments] == [text for _, text, _ in expected]
    for segment, (confidence, _, translation) in zip(found.segments, expected, strict=True):
        assert segment.confidence == pytest.approx(confidence, abs=1e-4)
        assert segment.translation.tokens == translation.tokens


def test_some_candidate_is_not_what_search_ranks_first(confident, translator):
    """Otherwise the choice among candidates would be no choice."""
    first = [
        next(translator.translate([segment.source], tokenized=True))[0].tokens
        == segment.translation.tokens
        for line in confident.segment(LINES)
        for segment in line.segments
    ]
    assert not all(first)


@pytest.mark.parametrize("kind", ["confident", "at_random"])
def test_a_translation_joins_those_of_its_segments(request, kind):
    found = list(request.getfixturevalue(kind).segment(LINES))
    assert len(found) == len(LINES)
    for line, segmented in zip(LINES, found, strict=True):
        whole, parts = segmented.translation, [s.translation for s in segmented.segments]
        assert " ".join(s.source for s in segmented.segments).split() == line.split()
        assert all(len(s.source.split()) <= 3 for s in segmented.segments)
        assert bool(whole.text) == bool(line.split())
        assert whole.text.split() == whole.tokens == [t for p in parts for t in p.tokens]
        assert whole.src_tokens == line.split()
        assert whole.score == pytest.approx(sum(p.score for p in parts))
        assert whole.score == pytest.approx(sum(whole.word_scores))
        assert whole.finished == all(p.finished for p in parts)


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
    """500 words of five: 5 + 25 + 125 different spans."""
    asked = []
    real = Translator.translate

    def recorded(self, lines, *arguments, **options):
        asked.append(list(lines))
        return real(self, lines, *arguments, **options)

    monkeypatch.setattr(Translator, "translate", recorded)
    line = " ".join("abcde"[(k * k + k // 7) % 5] for k in range(500))
    words = line.split()
    [found] = ConfidentSegmenter(translator, reverse, max_words=3).segment([line])
    assert " ".join(s.source for s in found.segments) == line
    texts = [text for window in asked for text in window]
    assert sorted(texts) == sorted(
        {" ".join(words[k : k + n]) for n in (1, 2, 3) for k in range(501 - n)}
    )
    assert len(asked) > 1 and max(map(len, asked)) <= translator.window


def test_results_come_before_all_lines_are_read(confident):
    def lines():
        yield from ["a b"] * confident.window
        raise AssertionError("read too far")

    found = confident.segment(lines())
    assert all(next(found).segments for _ in range(confident.window))


def test_segments_are_cut_between_words_not_subwords(make_model):
    """Each side with merges of its own; the reverse model without any."""
    bpe = BPE([("a", "b</w>")])
    model = make_model(1, src="ab a@@ b c@@ a b@@ c", tgt="v@@ w x v w@@", bpe=bpe)
    reverse = backwards(make_model(2, src="vw vx xw v w x", tgt="ab ca bc"))
    reverse = with_text(reverse, bpe="none")
    segmenter = ConfidentSegmenter(
        Translator(Ensemble((model,))), Scorer(Ensemble((reverse,))), max_words=2
    )
    [found] = segmenter.segment(["ab ca bc ab"], tokenized=True)
    assert " ".join(s.source for s in found.segments) == "ab ca bc ab"
    assert found.translation.src_tokens == ["ab", "c@@", "a", "b@@", "c", "ab"]
    texts = [s.translation.text for s in found.segments]
    assert found.translation.text == " ".join(texts) and "@@" not in found.translation.text


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
    plain = list(ConfidentSegmenter(translator, reverse, 2).segment(LINES))
    replaced = list(ConfidentSegmenter(translator.with_replacements({}), reverse, 2).segment(LINES))
    assert any("<unk>" in line.translation.text for line in plain)
    for one, other in zip(plain, replaced, strict=True):
        assert "<unk>" not in other.translation.text
        assert [s.confidence for s in other.segments] == [s.confidence for s in one.segments]


def test_seed_and_line_number_decide_random_segments(translator):
    line = "a b c d e a b c d e"

    def sources(seed, first=1):
        segmenter = RandomSegmenter(translator, with_random_confidences(4), seed)
        [found] = segmenter.segment([line], first_line=first)
        return [segment.source for segment in found.segments]

    assert sources(1) == sources(1)
    assert len({tuple(sources(seed)) for seed in range(5)}) > 1
    assert len({tuple(sources(1, first)) for first in range(1, 6)}) > 1


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"src_language": "en", "tgt_language": "fr"}, "translates en-fr; it must translate fr-en"),
        ({"hyphens": True}, "split lines into words differently"),
        ({"escape": True}, "split lines into words differently"),
        ({"tokenized": True}, "split lines into words differently"),
    ],
)
def test_a_reverse_model_must_fit(translator, make_model, changes, told):
    other = with_text(backwards(make_model(2, src="vwxyz", tgt="abcde")), **changes)
    with pytest.raises(ModelError, match=told):
        ConfidentSegmenter(translator, Scorer(Ensemble((other,))))


@pytest.fixture
def written(tmp_path, confident):
    """What the segmenter chose for some lines, as a file."""
    path = tmp_path / "segments"
    lines = [segments_line(line.segments) for line in confident.segment(LINES)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_segments_are_written_as_json(written, confident):
    rows = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
    for row, found in zip(rows, confident.segment(LINES), strict=True):
        for entry, segment in zip(row, found.segments, strict=True):
            best = segment.translation
            assert (entry["source"], entry["target"]) == (segment.source, best.text)
            assert entry["score"] == pytest.approx(best.score, abs=1e-4)
            assert entry["confidence"] == pytest.approx(segment.confidence, abs=1e-4)


def test_a_random_segment_has_no_confidence(at_random):
    [found] = at_random.segment(["a é ||| b"])
    [entry, *_] = json.loads(segments_line(found.segments))
    assert set(entry) == {"source", "target", "score"} and "\n" not in segments_line(found.segments)


def test_random_segments_are_as_long_as_those_of_a_file(written):
    draw = random_lengths(written, max_words=3)
    rows = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
    seen = [len(entry["source"].split()) for row in rows for entry in row]
    lengths = [len(line.split()) for line in LINES]
    drawn = [end - start for seed in range(200) for n in lengths for start, end in draw(n, seed)]
    assert sum(drawn) / len(drawn) == pytest.approx(sum(seen) / len(seen), rel=0.05)


@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        ("", DataError, "has no segments"),
        ("[]\n[]\n", DataError, "has no segments"),
        ("[]\nun homme\n", DataError, ":2: not the segments of a line"),
        ('{"source": "a"}\n', DataError, ":1: not the segments"),
        ('[{"target": "a"}]\n', DataError, ":1: not the segments"),
        ('[{"source": " "}]\n', DataError, ":1: not the segments"),
        ('[{"source": 5}]\n', DataError, ":1: not the segments"),
        ("7\n", DataError, ":1: not the segments"),
        ("[" * 100_000, DataError, ":1: not the segments"),
        ('[{"source": "a b c d"}]\n', ConfigError, "of 4 words.* give --max-segment 4"),
    ],
)
def test_a_file_without_segments_is_an_error(tmp_path, text, error, told):
    (tmp_path / "lengths").write_text(text)
    with pytest.raises(error, match=told):
        random_lengths(tmp_path / "lengths", max_words=3)
