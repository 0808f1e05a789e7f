"""Laws of translation: one result per line, in order, which does not depend on other lines."""

import dataclasses

import pytest
import torch

from nmtkit.config import SearchConfig
from nmtkit.errors import ConfigError, ModelError
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.translator import Translator
from nmtkit.models.kernels import plain_pieces
from nmtkit.text.names import PLACEHOLDERS, Names, Uses, unmask
from nmtkit.text.subword.bpe import BPE
from tests.unit.inference.random_lines import random_lines


def test_translations_do_not_depend_on_batches(make_model):
    lines = random_lines(150)
    one_window = list(
        Translator(Ensemble((make_model(1),)), batch_size=64).translate(lines, n_best=2)
    )
    small_windows = list(
        Translator(Ensemble((make_model(1),)), batch_size=3).translate(iter(lines), n_best=2)
    )
    assert len(one_window) == len(small_windows) == len(lines)
    for line, expected, actual in zip(lines, one_window, small_windows, strict=True):
        assert expected[0].src_tokens == line.split()
        assert bool(expected[0].text) == bool(line)
        assert [t.text for t in expected] == [t.text for t in actual]
        assert [t.score for t in expected] == pytest.approx([t.score for t in actual], abs=1e-5)


@pytest.mark.parametrize("count", [1, 3])
def test_scores_equal_those_of_the_scorer(make_model, count):
    ensemble = Ensemble(tuple(make_model(seed) for seed in range(count)))
    translator, scorer = Translator(ensemble), Scorer(ensemble)
    lines = [line for line in random_lines(40) if line]
    finished = [
        (line, t)
        for line, n_best in zip(lines, translator.translate(lines, n_best=3), strict=True)
        for t in n_best
        if t.finished
    ]
    assert len(finished) > 20
    pairs = [(line, " ".join(t.tokens)) for line, t in finished]
    for (_, t), score in zip(finished, scorer.score(pairs, tokenized=True), strict=True):
        assert t.score == pytest.approx(score.log_prob, abs=1e-4)
        assert t.word_scores == pytest.approx(score.word_scores, abs=1e-4)
        assert t.ranking_score == pytest.approx(t.score / (len(t.tokens) + 1))


def test_lines_without_words_have_empty_translations(translator):
    for n_best in translator.translate(["", " ", "\t\u3000\r"], n_best=3, alignments=True):
        [best] = n_best
        assert (best.text, best.tokens, best.score, best.finished) == ("", [], 0.0, True)
        assert best.word_alignment is not None and best.word_alignment.links() == []


def test_alignments_have_a_row_for_each_word_and_the_end(translator):
    for line, [best] in zip(
        random_lines(30), translator.translate(random_lines(30), alignments=True), strict=True
    ):
        assert best.alignment is not None
        columns = len(line.split()) + 1
        assert best.alignment.shape == (len(best.tokens) + best.finished, columns)
        assert torch.allclose(best.alignment.sum(1), torch.ones(len(best.alignment)))
    assert next(translator.translate(["a"]))[0].alignment is None


def test_models_of_an_ensemble_may_tokenise_the_source_differently(make_model):
    """The second model has subwords and other ids; the first gives the alignment."""
    bpe = BPE([("a", "b</w>")])
    pieces = make_model(2, src="ab a@@ b c@@ a b@@ c", bpe=bpe)
    ensemble = Ensemble((make_model(1, src="ab ca abc a"), pieces))
    translator = Translator(ensemble).with_search(beam_mode="bounded", beam=8)
    results = list(translator.translate(["ab ca abc", "a"], alignments=True))
    assert all(best[0].finished for best in results)
    assert [len(best[0].src_tokens) for best in results] == [3, 1]
    widths = [best[0].alignment.size(1) for best in results if best[0].alignment is not None]
    assert widths == [4, 2]
    scores = Scorer(ensemble).score([("ab ca abc", " ".join(results[0][0].tokens))], tokenized=True)
    assert next(scores).log_prob == pytest.approx(results[0][0].score, abs=1e-4)


def test_subwords_are_joined_to_words(make_model):
    model = make_model(3, tgt="x@@ y@@ x y", bpe=BPE([]), search=SearchConfig(beam=3))
    for n_best in Translator(Ensemble((model,))).translate(["a b", "c d e"], 3, alignments=True):
        for t in n_best:
            assert "@@" not in t.text
            assert t.word_alignment is not None
            assert "".join(t.word_alignment.tgt_words) == t.text.replace(" ", "")


def test_search_settings_come_from_the_first_model_and_can_be_changed(make_model):
    first = make_model(1, search=SearchConfig(beam=2, length_penalty=0.3))
    translator = Translator(Ensemble((first, make_model(2))))
    assert translator.search == first.config.search
    assert translator.with_search(beam=3).search == SearchConfig(beam=3, length_penalty=0.3)
    assert next(translator.with_search(beam=3).translate(["a"], n_best=3))


def test_the_models_beam_is_widened_to_the_n_best_list_but_not_one_that_was_asked_for(make_model):
    ensemble = Ensemble((make_model(1, search=SearchConfig(beam=2)),))
    translator = Translator(ensemble)
    wide = [t.text for t in next(translator.translate(["a b"], n_best=3, beam=3))]
    assert [t.text for t in next(translator.translate(["a b"], n_best=3))] == wide
    assert translator.search.beam == 2
    for chosen in (translator.with_search(beam=2), Translator(ensemble, SearchConfig(beam=2))):
        with pytest.raises(ConfigError, match="3 translations .* a beam of 2"):
            next(chosen.translate(["a b"], n_best=3))
    with pytest.raises(ConfigError, match="a beam of 2"):
        next(translator.translate(["a b"], n_best=3, beam=2))
    with pytest.raises(ConfigError, match="at least 1, not 0"):
        next(translator.translate(["a b"], n_best=0))


class FirstLetters:
    """Candidates by the first source word: v for a, w for b, ...; all words for e."""

    def candidates(self, source_tokens):
        first = "abcde".index(source_tokens[0])
        return [0, 1, *range(2, 7)] if first == 4 else [0, 1, 2 + first]


def test_translations_use_only_the_candidates_of_their_line(make_model):
    lines = [line for line in random_lines(60) if "f" not in line.split()[:1]]
    translator = Translator(Ensemble((make_model(1),)), batch_size=4, candidates=FirstLetters())
    n_best_lists = list(translator.translate(lines, n_best=2))
    for line, translations in zip(lines, n_best_lists, strict=True):
        if not line:
            assert translations[0].tokens == []
        elif not line.startswith("e"):
            allowed = {"<unk>", "vwxyz"["abcde".index(line[0])]}
            assert all(set(t.tokens) <= allowed for t in translations)
    assert len({token for [best, *_] in n_best_lists for token in best.tokens}) > 2
    plain = translator.with_candidates(None).translate(["e a b"])
    assert next(translator.translate(["e a b"]))[0].tokens == next(plain)[0].tokens


def test_int8_translations_do_not_depend_on_batches(make_model):
    lines = random_lines(60)
    results = [
        list(Translator(Ensemble((make_model(1),)), None, size, quantize=True).translate(lines))
        for size in (1, 4, 64)
    ]
    for expected, *other_results in zip(*results, strict=True):
        for actual in other_results:
            assert actual[0].text == expected[0].text
            assert actual[0].score == pytest.approx(expected[0].score, abs=1e-5)


ROUNDED = [{"quantize": True}, {"precision": "bfloat16"}]


def test_bfloat16_translations_do_not_depend_on_batches(make_model):
    lines = random_lines(60)
    results = []
    for size in (1, 4, 64):
        translator = Translator(Ensemble((make_model(1),)), None, size, precision="bfloat16")
        results.append([best.score for best, *_ in translator.translate(lines)])
    for scores in results[1:]:
        assert scores == pytest.approx(results[0], abs=1e-2)


@pytest.mark.parametrize("precision", ROUNDED)
def test_rounded_products_are_refused_off_the_cpu(make_model, precision):
    model = dataclasses.replace(make_model(1), device=torch.device("cuda"))
    with pytest.raises(ConfigError, match="--device cpu"):
        Translator(Ensemble((model,)), **precision)


@pytest.mark.parametrize("precision", ROUNDED)
def test_rounded_products_are_refused_with_plain_pieces(make_model, precision):
    with plain_pieces(), pytest.raises(ConfigError, match="NMTKIT_PLAIN"):
        Translator(Ensemble((make_model(1),)), **precision)


def of_unknown_words(make_model, seed, **options):
    """Return a model whose translations are mostly `<unk>`."""
    loaded = make_model(seed, **options)
    loaded.model.b_y[1] += 8
    return loaded


def test_unknown_words_become_the_source_words_with_the_highest_weight(make_model):
    translator = Translator(Ensemble((of_unknown_words(make_model, 1),)), batch_size=4)
    lines = [line for line in random_lines(40) if line]
    copies = translator.with_replacements({}).translate(lines)
    table = {"a": "A", "c": "C C"}
    table_results = translator.with_replacements(table).translate(lines)
    seen = 0
    results = translator.translate(lines, alignments=True), copies, table_results
    for line, (original,), (copied,), (by_table,) in zip(lines, *results, strict=True):
        assert (
            copied.tokens == by_table.tokens == original.tokens and copied.score == original.score
        )
        assert original.alignment is not None
        best = original.alignment[:, :-1].argmax(1).tolist()
        words = [
            line.split()[best[n]] if t == "<unk>" else t for n, t in enumerate(original.tokens)
        ]
        assert copied.text == " ".join(words)
        translated = [
            table.get(w, w) if t == "<unk>" else w
            for t, w in zip(original.tokens, words, strict=True)
        ]
        assert by_table.text == " ".join(translated)
        seen += original.tokens.count("<unk>")
    assert seen > 20


def test_an_unknown_word_becomes_a_whole_source_word(make_model):
    bpe = BPE([("b", "c</w>")])
    src = "a b c a@@ b@@ bc a</w>"
    loaded = of_unknown_words(make_model, 2, src=src, bpe=bpe)
    translator = Translator(Ensemble((loaded,))).with_replacements({})
    for (best,) in translator.translate(["abc", "abc bc"]):
        assert "<unk>" in best.tokens
        assert set(best.text.split()) <= {"abc", "bc", *"vwxyz"}


def test_an_ensemble_replaces_unknown_words_by_its_mean_alignment(make_model):
    """The mean is over the models with the same source tokens; samples are treated alike."""
    parts = [of_unknown_words(make_model, seed) for seed in (1, 2)]
    lines = [line for line in random_lines(30) if line]
    together = Translator(Ensemble(tuple(parts))).translate(lines, alignments=True)
    for line, (averaged,) in zip(lines, together, strict=True):
        scorers = [Scorer(Ensemble((part,))) for part in parts]
        alone = [
            next(scorer.score([(line, " ".join(averaged.tokens))], tokenized=True, alignments=True))
            for scorer in scorers
        ]
        first, second = (score.alignment for score in alone)
        assert first is not None and second is not None and averaged.alignment is not None
        mean = (first + second) / 2
        if averaged.finished and "<unk>" not in averaged.tokens:
            torch.testing.assert_close(averaged.alignment, mean, atol=1e-5, rtol=1e-4)
    replacing = Translator(Ensemble(tuple(parts))).with_replacements({})
    samples = [t for line_samples in replacing.sample(lines, n=2) for t in line_samples]
    assert any("<unk>" in t.tokens for t in samples)
    assert not any("<unk>" in t.text for t in samples)


def test_with_many_samples_fewer_lines_are_read_together(make_model):
    """A thousand samples of a thousand lines were held in memory."""
    translator = Translator(Ensemble((make_model(1),)), batch_size=2)
    for n, read in ((16, 32), (64, 16)):
        lines = iter(random_lines(40))
        assert len(next(translator.sample(lines, n=n))) == n
        assert len(list(lines)) == 40 - read


def test_a_line_of_two_thousand_words_is_translated_among_others(translator):
    short = translator.with_search(max_length_ratio=0.02, beam=2)
    results = list(short.translate(["a b", "c d " * 1000, "e"]))
    assert [len(best[0].src_tokens) for best in results] == [2, 2000, 1]
    assert len(results[1][0].tokens) <= 40 and all(best[0].text for best in results)


def test_a_tag_stands_before_every_line_but_those_that_have_one(make_model):
    model = make_model(1, src="<x> <y> a b c d e", tags=("<x>", "<y>"))
    translator = Translator(Ensemble((model,)))
    lines = ["a b", "", "<y> c"]
    expected = [t.text for (t,) in translator.translate(["<x> a b", "", "<y> c"])]
    tagged = list(translator.with_tag("<x>").translate(lines))
    assert [t.text for (t,) in tagged] == expected
    assert [t.src_tokens[:1] for (t,) in tagged] == [["<x>"], [], ["<y>"]]
    assert next(translator.translate(["a b"]))[0].src_tokens == ["a", "b"]


def test_names_take_the_place_of_their_placeholders(make_model):
    sides = {"src": "a b ❶ ❷", "tgt": "v w ❶ ❷ ❸"}
    plain = Translator(Ensemble((make_model(4, **sides),)))
    copies = Translator(Ensemble((make_model(4, **sides, names=Names({})),)))
    lines = ["GI a 77", "b GI a GI", "a b", "", "GI 77"]
    masked = ["❶ a ❷", "b ❶ a ❶", "a b", "", "❶ ❷"]
    found = list(copies.translate(lines, n_best=4, alignments=True))
    for names, best, expected in zip(
        (["GI", "77"], ["GI"], [], [], ["GI", "77"]), found, plain.translate(masked, n_best=4),
        strict=True,
    ):  # fmt: skip
        by_tokens = {tuple(other.tokens): other for other in expected}
        assert len(by_tokens) == len(best)
        for translation in best:
            other = by_tokens[tuple(translation.tokens)]
            kept = [word for word in other.tokens if word not in PLACEHOLDERS[len(names) :]]
            assert translation.text == " ".join(unmask(kept, names))
            assert translation.score == other.score
    alignment = found[1][0].word_alignment
    assert alignment is not None and alignment.src_words == lines[1].split()
    assert any("GI" in translation.text for best in found for translation in best)


def test_a_tag_before_a_line_changes_nothing_of_its_names(make_model):
    model = make_model(4, src="to-fr a Gi ❶", tgt="v ❶", tags=("to-fr",), names=Names({}))
    tagged = Translator(Ensemble((model,))).with_tag("to-fr")
    for line, words, names in (("Gi a", "to-fr Gi a", []), ("GI a", "to-fr ❶ a", ["GI"])):
        ((found,),) = tagged.translate([line])
        assert (found.src_tokens, found.names) == (words.split(), names)


def test_translations_with_all_names_come_first(make_model):
    sides = {"src": "a b ❶ ❷", "tgt": "v ❶ ❷"}
    names = Names({})
    translator = Translator(Ensemble((make_model(4, **sides, names=names),)))
    chosen = [best.text.split() for (best,) in translator.translate(["GI a 77 b", "a GI"])]
    for line, n_best in zip(
        ({"GI": 1, "77": 1}, {"GI": 1, "77": 0}),
        translator.translate(["GI a 77 b", "a GI"], n_best=4), strict=True,
    ):  # fmt: skip
        differences = [
            sum(abs(t.text.split().count(name) - count) for name, count in line.items())
            for t in n_best
        ]
        assert differences == sorted(differences)
        assert n_best[0].text.split() == chosen.pop(0)


def test_models_that_copy_other_names_make_no_ensemble(make_model):
    models = [
        make_model(1, names=Names({})),
        make_model(2, names=Names({"GI": Uses(1, 0, 1)})),
    ]
    with pytest.raises(ModelError, match="model 2 copies other names than the first"):
        Ensemble(tuple(models))
    Ensemble((models[0], models[0]))


def test_a_tag_that_a_model_has_not_is_refused(make_model):
    tagged = make_model(1, src="<x> a b c d e", tags=("<x>",))
    with pytest.raises(ConfigError, match="the model has no tag '<z>'; its tags are <x>"):
        Translator(Ensemble((tagged,))).with_tag("<z>")
    with pytest.raises(ConfigError, match="the model has no tag '<x>'; it has none"):
        Translator(Ensemble((tagged, make_model(2)))).with_tag("<x>")


def test_a_tag_is_never_copied_for_an_unknown_word(make_model):
    loaded = of_unknown_words(make_model, 2, src="<x> a b c d e", tags=("<x>",))
    translator = Translator(Ensemble((loaded,))).with_replacements({})
    results = [best for (best,) in translator.with_tag("<x>").translate(random_lines(20))]
    assert any("<unk>" in best.tokens for best in results)
    assert not any("<x>" in best.text for best in results)
