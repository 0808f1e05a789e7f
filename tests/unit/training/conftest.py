"""A tiny model, corpus and trainer, a dev set with made-up figures, and toy trainings."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nmtkit.config import DataConfig, TrainingConfig
from nmtkit.data.batching import Batches
from nmtkit.data.corpus import Corpus, Side
from nmtkit.data.word_pairs import WordPairs
from nmtkit.models.rnnsearch import RNNsearch, RNNsearchConfig
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.informed_start import InformedStart
from nmtkit.training.metrics_logger import MetricsLogger, NullMetricsLogger
from nmtkit.training.train import train
from nmtkit.training.trainer import Trainer
from nmtkit.training.validation import Validation
from tests.unit.training.toy_trainings import SMALL, write_prepared

WORDS = 9


def make_corpus(size: int = 23) -> Corpus:
    """Return sentences of 1 to 6 random word ids; the target is the source plus one."""
    random = np.random.default_rng(5)
    sides: list[list[list[int]]] = [[], []]
    for _ in range(size):
        words = random.integers(2, WORDS - 1, random.integers(1, 7))
        sides[0].append([*words.tolist(), 0])
        sides[1].append([*(words + 1).tolist(), 0])
    return Corpus(*map(_side, sides))


def _side(sentences: list[list[int]]) -> Side:
    ids = np.array([word for sentence in sentences for word in sentence])
    return Side(ids, np.cumsum([0, *map(len, sentences)]))


@dataclass
class Dev:
    """Stand-in for the dev set, with figures from a list or computed from the parameters."""

    costs: list[float] = field(default_factory=list)
    bleus: list[float] = field(default_factory=list)
    seen: list[dict[str, torch.Tensor]] = field(default_factory=list)

    def __call__(self, model: RNNsearch) -> Validation:
        current = {name: value.detach().clone() for name, value in model.named_parameters()}
        self.seen.append(current)
        number = len(self.seen) - 1
        parameter_sum = sum(float(value.abs().sum()) for value in current.values())
        cost = self.costs[number] if self.costs else parameter_sum
        return Validation(cost, 5 * cost, self.bleus[number] if self.bleus else None)


MakeTrainer = Callable[..., Trainer]


@pytest.fixture
def make_trainer(tmp_path: Path) -> MakeTrainer:
    """`make_trainer(folder="name", dev=Dev(), dropout=0.3, max_updates=4, ...)`: a `Trainer`."""

    def make(
        folder: str = "model",
        dev: Dev | None = None,
        dropout: float = 0.0,
        data: dict[str, Any] | None = None,
        process_group: ProcessGroup = SINGLE_PROCESS,
        **changes: Any,
    ) -> Trainer:
        (tmp_path / folder).mkdir(exist_ok=True)
        settings: dict[str, Any] = {"validate_every": 2, "max_updates": 4, "average_checkpoints": 1}
        config = TrainingConfig(**{**settings, **changes})
        torch.manual_seed(config.seed)
        sizes: dict[str, Any] = {"dropout": dropout, "initialisation": "scaled"}
        model = RNNsearch(RNNsearchConfig(3, 4, 3, 2, **sizes), WORDS, WORDS)
        data_config = DataConfig(**{"batch_size": 4, "sort_pool": 2, **(data or {})})
        part = (process_group.rank, process_group.size)
        batches = Batches(make_corpus(), data_config, config.seed, part=part)
        metrics_logger = (
            MetricsLogger(tmp_path / folder, config, batches.progress)
            if process_group.is_main
            else NullMetricsLogger()
        )
        measure: Any = dev or Dev()
        trainer = Trainer(
            model, batches, measure, config, tmp_path / folder, metrics_logger, process_group
        )
        vocabulary = Vocabulary(["</s>", "<unk>", *"abcdefg"], range(1, WORDS + 1))
        word_pairs = partial(WordPairs.estimate, batches.corpus, WORDS)
        start = InformedStart(config, word_pairs, vocabulary)
        start.initialise(model)
        start.accompany(trainer.gradient)
        return trainer

    return make


@pytest.fixture
def dev() -> type[Dev]:
    return Dev


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    return write_prepared(tmp_path / "prepared")


Run = Callable[..., Path]


@pytest.fixture
def run(prepared: Path, tmp_path: Path) -> Run:
    """`run("name", "key=value", ...)` trains into a folder of that name, which it returns."""

    def call(name: str = "model", *overrides: str, **options: Any) -> Path:
        settings = {"recipe": "toy", "device": "cpu", **options}
        train(prepared, tmp_path / name, overrides=[*SMALL, *overrides], **settings)
        return tmp_path / name

    return call
