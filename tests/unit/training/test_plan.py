"""The plan of a training: laws of the rule that picks the size."""

import dataclasses
import itertools
import math
import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nmtkit.config import parse_config
from nmtkit.config_io import merge_tables, recipe_table
from nmtkit.training.plan import (
    FILLED,
    LEARNING_RATE_OF_ONE_UNIT,
    LEAST_TRAINING_SHARE,
    TRAINING_SHARE,
    VALIDATION_SHARE,
    BatchLimits,
    CorpusFigures,
    Plan,
    SpeedModel,
    after_start,
    best_plan,
)
from nmtkit.training.scaling_law import SIZES
from tests.unit.training.corpus_figures import SMALL

ROOT = Path(__file__).resolve().parents[3]

corpora = st.builds(
    CorpusFigures,
    pairs=st.integers(1_000, 10_000_000),
    src_tokens=st.integers(20_000, 10**9),
    tgt_tokens=st.integers(20_000, 10**9),
    src_words=st.integers(100, 100_000),
    tgt_words=st.integers(100, 100_000),
    dev_tokens=st.integers(1, 100_000),
)
speeds = st.builds(SpeedModel, fixed=st.floats(1e-7, 1e-2), per_product=st.floats(1e-8, 1e-2))
times = st.floats(10, 1e6)


@given(corpora, speeds, times, st.floats(1, 100))
def test_more_time_never_makes_the_model_smaller_or_worse(
    figures: CorpusFigures, speed: SpeedModel, seconds: float, factor: float
) -> None:
    less, more = (best_plan(figures, speed, seconds * f) for f in (1, factor))
    assert more.size >= less.size
    assert more.expected_cost <= less.expected_cost
    assert more.updates >= 1 and more.tokens >= 0


@given(corpora, speeds, times)
def test_no_other_size_is_expected_to_be_better(
    figures: CorpusFigures, speed: SpeedModel, seconds: float
) -> None:
    chosen = best_plan(figures, speed, seconds)
    others = [best_plan(figures, speed, seconds, [size]) for size in SIZES]
    fitting = [plan for plan in others if plan.training_share > LEAST_TRAINING_SHARE]
    assert chosen in (fitting or others[:1])  # validating leaves no time: the smallest
    assert all(chosen.expected_cost <= plan.expected_cost for plan in fitting)


@given(corpora, st.floats(0.001, 1), st.floats(1, 100))
def test_the_speed_passes_through_two_measurements_that_fit(
    figures: CorpusFigures, fast: float, ratio: float
) -> None:
    few, many = figures.products(128), figures.products(384)
    slow = fast * min(1 + ratio, many / few)  # not slower than by the multiplications
    speed = SpeedModel.through({many: slow, few: fast})
    assert speed.fixed >= 0 and speed.per_product > 0
    assert speed.seconds(many) == pytest.approx(slow)
    if slow / fast >= 2 / (1 + few / many):
        assert speed.seconds(few) == pytest.approx(fast)
    sizes = [speed.seconds(figures.products(size)) for size in SIZES]
    assert sizes == sorted(sizes)


def test_one_measurement_gives_the_speed_of_its_size() -> None:
    products = SMALL.products(192)
    assert SpeedModel.through({products: 0.25}).seconds(products) == pytest.approx(0.25)


def test_words_are_drawn_where_they_are_many_and_the_host_may_draw() -> None:
    few, on_a_gpu = SMALL._replace(tgt_words=1999), SMALL._replace(draws_words=False)
    samples = [Plan(128, 1e6, f).settings()["training"]["softmax_samples"] for f in (SMALL, few)]
    assert samples == [500, 0] and on_a_gpu.softmax_samples == 0
    assert on_a_gpu.products(128) > SMALL.products(128)  # the softmax has more rows


@pytest.mark.parametrize("tokens", [1, 1e5, 1e7, 1e10])
@pytest.mark.parametrize("size", [96, 1024])
def test_settings_of_a_plan_are_settings(size: int, tokens: float) -> None:
    plan = Plan(size, tokens, SMALL)
    config = parse_config(merge_tables(recipe_table("rnnsearch-modern"), plan.settings()), "plan")
    assert config.model.hidden == config.model.embedding == size
    assert config.training.warmup <= max(1, plan.updates)
    assert 1 <= config.training.validate_every <= max(1, plan.updates)
    assert not config.training.patience and 0 < config.training.cooldown_share < 1


def test_the_number_of_parameters_is_about_that_of_the_model() -> None:
    from nmtkit.model_folder import build_model

    plan = Plan(128, 1e6, SMALL)
    config = parse_config(merge_tables(recipe_table("rnnsearch-modern"), plan.settings()), "plan")
    model = build_model(config, SMALL.src_words, SMALL.tgt_words)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert SMALL.parameters(128) == pytest.approx(count, rel=0.02)


@given(corpora, st.floats(1, 1e9))
def test_validations_take_little_of_the_time(figures: CorpusFigures, tokens: float) -> None:
    plan = Plan(256, tokens, figures)
    cost = (3.35 if plan.measures_bleu else 0.35) * figures.dev_tokens
    assert plan.validations >= (2 if plan.measures_bleu else 1)
    assert plan.validations == 1 or plan.validations * cost <= 0.035 * tokens
    longer = Plan(256, 10 * tokens, figures)
    assert longer.measures_bleu or not plan.measures_bleu


@given(corpora, st.floats(1, 1e10), st.sampled_from(SIZES))
def test_batches_grow_with_the_time_within_bounds(
    figures: CorpusFigures, tokens: float, size: int
) -> None:
    plan, longer = Plan(size, tokens, figures), Plan(size, 3 * tokens, figures)
    assert 800 <= plan.batch_size <= longer.batch_size <= 1600
    assert plan.learning_rate <= longer.learning_rate
    assert plan.updates <= longer.updates
    larger = dataclasses.replace(plan, limits=BatchLimits(largest=6400))
    assert plan.batch_size <= larger.batch_size <= 6400


@given(corpora, st.floats(1e3, 1e10), st.sampled_from(SIZES), st.integers(1, 4))
def test_updates_use_the_tokens_at_the_rate_of_their_batches(
    figures: CorpusFigures, tokens: float, size: int, accumulated: int
) -> None:
    plan = Plan(size, tokens, figures, BatchLimits(accumulated=accumulated))
    update = accumulated * plan.batch_size
    assert plan.updates * FILLED * update == pytest.approx(tokens, abs=FILLED * update)
    rate = LEARNING_RATE_OF_ONE_UNIT / size * math.sqrt(update / 800)
    assert plan.learning_rate == pytest.approx(rate, rel=0.05)


def test_a_batch_has_no_more_tokens_than_the_corpus() -> None:
    figures = CorpusFigures(10, 70, 70, 30, 30, 20)
    plan = Plan(96, 7_000, figures)
    assert plan.updates == plan.epochs == 100
    assert plan.settings()["training"]["guided_updates"] == 100
    accumulated = dataclasses.replace(plan, limits=BatchLimits(accumulated=2))
    assert accumulated.updates == 50


@pytest.mark.parametrize(
    ("epochs", "dropout"), [(0.5, 0.0), (3.9, 0.0), (5, 0.1), (9, 0.2), (99, 0.4)]
)
def test_pairs_that_come_again_need_dropout(epochs: float, dropout: float) -> None:
    plan = Plan(256, epochs * SMALL.tgt_tokens, SMALL)
    assert plan.settings()["model"]["dropout"] == dropout


def test_the_document_says_from_which_epochs_on_plans_change() -> None:
    page = (ROOT / "docs/explanation/training-time.md").read_text(encoding="utf-8")
    rows = dict(line.strip("| ").split(" | ", 1) for line in page.splitlines() if " | " in line)
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", rows["dropout"])]
    dropouts, epochs = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
    assert epochs[0] == 0 and len(epochs) == len(dropouts) > 1
    for (less, more), start in zip(itertools.pairwise(dropouts), epochs[1:], strict=True):
        found = [Plan(128, start * f * SMALL.tgt_tokens, SMALL).dropout for f in (0.99, 1.01)]
        assert found == [less, more]
    start = float(re.findall(r"fewer than ([\d.]+) epochs", rows["order"])[0])
    plans = [Plan(128, start * f * SMALL.tgt_tokens, SMALL) for f in (0.99, 1.01)]
    assert plans[0].curriculum_updates > 0 == plans[1].curriculum_updates


@given(corpora, st.sampled_from(SIZES))
def test_a_validation_reads_all_words(figures: CorpusFigures, size: int) -> None:
    """Its time was taken for half that of training, whose softmax over drawn words is fast."""
    cost, translated = (figures.validation_tokens(size, bleu) for bleu in (False, True))
    assert cost >= 0.5 * figures.dev_tokens
    assert translated == pytest.approx(cost + 3 * figures.dev_tokens)
    more = figures._replace(tgt_words=2 * figures.tgt_words)
    assert more.validation_tokens(size, False) >= cost
    assert figures.validation_tokens(size, False, samples=False) == 0.5 * figures.dev_tokens


def test_validating_a_small_model_of_many_words_takes_as_long_as_training() -> None:
    """Measured: 12.4 s for 86,700 tokens of laws, where training took 6,000 tokens/s (0.86)."""
    laws = CorpusFigures(200_000, 7_000_000, 7_400_000, 8_000, 8_000, 86_700)
    assert 0.7 < laws.validation_tokens(128, False) / laws.dev_tokens < 1
    assert laws.validation_tokens(1024, False) == 0.5 * laws.dev_tokens


@given(corpora, speeds, st.booleans())
def test_no_model_is_validated_in_less_time_than_a_smaller_one(
    figures: CorpusFigures, speed: SpeedModel, translated: bool
) -> None:
    """Otherwise more time would now and then make the planned model smaller."""

    def seconds(size: int) -> float:
        products = figures.products(size)
        share = speed.fixed_share(products)
        tokens = figures.validation_tokens(size, translated, fixed_share=share)
        return tokens * speed.seconds(products)

    times = [seconds(size) for size in SIZES]
    assert all(fast <= slow * (1 + 1e-9) for fast, slow in itertools.pairwise(times))


@given(corpora, speeds, times, st.sampled_from(SIZES))
def test_updates_and_validations_of_a_large_dev_set_are_planned_within_the_time(
    figures: CorpusFigures, speed: SpeedModel, seconds: float, size: int
) -> None:
    plan = best_plan(figures, speed, seconds, [size])
    small = best_plan(figures._replace(dev_tokens=1), speed, seconds, [size])
    share = speed.fixed_share(figures.products(size))
    tokens = figures.validation_tokens(size, plan.measures_bleu, fixed_share=share)
    validated = plan.validations * tokens
    used = (plan.tokens + validated) * speed.seconds(figures.products(size))
    assert used <= 0.921 * after_start(seconds) or plan.training_share == LEAST_TRAINING_SHARE
    assert plan.tokens <= small.tokens * 1.001
    assert plan.tokens == small.tokens or plan.validations == 1


@given(corpora, st.sampled_from(SIZES), st.floats(0.01, 100))
def test_short_sentences_come_first_only_where_few_pairs_come_again(
    figures: CorpusFigures, size: int, epochs: float
) -> None:
    plan = Plan(size, epochs * figures.tgt_tokens, figures)
    if plan.epochs >= 1.2:
        assert plan.curriculum_updates == 0
    else:
        assert plan.curriculum_updates == pytest.approx(0.35 * plan.updates, abs=0.5)


@given(corpora, st.sampled_from(SIZES))
def test_longer_sources_take_more_multiplications_and_longer_targets_share_them(
    figures: CorpusFigures, size: int
) -> None:
    products = figures.products(size)
    assert figures._replace(src_tokens=2 * figures.src_tokens).products(size) > products
    assert figures._replace(tgt_tokens=2 * figures.tgt_tokens).products(size) < products


@given(corpora, st.sampled_from(SIZES), st.floats(0.5, 4))
def test_bleu_is_measured_if_there_is_time_to_translate_the_dev_set_twice(
    figures: CorpusFigures, size: int, ratio: float
) -> None:
    """The ratio is that of the time for validations to that of one with translations."""
    assume(abs(ratio - 2) > 1e-6)
    validated = ratio * figures.validation_tokens(size, True)
    plan = Plan(size, validated * TRAINING_SHARE / VALIDATION_SHARE, figures)
    assert plan.measures_bleu == (ratio >= 2)


@given(corpora, speeds, times, st.sampled_from(SIZES), st.floats(0.05, 0.8))
def test_a_large_dev_set_takes_its_time_from_the_updates(
    figures: CorpusFigures, speed: SpeedModel, seconds: float, size: int, share: float
) -> None:
    """The share is about that of the time which a validation takes."""
    products = figures.products(size)
    fixed, token = speed.fixed_share(products), speed.seconds(products)
    one = figures._replace(dev_tokens=1).validation_tokens(size, False, fixed_share=fixed)
    dev_tokens = int(share * after_start(seconds) / (token * one))
    assume(dev_tokens > 99)
    plan = best_plan(figures._replace(dev_tokens=dev_tokens), speed, seconds, [size])
    used = (plan.tokens + dev_tokens * one) * token
    assert LEAST_TRAINING_SHARE < plan.training_share < TRAINING_SHARE
    assert used == pytest.approx((TRAINING_SHARE + VALIDATION_SHARE) * after_start(seconds))


@given(corpora, speeds, st.floats(1e4, 1e9), st.floats(0.5, 1.2))
def test_no_larger_model_is_planned_because_validating_leaves_it_as_little_time(
    figures: CorpusFigures, speed: SpeedModel, seconds: float, share: float
) -> None:
    """The share is that of the time which a validation of the smallest model takes."""
    products = figures.products(SIZES[0])
    fixed = speed.fixed_share(products)
    one = figures._replace(dev_tokens=1).validation_tokens(SIZES[0], False, fixed_share=fixed)
    dev_tokens = int(share * after_start(seconds) / (speed.seconds(products) * one))
    plan = best_plan(figures._replace(dev_tokens=dev_tokens), speed, seconds)
    assert plan.size == SIZES[0] or plan.training_share > LEAST_TRAINING_SHARE
