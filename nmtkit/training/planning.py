"""Making the plan of a training: figures of its corpus, the speed of this machine, the settings."""

import math
from collections.abc import Sequence
from pathlib import Path

from nmtkit.config import Config, parse_config
from nmtkit.config_io import Table, merge_tables, recipe_table
from nmtkit.data.corpus import Corpus
from nmtkit.data.corpus_size import corpus_size
from nmtkit.data.manifest import corpus_segments, read_manifest
from nmtkit.durations import format_duration
from nmtkit.errors import counted
from nmtkit.model_folder import find_device
from nmtkit.models.precision import BFLOAT16_SIZE, limit_bfloat16_memory, multiplies_bfloat16
from nmtkit.new_model_folder import shortlists
from nmtkit.progress_bar import ProgressBar
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.part_gradients import possible_parts
from nmtkit.training.plan import (
    FILLED,
    LARGE_ACCELERATOR_BATCH,
    LARGE_BATCH,
    MAX_LENGTH,
    BatchLimits,
    CorpusFigures,
    Plan,
    Precision,
    SpeedModel,
    after_start,
    best_plan,
    useful_sizes,
)
from nmtkit.training.scaling_law import LEAST_FITTED_TOKENS, SIZES
from nmtkit.training.settings import make_config, parse_overrides
from nmtkit.training.speed import fastest_speeds

RECIPE = "rnnsearch-modern"
"""Recipe whose settings stand where the plan has none."""

PROBES = (128, 384)
"""Sizes whose speed is measured, unless one is asked for; that of the others follows from their
multiplications."""

BEST_TRANSLATIONS = {"training": {"early_stopping_metric": "chrf"}}
"""Settings where the dev set is translated. Where the same pairs are seen often, the cost stops
falling while translations still become better."""

LARGE_VALIDATION_SHARE = 0.1
"""Share of the time from which on a validation is worth a warning."""

NEAR = 3
"""Numbers of parts that are compared for the planned model."""

TURNS = 2
"""How many times a speed is measured on which the size or the number of parts depends."""

TURNS_WITH_GRAPHS = 3
"""The same with CUDA graphs: a batch is recorded in the second turn, and repeated in the third."""

MAX_SLOWDOWN = 1.25
"""Largest factor by which trainings are expected to be slower than the least times measured."""

SHARE_TO_MEASURE = 0.02
"""Share of the time that all measurements take, ..."""

MAX_SECONDS_TO_MEASURE = 1.0
"""... but each at most these seconds."""


def corpus_figures(
    corpus: Corpus, dev: Corpus, vocabularies: tuple[Vocabulary, Vocabulary], max_length: int
) -> CorpusFigures:
    """Return the figures of the training data that plans need.

    :param max_length: tokens of the longest sentences that are trained on.
    """
    src, tgt = vocabularies
    pairs, *tokens = corpus_size(corpus, max_length)
    src_tokens, tgt_tokens = map(int, tokens)
    sizes = len(src), len(tgt)
    return CorpusFigures(int(pairs), src_tokens, tgt_tokens, *sizes, len(dev.tgt.ids))


class Planner:
    """Plans trainings on a prepared folder.

    seconds: time of the whole training. figures: of the training data. speed: of this machine.
    bfloat16_speed: that of large models in bfloat16, if the machine multiplies it and there may be
    time for them. batch_parts: in how many parts batches are fastest.
    """

    def __init__(
        self, prepared: Path, seconds: float, overrides: Sequence[str] = (), device: str = "auto"
    ) -> None:
        """Read the corpus, and measure this machine for a few seconds.

        :param overrides: settings as "section.key=value", which every plan respects.
        :raises NmtkitError: settings or files cannot be used.
        """
        self.seconds = seconds
        config = make_config(None, None, overrides, recipe_table(RECIPE))
        self._overrides, _ = parse_overrides(overrides)  # old names have been warned of, once
        data, sides = config.data, config.data.sides
        self._vocabularies = src, tgt = shortlists(prepared, data)
        self._corpus = Corpus.open(prepared, "train", (src, tgt), sides)
        dev = Corpus.open(prepared, "dev", (src, tgt), sides)
        self._device = find_device(device)
        self._has_graphs = self._device.type == "cuda" and config.training.cuda_graphs
        max_length = self._overrides.get("data", {}).get("max_length", MAX_LENGTH)
        figures = corpus_figures(self._corpus, dev, (src, tgt), max_length)
        self.figures = figures._replace(draws_words=not self._has_graphs)
        segments = corpus_segments(read_manifest(prepared), prepared)
        self._epoch_tokens = float(figures.tgt_tokens)
        if segments:
            self._epoch_tokens = corpus_size(self._corpus, max_length, segments).tgt_tokens
        self._turns = TURNS_WITH_GRAPHS if self._has_graphs else TURNS
        self._limits = self._batch_limits(config)
        self.bfloat16_speed: SpeedModel | None = None
        self._sizes = self._possible_sizes()
        self._wide_sizes = [size for size in self._sizes if size >= BFLOAT16_SIZE]
        self._probes = PROBES if len(self._sizes) > 1 else tuple(self._sizes)
        self._least_times: dict[tuple[int, int, Precision, int], float] = {}
        self._measured_seconds = [0.0, 0.0]  # least and mean, where both are known
        self._measure()

    def _batch_limits(self, config: Config) -> BatchLimits:
        """Return how large batches may be: of one size, if a setting asks for it."""
        size, accumulated = config.data.batch_size, config.training.gradient_accumulation
        if "batch_size" not in self._overrides.get("data", {}):
            largest = LARGE_BATCH if self._device.type == "cpu" else LARGE_ACCELERATOR_BATCH
            return BatchLimits(largest=largest, accumulated=accumulated)
        if config.data.batch_unit == "sentences":
            size = max(round(size * self._pair_size), 1)
        return BatchLimits(size, size, accumulated)

    @property
    def _pair_size(self) -> float:
        """Target tokens that a pair takes in a batch, padding counted."""
        return max(self.figures.tgt_tokens, 1) / (FILLED * max(self.figures.pairs, 1))

    def _possible_sizes(self) -> list[int]:
        """Return the sizes to choose from: one, if a setting asks for it."""
        trials = [Plan(size, 1.0, self.figures) for size in (SIZES[0], SIZES[-1])]
        small, large = (self.settings(trial, 1).model.hidden for trial in trials)
        return [small] if small == large else useful_sizes(self.figures)

    def _measure(self) -> None:
        """Measure the speed of some models, and choose the number of parts."""
        asked = Plan(self._probes[0], 1.0, self.figures)
        possible = possible_parts(self._device)
        parts = sorted({self.settings(asked, n).training.batch_parts for n in possible})
        moments = len(parts) + self._turns * (len(self._probes) + min(len(parts), NEAR))
        share = SHARE_TO_MEASURE * self.seconds / moments
        self._moment = min(share, MAX_SECONDS_TO_MEASURE)
        bfloat16 = multiplies_bfloat16(self._device)
        if bfloat16:
            limit_bfloat16_memory()
        with ProgressBar("measure the speed of this machine", "models") as self._bar:
            self._choose_speed(parts, asked, bfloat16)
            self._choose_parts(parts)

    def _choose_speed(self, parts: Sequence[int], asked: Plan, bfloat16: bool) -> None:
        """Measure with each number of parts, and with larger models.

        :param parts: possible numbers, ascending.
        :param asked: plan of the smallest model.
        :param bfloat16: the device multiplies bfloat16 itself.
        """
        turns = self._turns if self._has_graphs else 1  # the number of parts is chosen anew later
        seconds, self.batch_parts = self._fastest_parts(asked, parts, turns)
        tokens = self.seconds / seconds  # about those of the training
        points = self._measured([self._plan(size, tokens) for size in self._probes])
        self.speed = SpeedModel.through(points)
        given = "precision" in self._overrides.get("training", {})
        if bfloat16 and self._wide_sizes and not given and self.plan(2).size >= PROBES[-1]:
            wide = self._measured([self._plan(self._wide_sizes[0], tokens, "bfloat16")])
            small = self.figures.products(asked.size)
            self.bfloat16_speed = SpeedModel.through({small: points[small], **wide})

    def _measured(self, plans: Sequence[Plan]) -> dict[float, float]:
        """Return the seconds of a target token in some plans' models, by their multiplications."""
        times = self._times([(plan, self.batch_parts) for plan in plans], self._turns)
        products = [self.figures.products(plan.size) for plan in plans]
        return dict(zip(products, times, strict=True))

    def _choose_parts(self, parts: Sequence[int]) -> None:
        """Choose the number of parts anew, for the planned model: it depends on size and batches.

        :param parts: possible numbers, ascending.
        """
        place = parts.index(self.batch_parts)
        near = parts[max(place - 1, 0) :][:NEAR]
        if len(near) > 1:
            _, self.batch_parts = self._fastest_parts(self.plan(), near, self._turns)

    def _fastest_parts(self, plan: Plan, parts: Sequence[int], turns: int) -> tuple[float, int]:
        """Return the seconds of a token with the fastest number of parts, and that number."""
        times = self._times([(plan, count) for count in parts], turns)
        return min(zip(times, parts, strict=True))

    def _plan(self, size: int, tokens: float, precision: Precision = "float32") -> Plan:
        return Plan(size, tokens, self.figures, self._limits, precision)

    def _times(self, models: Sequence[tuple[Plan, int]], turns: int) -> list[float]:
        """Return the seconds of a target token in models of the family, the least so far.

        :param models: plans and numbers of parts.
        :param turns: how many times to measure each.
        """
        configs = [self.settings(plan, parts) for plan, parts in models]
        data = self._corpus, self._vocabularies, self._device
        speeds = fastest_speeds(configs, *data, self._moment, turns)
        self._bar.update(len(models))
        if turns > 1 and not self._has_graphs:  # the first turns with graphs are always slower
            self._measured_seconds[0] += sum(speed.seconds for speed in speeds)
            self._measured_seconds[1] += sum(speed.mean_seconds for speed in speeds)
        keys = [(plan.size, plan.batch_size, plan.precision, parts) for plan, parts in models]
        for key, speed in zip(keys, speeds, strict=True):
            seconds = 1 / speed.tokens_per_second
            self._least_times[key] = min(seconds, self._least_times.get(key, seconds))
        return [self._least_times[key] for key in keys]

    def settings(self, plan: Plan, batch_parts: int | None = None) -> Config:
        """Return the settings of a plan.

        :param batch_parts: in how many parts batches are split; None: the fastest number.
        """
        parts = {"training": {"batch_parts": batch_parts or self.batch_parts}}
        table = merge_tables(merge_tables(recipe_table(RECIPE), plan.settings()), parts)
        if self._overrides.get("data", {}).get("batch_unit") == "sentences":
            table["data"]["batch_size"] = max(round(plan.batch_size / self._pair_size), 1)
        if self._overrides.get("training", {}).get("early_stopping_metric") == "bleu":
            table["training"]["dev_bleu"] = True
        config = self._with_overrides(table)
        if not config.training.dev_bleu:
            return config
        return self._with_overrides(merge_tables(table, BEST_TRANSLATIONS))

    def _with_overrides(self, table: Table) -> Config:
        return parse_config(merge_tables(table, self._overrides), "the settings of the plan")

    @property
    def slowdown(self) -> float:
        """Mean time of the measured updates by their least, which no training reaches throughout.

        A single moment of another program does not count beyond `MAX_SLOWDOWN`.
        """
        least, mean = self._measured_seconds
        return min(mean / least, MAX_SLOWDOWN) if least else 1.0

    def plan(self, factor: float = 1.0) -> Plan:
        """Return the best plan for the time, times a factor; its size may be fixed by a setting."""
        seconds, limits = factor * self.seconds, self._limits
        speed = self.speed.slower(self.slowdown)
        plans = [best_plan(self.figures, speed, seconds, self._sizes, limits)]
        if self.bfloat16_speed:
            speed, wide = self.bfloat16_speed.slower(self.slowdown), self._wide_sizes
            plans.append(best_plan(self.figures, speed, seconds, wide, limits, "bfloat16"))
        return min(plans, key=lambda plan: plan.expected_cost)

    def describe(self, plan: Plan) -> list[str]:
        """Return a plan in three lines.

        What twice the time gains is left out where the law would be used below its range.
        """
        config, double = self.settings(plan), self.plan(2)
        gain = 1 - math.exp(double.expected_cost - plan.expected_cost)
        is_known = plan.useful_tokens >= LEAST_FITTED_TOKENS
        gain_text = f", and a perplexity lower by about {100 * gain:.0f} %" if is_known else ""
        tokens_per_second = plan.tokens / (plan.training_share * after_start(self.seconds))
        return [
            f"plan for {format_duration(self.seconds)}: {plan.size} units, about"
            f" {self.figures.parameters(plan.size) / 1e6:.1f} million parameters; dropout"
            f" {config.model.dropout:g}, batches of {config.data.batch_size}"
            f" {config.data.batch_unit}{_in_parts(config)},"
            f" learning rate {config.training.learning_rate:g}{_in_bfloat16(config)}",
            f"this machine trains {tokens_per_second:,.0f} tokens/s of it: about"
            f" {counted(plan.updates, 'update')}, {self._epochs(plan):.1f} epochs; in the last"
            f" {format_duration(config.training.cooldown_share * self.seconds)} the learning rate"
            " falls to 0",
            f"twice the time: {double.size} units, {self._epochs(double):.1f} epochs{gain_text}",
        ]

    def _epochs(self, plan: Plan) -> float:
        """Return the number of epochs of a plan, in which each corpus has its weight."""
        return plan.tokens / max(self._epoch_tokens, 1)

    def warnings(self, plan: Plan) -> list[str]:
        """Return what keeps a plan from making good use of the time."""
        if plan.validation_share < LARGE_VALIDATION_SHARE:
            return []
        return [
            f"validating takes about {100 * plan.validation_share:.0f} % of the time, as the dev"
            f" set has {self.figures.dev_tokens:,} target tokens; a smaller one leaves more for"
            " training"
        ]


def _in_parts(config: Config) -> str:
    parts = config.training.batch_parts
    return f" in {parts} parts" if parts > 1 else ""


def _in_bfloat16(config: Config) -> str:
    return ", bfloat16" if config.training.precision == "bfloat16" else ""
