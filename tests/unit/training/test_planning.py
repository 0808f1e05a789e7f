"""Planning on machines of given speeds."""

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch

from nmtkit.config import Config
from nmtkit.config_io import recipe_table
from nmtkit.errors import ConfigError
from nmtkit.models import precision
from nmtkit.models.precision import multiplies_bfloat16
from nmtkit.training import planning
from nmtkit.training.plan import FILLED, after_start
from nmtkit.training.planning import MAX_SLOWDOWN, Planner
from nmtkit.training.scaling_law import SIZES
from nmtkit.training.speed import Speed

HOUR = 3600.0


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """Return a prepared folder of a thousand pairs."""
    for split, count in (("train", 1000), ("dev", 5)):
        for side in ("src", "tgt"):
            (tmp_path / f"{split}.{side}").write_text("a b c d e\n" * count)
    (tmp_path / "manifest.json").write_text('{"format": 1, "text": {}}')
    for side in ("src", "tgt"):
        (tmp_path / f"vocab.{side}").write_text("</s>\t1005\n<unk>\t0\na\t1005\nb\t1005\n")
    return tmp_path


def make_machine(monkeypatch: pytest.MonkeyPatch, speed: Callable[[Config], Speed]) -> None:
    """Let a function say how fast models are."""

    def fastest_speeds(configs: Sequence[Config], *_: object) -> list[Speed]:
        return [speed(config) for config in configs]

    monkeypatch.setattr(planning, "fastest_speeds", fastest_speeds)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[Config]:
    """Make a machine of one core, three times as fast in bfloat16; return what it measures."""
    measured: list[Config] = []

    def speed(config: Config) -> Speed:
        measured.append(config)
        gain = 3 if config.training.precision == "bfloat16" else 1
        seconds = float(config.model.hidden**2)
        return Speed(gain * 40_000, seconds, seconds)

    monkeypatch.setattr(planning, "useful_sizes", lambda figures: list(SIZES))  # of a tiny corpus
    make_machine(monkeypatch, speed)
    monkeypatch.setattr(planning, "possible_parts", lambda device: [1])
    monkeypatch.setattr(planning, "multiplies_bfloat16", lambda device: True)
    return measured


def precisions(planner: Planner) -> set[str]:
    """Return the precision of the plans by whether they have 512 units or more."""
    plans = [planner.plan(10.0**-tenth) for tenth in range(7)]
    assert all((plan.size >= 512) == (plan.precision == "bfloat16") for plan in plans)
    return {planner.settings(plan).training.precision for plan in plans}


def test_large_models_are_planned_in_bfloat16(prepared: Path, machine: list[Config]) -> None:
    planner = Planner(prepared, 1000 * HOUR, device="cpu")
    assert precisions(planner) == {"float32", "bfloat16"}
    assert planner.plan().size >= 512
    assert "bfloat16" in planner.describe(planner.plan())[0]
    assert [c.model.hidden for c in machine if c.training.precision == "bfloat16"] == [512]


def test_nothing_is_measured_in_bfloat16_where_there_is_no_time_for_large_models(
    prepared: Path, machine: list[Config]
) -> None:
    planner = Planner(prepared, 1.0, ["training.softmax_samples=0"], device="cpu")
    assert planner.plan().size < 512
    assert {config.training.precision for config in machine} == {"float32"}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_precision_that_was_asked_for_is_kept(
    prepared: Path, machine: list[Config], precision: str
) -> None:
    planner = Planner(prepared, 1000 * HOUR, [f'training.precision="{precision}"'], device="cpu")
    assert {config.training.precision for config in machine} == {precision}
    assert planner.settings(planner.plan()).training.precision == precision


@pytest.mark.parametrize(("seconds", "parts"), [(30.0, 1), (1000 * HOUR, 2)])
def test_the_number_of_parts_is_that_which_is_fastest_for_the_planned_size(
    prepared: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, parts: int
) -> None:
    def speed(config: Config) -> Speed:
        size = config.model.hidden
        gain = config.training.batch_parts if size > 200 else 1 / config.training.batch_parts
        return Speed(20_000_000, size * size / gain, size * size / gain)

    monkeypatch.setattr(planning, "useful_sizes", lambda figures: list(SIZES))
    make_machine(monkeypatch, speed)
    monkeypatch.setattr(planning, "possible_parts", lambda device: [1, 2])
    planner = Planner(prepared, seconds, ['training.precision="float32"'], device="cpu")
    plan = planner.plan()
    assert (plan.size > 200) == (parts == 2)
    assert planner.settings(plan).training.batch_parts == parts


def test_a_program_that_slows_the_machine_later_changes_no_speed(
    prepared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model that is planned is the first that was measured, in one part and in two."""
    first: set[int] = set()

    def speed(config: Config) -> Speed:
        parts = config.training.batch_parts
        slowed = parts in first
        first.add(parts)
        return Speed(2_000 if slowed and parts == 2 else 3_000 * parts, 1.0, 1.0)

    make_machine(monkeypatch, speed)
    monkeypatch.setattr(planning, "possible_parts", lambda device: [1, 2])
    planner = Planner(prepared, 60.0, ["model.hidden=96"], device="cpu")
    assert planner.batch_parts == 2
    assert planner.plan().tokens == pytest.approx(
        6_000 * after_start(60) * planner.plan().training_share
    )


@pytest.mark.parametrize(("mean", "slowdown"), [(1.0, 1.0), (1.1, 1.1), (9.0, 1.25)])
def test_a_machine_that_wavers_is_expected_to_go_on_so(
    prepared: Path, monkeypatch: pytest.MonkeyPatch, mean: float, slowdown: float
) -> None:
    make_machine(monkeypatch, lambda config: Speed(6_000, 1.0, mean))
    planner = Planner(prepared, 60.0, ["model.hidden=96"], device="cpu")
    assert planner.slowdown == pytest.approx(slowdown)
    plan = planner.plan()
    assert plan.tokens == pytest.approx(6_000 * after_start(60) * plan.training_share / slowdown)
    assert f"trains {6_000 / slowdown:,.0f} tokens/s" in planner.describe(plan)[1]


@pytest.mark.parametrize("has_graphs", [True, False])
def test_on_a_gpu_graphs_are_measured_and_no_words_are_drawn(
    prepared: Path, monkeypatch: pytest.MonkeyPatch, has_graphs: bool
) -> None:
    turns: list[int] = []

    def fastest_speeds(configs: Sequence[Config], *arguments: object) -> list[Speed]:
        turns.append(int(str(arguments[-1])))
        return [Speed(6_000, 1.0, 9.0) for _ in configs]

    monkeypatch.setattr(planning, "fastest_speeds", fastest_speeds)
    monkeypatch.setattr(planning, "find_device", lambda name: torch.device("cuda"))
    monkeypatch.setattr(planning, "multiplies_bfloat16", lambda device: False)
    settings = ["model.hidden=96", f"training.cuda_graphs={has_graphs}".lower()]
    planner = Planner(prepared, 60.0, settings, device="cuda")
    if has_graphs:
        assert set(turns) == {3}  # met, recorded, repeated
        assert planner.slowdown == 1.0  # the first two are slower on any machine
    else:
        assert set(turns) == {1, 2} and planner.slowdown == MAX_SLOWDOWN
    assert planner.figures.draws_words != has_graphs


@pytest.mark.parametrize(
    ("overrides", "metric"),
    [
        ([], "chrf"),
        (["training.dev_bleu=false"], "cost"),
        (["training.dev_bleu=false", "training.early_stopping_metric=chrf"], "chrf"),
        (["training.early_stopping_metric=cost"], "cost"),
        (["training.early_stopping_metric=bleu"], "bleu"),
    ],
)
def test_the_best_translations_are_kept_where_the_dev_set_is_translated(
    prepared: Path, machine: list[Config], overrides: list[str], metric: str
) -> None:
    planner = Planner(prepared, HOUR, overrides, device="cpu")
    assert planner.plan().measures_bleu
    assert planner.settings(planner.plan()).training.early_stopping_metric == metric


@pytest.mark.parametrize(
    ("overrides", "factor"),
    [
        (["data.batch_size=3200"], 4),
        (["training.gradient_accumulation=4"], 4),
        (["data.batch_size=1600", "training.gradient_accumulation=2"], 4),
        (["data.batch_size=496", 'data.batch_unit="sentences"'], 4),  # of 6 tokens
    ],
)
def test_updates_are_those_of_batches_that_were_asked_for(
    prepared: Path, monkeypatch: pytest.MonkeyPatch, overrides: list[str], factor: int
) -> None:
    """Guidance and curriculum, which are counted in updates, lasted longer than the training."""
    make_machine(monkeypatch, lambda config: Speed(6_000, 1.0, 1.0))
    given = ["model.hidden=96"]
    usual, asked = (Planner(prepared, 60.0, [*given, *o], device="cpu") for o in ([], overrides))
    plan, settings = usual.plan(), asked.settings(asked.plan()).training
    assert plan.batch_size == 800
    assert settings.guided_updates == pytest.approx(plan.updates / factor, abs=1)
    assert settings.learning_rate == pytest.approx(plan.learning_rate * factor**0.5, rel=0.05)


def test_a_plan_says_what_was_asked_for(prepared: Path, machine: list[Config]) -> None:
    overrides = ['data.batch_unit="sentences"', "data.batch_size=40", "training.cooldown_share=0.2"]
    planner = Planner(prepared, HOUR, overrides, device="cpu")
    first, second, _ = planner.describe(planner.plan())
    assert "batches of 40 sentences," in first and "in the last 12m the" in second


def test_batches_counted_in_sentences_have_as_many_tokens_as_others(
    prepared: Path, machine: list[Config]
) -> None:
    """The number of tokens was taken for that of sentences."""
    planner = Planner(prepared, HOUR, ["data.batch_unit=sentences"], device="cpu")
    plan = planner.plan()
    sentences = planner.settings(plan).data.batch_size
    assert 6 * sentences == pytest.approx(FILLED * plan.batch_size, abs=6)
    assert f"batches of {sentences} sentences," in planner.describe(plan)[0]


def test_the_weights_of_corpora_count_in_the_number_of_epochs(
    prepared: Path, machine: list[Config]
) -> None:
    """A tenth of the pairs is used three times in an epoch, and the others every second time."""
    planner = Planner(prepared, HOUR, device="cpu")
    plan = planner.plan()
    assert f", {plan.tokens / 6000:.1f} epochs;" in planner.describe(plan)[1]
    corpora = '[{"pairs": 100, "weight": 3}, {"pairs": 900, "weight": 0.5}]'
    manifest = f'{{"format": 1, "text": {{}}, "corpora": {corpora}}}'
    (prepared / "manifest.json").write_text(manifest)
    planner = Planner(prepared, HOUR, device="cpu")
    assert f", {plan.tokens / 4500:.1f} epochs;" in planner.describe(planner.plan())[1]


@pytest.mark.parametrize(("overrides", "longest"), [([], 150), (["data.max_length=30"], 30)])
def test_pairs_that_are_too_long_change_no_plan(
    prepared: Path, machine: list[Config], overrides: list[str], longest: int
) -> None:
    """They counted in the size of the corpus, so that there seemed to be fewer epochs."""
    plans, sentences = [], []
    for words in (0, longest + 1):
        for side in ("src", "tgt"):
            with (prepared / f"train.{side}").open("a") as lines:
                lines.write(f"{'a ' * words}b\n" * 500 * bool(words))
        planner = Planner(prepared, HOUR, overrides, device="cpu")
        plans.append(planner.plan())
        sentences.append(planner.describe(plans[-1]))
    assert plans[0] == plans[1] and sentences[0] == sentences[1]


@pytest.mark.parametrize("recipe", ["rnnenc-30", "cslm", "grconv", "seq2seq-lstm"])
def test_a_plan_of_another_model_names_the_recipes_of_that(
    prepared: Path, machine: list[Config], recipe: str
) -> None:
    """The message named a setting of RNNsearch alone, which the user had not given."""
    override = f"model.type={recipe_table(recipe)['model']['type']}"
    with pytest.raises(ConfigError, match=f"--set {override}: .*: --recipe .*{recipe}"):
        Planner(prepared, HOUR, [override], device="cpu")


def test_an_old_name_of_a_setting_is_warned_of_once(
    prepared: Path, machine: list[Config], caplog: pytest.LogCaptureFixture
) -> None:
    planner = Planner(prepared, HOUR, ["training.accumulate=2"], device="cpu")
    assert planner.settings(planner.plan()).training.gradient_accumulation == 2
    assert caplog.text.count("training.accumulate is now called") == 1


def test_a_machine_without_bfloat16_has_none(
    prepared: Path, machine: list[Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "multiplies_bfloat16", lambda device: False)
    assert Planner(prepared, 1000 * HOUR, device="cpu").plan().precision == "float32"
    assert {config.training.precision for config in machine} == {"float32"}


def test_the_processor_tells_whether_it_multiplies_bfloat16(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cpu = torch.device("cpu")
    for capabilities, expected in (({"avx512_bf16": True}, True), ({"avx2": True}, False)):
        monkeypatch.setattr(precision, "processor_capabilities", lambda found=capabilities: found)
        assert multiplies_bfloat16(cpu) is expected
    assert not multiplies_bfloat16(torch.device("meta"))


@pytest.mark.parametrize("size", [SIZES[0], 128, 100, SIZES[-1]])
def test_a_size_that_is_asked_for_is_planned(
    prepared: Path, machine: list[Config], size: int
) -> None:
    planner = Planner(prepared, HOUR, [f"model.hidden={size}"], device="cpu")
    assert planner.plan().size == size
    model = planner.settings(planner.plan()).model
    assert {model.hidden, model.embedding, model.align, model.maxout} == {size}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("size", [SIZES[0], 192, 512, SIZES[-1]])
def test_the_speed_of_a_size_that_is_asked_for_is_the_one_that_was_measured(
    prepared: Path, machine: list[Config], size: int, precision: str
) -> None:
    """It was taken for that of the sizes which are measured where none is asked for."""
    overrides = [f"model.hidden={size}", f'training.precision="{precision}"']
    plan = Planner(prepared, 100 * HOUR, overrides, device="cpu").plan()
    assert {config.model.hidden for config in machine} == {size}
    tokens_per_second = (3 if precision == "bfloat16" else 1) * 40_000 / size**2
    assert plan.tokens == pytest.approx(
        plan.training_share * after_start(100 * HOUR) * tokens_per_second
    )


def test_a_large_size_that_is_asked_for_is_measured_in_both_precisions(
    prepared: Path, machine: list[Config]
) -> None:
    plan = Planner(prepared, 100 * HOUR, ["model.hidden=640"], device="cpu").plan()
    assert {config.training.precision for config in machine} == {"float32", "bfloat16"}
    assert plan.precision == "bfloat16"
    assert plan.tokens == pytest.approx(
        plan.training_share * after_start(100 * HOUR) * 3 * 40_000 / 640**2
    )


def test_a_dev_set_that_takes_much_of_the_time_is_warned_of(
    prepared: Path, machine: list[Config]
) -> None:
    planner = Planner(prepared, 600.0, device="cpu")
    assert planner.warnings(planner.plan()) == []
    for side in ("src", "tgt"):
        (prepared / f"dev.{side}").write_text("a b c d e\n" * 5000)
    planner = Planner(prepared, 1.0, device="cpu")
    [warning] = planner.warnings(planner.plan())
    assert re.fullmatch(
        r"validating takes about \d+ % of the time, as the dev set has 30,000 target tokens; a"
        r" smaller one leaves more for training",
        warning,
    )


@pytest.mark.parametrize("hours", [30.0, 1e3, 1e5])
def test_the_gain_of_twice_the_time_is_a_share_of_the_perplexity(
    prepared: Path, machine: list[Config], hours: float
) -> None:
    planner = Planner(prepared, hours * HOUR, device="cpu")
    planner.figures = planner.figures._replace(tgt_tokens=1_000_000)
    plan, double = planner.plan(), planner.plan(2)
    found = re.search(r"a perplexity lower by about (\d+) %", planner.describe(plan)[2])
    assert found is not None and 0 <= int(found[1]) < 100
    left = 100 * math.exp(double.expected_cost) / math.exp(plan.expected_cost)
    assert int(found[1]) == pytest.approx(100 - left, abs=0.51)


@pytest.mark.parametrize("seconds", [25.0, 1000 * HOUR])
def test_no_gain_is_promised_for_fewer_tokens_than_the_law_was_fitted_to(
    prepared: Path, machine: list[Config], seconds: float
) -> None:
    """It promised "a perplexity lower by about 100 %"."""
    planner = Planner(prepared, seconds, device="cpu")
    last = planner.describe(planner.plan())[2]
    assert last.startswith("twice the time: ") and last.endswith(" epochs")
