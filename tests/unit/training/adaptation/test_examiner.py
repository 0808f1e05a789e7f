"""Test sets are sampled, translated and measured."""

import pytest

from nmtkit.config import TextConfig
from nmtkit.io.parameters import parameters_of
from nmtkit.training.adaptation.corrections import Pair
from nmtkit.training.adaptation.examiner import MIN_LINES, Examiner, Judge, Purpose, TestSet


def numbered(kind, count):
    return TestSet.of(kind, "set", [Pair(f"a {n}", f"v {n}", f"f:{n}") for n in range(count)])


def test_a_sample_has_the_first_and_the_last_line_and_pairs_stay_pairs():
    sample = numbered(Purpose.GUARD, 100).sample(7)
    assert len(sample.sources) == 7 and sample.available == 100
    assert sample.sources[0] == "a 0" and sample.sources[-1] == "a 99"
    assert [s.split()[1] for s in sample.sources] == [r.split()[1] for r in sample.references]


def test_a_small_set_is_not_sampled():
    test_set = numbered(Purpose.GUARD, 5)
    assert test_set.sample(9) == test_set


def test_too_little_time_leaves_the_least_number_of_lines_but_all_corrections(make_model):
    model = make_model(1)
    examiner = Examiner(model, [numbered(kind, 90) for kind in Purpose])
    parameters = {n: v.clone() for n, v in parameters_of(model.model).items()}
    examiner.fit(0.0, parameters)
    assert [len(s.sources) for s in examiner.sets] == [90, MIN_LINES, MIN_LINES]


def test_translations_are_those_of_the_parameters_given(make_model):
    """Two models, each translated by the examiner of the other."""
    models = [make_model(seed) for seed in (1, 2)]
    sets = [
        numbered(Purpose.GUARD, 9),
        TestSet.of(Purpose.HELD_OUT, "b", [Pair("b c", "v", "f:1")]),
    ]
    parameters = [{n: v.clone() for n, v in parameters_of(m.model).items()} for m in models]
    own = [Examiner(m, sets).translate(p) for m, p in zip(models, parameters, strict=True)]
    crossed = [Examiner(make_model(3), sets).translate(values) for values in reversed(parameters)]
    assert own == crossed[::-1] and own[0] != own[1]
    assert [len(own[0][test_set]) for test_set in sets] == [9, 1]


def test_the_judge_counts_the_words_that_suit_the_language():
    pairs = [Pair("a", "le petit chat noir dort", "f:1"), Pair("b", "il pleut sur la ville", "f:2")]
    test_set = TestSet.of(Purpose.GUARD, "g", pairs)
    judge = Judge(TextConfig(tgt_language="fr"))
    assert judge.score(test_set, test_set.references) == pytest.approx(100)
    assert judge.score(test_set, ["le chat", "la ville"]) < 30
    chinese = TestSet.of(Purpose.GUARD, "g", [Pair("a", "今天天气很好", "f:1")])
    assert Judge(TextConfig(tgt_language="zh")).score(chinese, ["今天天气"]) < 100
    metrics = [Judge(TextConfig(tgt_language=code)).metric(test_set) for code in ("fr", "zh")]
    assert metrics == ["BLEU", "chrF"]


def test_the_judge_sees_what_is_too_short_for_bleu():
    pairs = [Pair("quit", "Fermer", "f:1"), Pair("open", "ouvrir le fichier", "f:2")]
    test_set = TestSet.of(Purpose.CORRECTIONS, "g", pairs)
    judge = Judge(TextConfig(tgt_language="fr"))
    assert judge.metric(test_set) == "chrF"
    assert judge.score(test_set, test_set.references) == pytest.approx(100)
    assert judge.score(test_set, ["Fermer", "non"]) < 60
    assert list(judge.compare(test_set, ["a", "b"], test_set.references).figures) == ["chrF"]


def test_the_comparison_has_intervals_and_a_probability():
    pairs = [Pair("a", f"le petit chat numéro {n} dort", f"f:{n}") for n in range(30)]
    test_set = TestSet.of(Purpose.GUARD, "g", pairs)
    worse = [line.replace("petit", "grand") for line in test_set.references]
    result = Judge(TextConfig(tgt_language="fr")).compare(test_set, test_set.references, worse)
    assert {pair.measure for pair in result.pairs} == set(result.figures)
    for systems in result.figures.values():
        before, after = systems["before"], systems["after"]
        assert before.value > after.value
        interval = after.interval
        assert interval is not None and interval.low <= after.value <= interval.high
