"""Train a recipe for some updates on a device, and measure what an update costs there.

The text is generated: sentences as long as those that the recipe is meant for, and words by Zipf's
law, so that nothing is downloaded. Every update is `Trainer.update`, as in `nmtkit train`.

After the timed updates a few are profiled, and one is run with torch's warnings of operations that
make the host wait. On a GPU launches are those of kernels; on a CPU, where there are none, torch's
operations are counted.
"""

import dataclasses
import math
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from operations import products_of, training_operations
from timing import ROOT

from nmtkit.config import Config
from nmtkit.data.batching import Batches
from nmtkit.data.corpus import Corpus, Side
from nmtkit.data.word_pairs import WordPairs
from nmtkit.model_folder import build_model
from nmtkit.models import model_name
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup
from nmtkit.special_symbols import EOS, SPECIAL_WORDS, UNK
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.gradient import Update, word_sampler
from nmtkit.training.informed_start import InformedStart
from nmtkit.training.metrics_logger import NullMetricsLogger
from nmtkit.training.settings import make_config
from nmtkit.training.trainer import Trainer

ZIPF_EXPONENT = 1.05
GAMMA_SHAPE = 2.0  # of the distribution of sentence lengths
RATIO_SD = 0.15  # standard deviation of the logarithm of the length ratio

EPOCH_UPDATES = 40
"""Updates of an epoch of the generated text, about."""

WARM_UP_EPOCHS = 2
"""Epochs before the timed updates: each shape of batch is recorded when it is met again."""

PROFILED_UPDATES = 5
LAUNCH = re.compile(r"(cuda|hip|cu)(Module)?Launch\w*Kernel\w*")
WAIT = re.compile(r"(cuda|hip)(Stream|Device|Event)Synchronize")
NO_KERNEL = re.compile("mem(cpy|set)", re.IGNORECASE)
SYNC_WARNING = "synchronizing CUDA operation"


@dataclass(frozen=True)
class Text:
    """Sizes of a generated text. words: of the vocabularies; length: mean words of a sentence."""

    words: tuple[int, int] = (30_000, 30_000)
    length: float = 25.0


TEXTS = {
    "phrase-rnn": Text((15_000, 15_000), 3.0),
    "cslm": Text((15_000, 15_000)),
    "seq2seq-lstm": Text((160_000, 80_000)),
    "seq2seq-lstm-forward": Text((160_000, 80_000)),
    "toy": Text((1_000, 1_000), 8.0),
}
"""Texts as the recipes' papers have them; that of the others is `Text()`."""

SMALL_SIZE, SMALL_TEXT = 12, Text((200, 150), 5.0)
"""Largest size of a layer, and the text, of models that only exercise this program."""


@dataclass(frozen=True)
class Activity:
    """What a device does in an update.

    launches: kernels started, or operations on a CPU. busy: seconds in which the device computes,
    None on a CPU. waits: calls that wait for the device, None on a CPU. copies: between host and
    device, None on a CPU.
    """

    launches: float
    busy: float | None = None
    waits: float | None = None
    copies: float | None = None


@dataclass(frozen=True)
class Measured:
    """Updates of a recipe on a device.

    seconds: of an update. words: target words of an update, with `</s>`, without padding.
    operations: needed for a target word. costs: per target word, of the first and of the last
    tenth of the updates. memory: peak bytes on a GPU, 0 on a CPU. wait_places: where the host
    waited in one update, as torch warns.
    """

    recipe: str
    precision: str
    seconds: float
    words: float
    operations: float
    costs: tuple[float, float]
    memory: int
    activity: Activity
    wait_places: dict[str, int]

    @property
    def words_per_second(self) -> float:
        return self.words / self.seconds

    @property
    def busy_share(self) -> float | None:
        """Share of the time in which the device computes."""
        busy = self.activity.busy
        return None if busy is None else min(1.0, busy / self.seconds)

    def ceiling_share(self, gflops: float) -> float:
        """Return the share of a ceiling in GFLOP/s that the needed operations reach."""
        return self.words_per_second * self.operations / (gflops * 1e9)


def recipe_config(
    recipe: str, precision: str, small: bool, overrides: Sequence[str] = ()
) -> Config:
    """Return the settings of a recipe.

    :param small: with layers of a few units and batches of a few sentences.
    """
    settings = [f'training.precision="{precision}"', *overrides]
    config = make_config(recipe, None, settings)
    if not small:
        return config
    sizes = {
        field.name: min(SMALL_SIZE, getattr(config.model, field.name))
        for field in dataclasses.fields(config.model)
        if type(getattr(config.model, field.name)) is int
    }
    data = dataclasses.replace(config.data, batch_size=4, batch_unit="sentences", sort_pool=2)
    return dataclasses.replace(config, model=dataclasses.replace(config.model, **sizes), data=data)


def generate(text: Text, pairs: int, seed: int = 1) -> Corpus:
    """Return pairs of random sentences."""
    random = np.random.default_rng(seed)
    lengths = random.gamma(GAMMA_SHAPE, text.length / GAMMA_SHAPE, pairs)
    ratios = random.lognormal(0, RATIO_SD, pairs)
    sides = zip(text.words, (lengths, lengths * ratios), strict=True)
    return Corpus(*(_side(random, words, counts) for words, counts in sides))


def _side(random: np.random.Generator, words: int, lengths: Any) -> Side:
    """Return random sentences of about these lengths, at least one word each."""
    counts = np.maximum(1, lengths.round()).astype(np.int64) + 1  # `</s>` included
    offsets = np.concatenate([[0], np.cumsum(counts)])
    ranks = np.arange(1, words - UNK)
    weights = ranks**-ZIPF_EXPONENT
    ids = UNK + random.choice(ranks, offsets[-1], p=weights / weights.sum())
    ids[offsets[1:] - 1] = EOS
    return Side(ids, offsets, words)


def target_vocabulary(corpus: Corpus) -> Vocabulary:
    """Return the words of the target side, with their counts."""
    size = corpus.tgt.vocabulary_size
    counts = np.bincount(corpus.tgt.ids[0 : len(corpus.tgt.ids)], minlength=size)
    words = [*SPECIAL_WORDS, *map(str, range(len(SPECIAL_WORDS), size))]
    return Vocabulary(words, counts.tolist())


class RecipeRun:
    """A training of a recipe on a device, built as `nmtkit train` does.

    `update` takes the next update.
    """

    def __init__(
        self,
        config: Config,
        text: Text,
        pairs: int,
        device: torch.device,
        process_group: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        torch.manual_seed(config.training.seed)
        model = build_model(config, *text.words).to(device)
        part = (process_group.rank, process_group.size)
        batches = Batches(generate(text, pairs), config.data, config.training.seed, part=part)
        self.trainer = Trainer(
            model,
            batches,
            _no_validation,
            config.training,
            Path(),
            NullMetricsLogger(),
            process_group,
        )
        vocabulary = target_vocabulary(self.trainer.batches.corpus)
        gradient = self.trainer.gradient
        gradient.sample_words(word_sampler(config.training, vocabulary))
        corpus = self.trainer.batches.corpus
        estimate = partial(WordPairs.estimate, corpus, len(vocabulary))
        start = InformedStart(config.training, estimate, vocabulary)
        start.initialise(model)
        start.accompany(gradient)
        model.train()

    def update(self) -> Update:
        """Take the next update, as `Trainer.run`."""
        update = self.trainer.update()
        progress = self.trainer.progress
        self.trainer.progress = dataclasses.replace(
            progress, updates=progress.updates + 1, position=self.trainer.batches.position
        )
        return update

    def epochs(self) -> float:
        """Return the epochs that are over."""
        return self.trainer.batches.epochs(self.trainer.progress.position)


def _no_validation(model: object) -> Any:
    raise AssertionError("these updates are not validated")


def measure(
    recipe: str, config: Config, text: Text, device: torch.device, warmup: int, updates: int
) -> Measured:
    """Train, and measure the updates after the first `warmup`, on a GPU after some epochs."""
    is_gpu = device.type == "cuda"
    if is_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    run = RecipeRun(config, text, pairs_of_epoch(config, text), device)
    for _ in range(warmup):
        run.update()
    while is_gpu and run.epochs() < WARM_UP_EPOCHS:
        run.update()
    synchronize(device)
    started = time.perf_counter()
    timed = [run.update() for _ in range(updates)]
    synchronize(device)
    seconds = (time.perf_counter() - started) / updates
    lengths = mean_lengths(run.trainer.batches.corpus, config.data.max_length)
    products = products_of(model_name(config.model), config.model, text.words[1])
    return Measured(
        recipe,
        config.training.precision,
        seconds,
        sum(update.tokens for update in timed) / updates,
        training_operations(products, *lengths),
        _first_and_last_costs(timed),
        torch.cuda.max_memory_allocated() if is_gpu else 0,
        profile(run.update, PROFILED_UPDATES, device),
        wait_places(run.update) if is_gpu else {},
    )


def pairs_of_epoch(config: Config, text: Text) -> int:
    """Return how many pairs have about `EPOCH_UPDATES` batches."""
    length = text.length if config.data.batch_unit == "tokens" else 1
    pairs = config.data.batch_size / length
    return math.ceil(EPOCH_UPDATES * pairs * config.training.gradient_accumulation)


def mean_lengths(corpus: Corpus, max_length: int) -> tuple[float, float]:
    """Return the mean T_x and T_y of the pairs that are trained on, with `</s>`.

    :param max_length: longer pairs are left out; words, without `</s>`.
    """
    offsets = [side.offsets[0 : len(side.offsets)] for side in (corpus.src, corpus.tgt)]
    lengths = np.stack([np.diff(side) for side in offsets])
    src, tgt = lengths[:, lengths.max(0) <= max_length + 1].mean(1)
    return float(src), float(tgt)


def _first_and_last_costs(updates: list[Update]) -> tuple[float, float]:
    """Return the cost per target word of the first and the last tenth of some updates."""
    tenth = max(1, len(updates) // 10)
    first, last = (
        sum(update.cost for update in part) / sum(update.tokens for update in part)
        for part in (updates[:tenth], updates[-tenth:])
    )
    return first, last


def synchronize(device: torch.device) -> None:
    """Wait until the device has done its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class Event(Protocol):
    """What `activity_of` needs of an event of torch's profiler."""

    name: str
    device_type: Any
    cpu_children: list[Any]
    time_range: Any


def profile(update: Callable[[], object], count: int, device: torch.device) -> Activity:
    """Profile some updates."""
    kinds = torch.profiler.ProfilerActivity
    activities = [kinds.CPU, *([kinds.CUDA] if device.type == "cuda" else [])]
    with torch.profiler.profile(activities=activities, acc_events=True) as profiler:
        for _ in range(count):
            update()
        synchronize(device)
    events: Any = profiler.events()
    return activity_of(events, count, device.type)


def activity_of(events: Iterable[Event], count: int, device: str) -> Activity:
    """Sum up the events of `count` updates."""
    host: list[Event] = []
    on_device: list[Event] = []
    for event in events:
        on_host = event.device_type.name == "CPU"
        (host if on_host else on_device).append(event)
    if device == "cpu":
        operations = [e for e in host if e.name.startswith("aten::") and not e.cpu_children]
        return Activity(len(operations) / count)
    busy = [e for e in on_device if not getattr(e, "is_user_annotation", False)]
    copies = [e for e in busy if NO_KERNEL.match(e.name)]
    return Activity(
        launches=sum(bool(LAUNCH.fullmatch(e.name)) for e in host) / count,
        busy=sum(e.time_range.elapsed_us() for e in busy) / 1e6 / count,
        waits=sum(bool(WAIT.fullmatch(e.name)) for e in host) / count,
        copies=len(copies) / count,
    )


def wait_places(update: Callable[[], object]) -> dict[str, int]:
    """Return where the host waits for the GPU in an update, and how often."""
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            update()
    finally:
        torch.cuda.set_sync_debug_mode(before)
    return places_of(caught)


def places_of(caught: Iterable[warnings.WarningMessage]) -> dict[str, int]:
    """Count torch's warnings of waits by place, "FILE:LINE"."""
    places: Counter[str] = Counter()
    for warning in caught:
        if SYNC_WARNING in str(warning.message):
            path = Path(warning.filename)
            name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name
            places[f"{name}:{warning.lineno}"] += 1
    return dict(places)
