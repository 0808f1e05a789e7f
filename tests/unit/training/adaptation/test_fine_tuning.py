"""Fine-tuning: replay, rehearsal, and the end of the time."""

import dataclasses
import math
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from nmtkit.config import DataConfig, TrainingConfig
from nmtkit.data.batching import Batches
from nmtkit.errors import ModelError
from nmtkit.models.rnnsearch import RNNsearch, RNNsearchConfig
from nmtkit.models.softmax_sampling import WordSampler
from nmtkit.special_symbols import SPECIAL_WORDS
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.adaptation import fine_tuning
from nmtkit.training.adaptation.fine_tuning import (
    MAX_NONFINITE,
    FineTuner,
    FineTuningSettings,
    settings_for,
)
from tests.unit.training.conftest import WORDS, make_corpus

QUICK = FineTuningSettings(learning_rate=0.01, warmup=1)
VOCABULARY = Vocabulary([*SPECIAL_WORDS, *(f"w{n}" for n in range(WORDS - 2))], range(WORDS))


def batches(size=9, seed=1):
    data = DataConfig(batch_size=20, batch_unit="tokens", max_length=50)
    return Batches(make_corpus(size), data, seed)


@pytest.fixture
def make_tuner():
    """Return a function: `make_tuner(settings, replay)` makes a fine-tuner of a tiny model."""

    def make(settings=QUICK, replay=None, dropout=0.0):
        torch.manual_seed(3)
        sizes = RNNsearchConfig(embedding=6, hidden=8, align=5, maxout=4, dropout=dropout)
        model = RNNsearch(sizes, WORDS, WORDS)
        return FineTuner(model, batches(), replay, settings, TrainingConfig(), VOCABULARY)

    return make


def state(tuner):
    return torch.cat([p.detach().flatten() for p in tuner.model.parameters()])


def cost(tuner, corpus_batches):
    batch = next(iter(corpus_batches))
    with torch.no_grad():
        return float(tuner.model.loss(*batch[:4]))


def test_updates_lower_the_cost_of_the_corrections(make_tuner):
    tuner = make_tuner()
    before = cost(tuner, batches())
    for _ in range(90):
        tuner.update()
    assert cost(tuner, batches()) < 0.7 * before


def test_replayed_pairs_are_learned_too(make_tuner):
    other = batches(23, seed=2)
    alone, replaying = make_tuner(), make_tuner(replay=batches(23, seed=2))
    for tuner in (alone, replaying):
        for _ in range(30):
            tuner.update()
    assert cost(replaying, other) < cost(alone, other)


def test_dropout_begins_after_its_epochs(make_tuner):
    late = dataclasses.replace(QUICK, dropout_epochs=2.0)
    plain, dropped = make_tuner(late), make_tuner(late, dropout=0.5)
    epochs: list[float] = []
    while not epochs or epochs[-1] < 3:
        for tuner in (plain, dropped):
            tuner.update()
        epochs.append(plain.batches.progress())
        assert state(plain).equal(state(dropped)) == (epochs[-1] < 2)
    assert epochs[0] < 1


def test_replayed_pairs_have_dropout_while_the_corrections_have_none(make_tuner):
    never = dataclasses.replace(QUICK, dropout_epochs=math.inf)
    for replayed in (0, 23):
        plain, dropped = (
            make_tuner(never, batches(replayed, seed=2) if replayed else None, dropout)
            for dropout in (0.0, 0.5)
        )
        for _ in range(9):
            plain.update()
            dropped.update()
        assert state(plain).equal(state(dropped)) == (not replayed)


def test_words_are_drawn_until_the_learning_rate_is_low(make_tuner, monkeypatch):
    drawn = []
    draw = WordSampler.draw

    def count(sampler, targets):
        drawn.append(factor)
        return draw(sampler, targets)

    monkeypatch.setattr(WordSampler, "draw", count)
    settings = dataclasses.replace(QUICK, softmax_samples=3)
    factor = 1.0
    for smallest in (WORDS, WORDS + 1):  # of a few words none are drawn
        monkeypatch.setattr(fine_tuning, "MIN_SAMPLED_WORDS", smallest)
        tuner = make_tuner(settings)
        for factor in (1.0, 0.3, 0.2, 0.0):
            tuner.update(factor)
    assert drawn == [1.0, 0.3]


def test_few_corrections_are_learned_without_dropout_beside_more_old_pairs():
    adam = TrainingConfig(optimizer="adam", learning_rate=0.002)
    few, some = settings_for(adam, few=True), settings_for(adam)
    assert few.dropout_epochs == math.inf and some.dropout_epochs == 0
    assert few.replayed_tokens > few.tokens and some.replayed_tokens == some.tokens


def test_many_corrections_are_learned_faster_only_if_old_pairs_are_replayed():
    adam = TrainingConfig(optimizer="adam", learning_rate=0.002)
    assert settings_for(adam, many=True, replays=False) == settings_for(adam)


def test_many_corrections_are_learned_faster():
    adam, sgd = TrainingConfig(optimizer="adam", learning_rate=0.002), TrainingConfig()
    some, many = settings_for(adam), settings_for(adam, many=True)
    assert many.learning_rate == 0.002 > some.learning_rate
    assert many.tokens > some.tokens and many.softmax_samples and not some.softmax_samples
    assert sgd.optimizer != "adam"
    assert {settings_for(sgd, many=many).learning_rate for many in (True, False)} == {0.0005}


def test_fine_tuning_ends_when_the_time_is_over_with_a_small_learning_rate(make_tuner):
    tuner = make_tuner()
    tuner.run(1.0)
    assert tuner.updates > 1 and tuner.factor < 0.9


def test_what_is_learned_settles_in_as_many_updates(make_tuner):
    tuner = make_tuner()
    factors = []

    def done():
        factors.append(tuner.factor)
        return tuner.updates == 3

    tuner.run(600.0, done)
    assert factors == [pytest.approx(1, abs=0.01)] * 3
    assert tuner.updates == 6 and tuner.factor == pytest.approx(1 / 3, abs=0.01)


def test_parameters_that_are_returned_do_not_change(make_tuner):
    tuner = make_tuner()
    parameters = tuner.parameters()
    tuner.update()
    assert any(not parameters[n].equal(p) for n, p in tuner.model.named_parameters())


def test_gradients_that_are_not_finite_are_skipped_and_then_an_error(make_tuner):
    tuner = make_tuner()
    with torch.no_grad():
        next(tuner.model.parameters()).fill_(float("nan"))
    for _ in range(MAX_NONFINITE - 1):
        tuner.update()
    with pytest.raises(ModelError, match="not finite"):
        tuner.update()


@pytest.mark.parametrize("warmup", [1, 4])
def test_the_learning_rate_rises_during_the_warm_up(make_tuner, warmup):
    tuner = make_tuner(dataclasses.replace(QUICK, warmup=warmup))
    for number in range(1, 7):
        tuner.update()
        assert tuner.factor == min(1.0, number / warmup)
        [group] = tuner.optimizer.param_groups
        assert group["lr"] == pytest.approx(QUICK.learning_rate * tuner.factor)


@pytest.mark.parametrize("enough", [2, 7, 9])
def test_the_learning_rate_never_rises_while_what_is_learned_settles(
    make_tuner, monkeypatch, enough
):
    """By a clock on which each update takes a second of ten; from 5 on the learning rate falls."""
    tuner, factors = make_tuner(), []
    clock = SimpleNamespace(monotonic=lambda: float(tuner.updates))
    monkeypatch.setattr(fine_tuning, "time", clock)
    update = FineTuner.update

    def record(self, *arguments):
        update(self, *arguments)
        factors.append(self.factor)

    monkeypatch.setattr(FineTuner, "update", record)
    tuner.run(10.0, lambda: tuner.updates == enough)
    assert len(factors) == min(2 * enough, 10)
    assert factors == sorted(factors, reverse=True)


@pytest.mark.parametrize(("finite", "fails"), [(None, True), (0, False), (5, False)])
def test_only_gradients_that_are_not_finite_in_a_row_are_an_error(make_tuner, finite, fails):
    """One among two times as many as may follow each other is finite."""
    tuner = make_tuner()
    compute = tuner.gradient.compute

    def damaged(batches, number, *arguments, **options):
        found = compute(batches, number, *arguments, **options)
        is_finite = number % MAX_NONFINITE == finite
        return found if is_finite else dataclasses.replace(found, norm=float("nan"))

    tuner.gradient.compute = damaged
    context = pytest.raises(ModelError, match="not finite") if fails else nullcontext()
    with context:
        for _ in range(2 * MAX_NONFINITE):
            tuner.update()
