"""Measuring the speed of updates."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import torch

from nmtkit.config import parse_config
from nmtkit.data.batch import Batch
from nmtkit.data.batching import Batches
from nmtkit.parallel import environment
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.speed import FIRST_UPDATES, MIN_UPDATES, SpeedProbe, fastest_speeds
from nmtkit.training.trainer import Trainer

CONFIG = parse_config(
    {
        "model": {"embedding": 4, "hidden": 5, "align": 4, "maxout": 3, "dropout": 0.1},
        "data": {"batch_size": 4},
        "training": {"gradient_accumulation": 2},
    },
    "test",
)

CPU = torch.device("cpu")
WORDS = Vocabulary(["</s>", "<unk>", *"abcdefg"])
VOCABULARIES = WORDS, WORDS


def test_the_tokens_are_those_of_the_first_batches(make_trainer: Callable[..., Trainer]) -> None:
    corpus = make_trainer().batches.corpus
    [speed] = fastest_speeds([CONFIG], corpus, VOCABULARIES, CPU, 0.0)
    batches = list(
        itertools.islice(Batches(corpus, CONFIG.data, 1), 2 * (FIRST_UPDATES + MIN_UPDATES))
    )
    assert speed.tokens == sum(batch.tokens for batch in batches[2 * FIRST_UPDATES :])
    assert speed.tokens_per_second == speed.tokens / speed.seconds > 0
    assert speed.mean_seconds == speed.seconds  # in one turn


def test_of_several_processes_the_part_of_one_is_measured(
    make_trainer: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "size", lambda: 2)
    corpus = make_trainer().batches.corpus
    batch, _ = SpeedProbe(CONFIG, corpus, VOCABULARIES, CPU).next_batches()
    [whole] = itertools.islice(Batches(corpus, CONFIG.data, 1), 1)
    assert batch.lines == whole.lines[::2] and batch.tokens == whole.tokens


def test_random_numbers_go_on_as_if_nothing_had_been_measured(
    make_trainer: Callable[..., Trainer],
) -> None:
    corpus = make_trainer().batches.corpus
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    fastest_speeds([CONFIG, CONFIG], corpus, VOCABULARIES, CPU, 0.0, turns=2)
    assert torch.equal(torch.rand(4), expected)


def test_more_is_measured_in_a_longer_time(make_trainer: Callable[..., Trainer]) -> None:
    corpus = make_trainer().batches.corpus
    [longer] = fastest_speeds([CONFIG], corpus, VOCABULARIES, CPU, 1.0)
    [shortest] = fastest_speeds([CONFIG], corpus, VOCABULARIES, CPU, 0.0)
    assert longer.tokens > shortest.tokens


def test_models_take_turns_on_the_same_updates_and_the_least_time_of_each_counts(
    make_trainer: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program slows some updates; the order shows that the models alternate."""
    turns = iter([[4.0, 1.0, 2.0], [9.0, 9.0, 9.0], [2.0, 3.0, 2.0], [1.0, 8.0, 8.0]])
    probes: list[SpeedProbe] = []
    trained: list[Sequence[list[Batch]]] = []

    def train(probe: SpeedProbe, updates: Sequence[list[Batch]]) -> list[float]:
        if len(updates) == 1:
            return [1.0]
        probes.append(probe)
        trained.append(updates)
        return next(turns)

    monkeypatch.setattr(SpeedProbe, "train", train)
    corpus = make_trainer().batches.corpus
    small = replace(CONFIG, data=replace(CONFIG.data, batch_size=2))
    speeds = fastest_speeds([CONFIG, small], corpus, VOCABULARIES, CPU, 3.0, turns=2)
    assert [speed.seconds for speed in speeds] == [2.0 + 1.0 + 2.0, 1.0 + 8.0 + 8.0]
    assert [speed.mean_seconds for speed in speeds] == [7.0, 22.0]
    assert probes == probes[:2] * 2 and probes[0] is not probes[1]
    assert trained == trained[:2] * 2 and trained[0] is not trained[1]
    assert speeds[0].tokens == sum(batch.tokens for update in trained[0] for batch in update)


@pytest.mark.parametrize("models", [1, 2, 5])
def test_each_model_is_measured_for_the_time_however_many_there_are(
    make_trainer: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch, models: int
) -> None:
    counts: list[int] = []

    def train(_: SpeedProbe, updates: Sequence[list[Batch]]) -> list[float]:
        counts.append(len(updates))
        return [0.5] * len(updates)

    monkeypatch.setattr(SpeedProbe, "train", train)
    corpus = make_trainer().batches.corpus
    fastest_speeds([CONFIG] * models, corpus, VOCABULARIES, CPU, 20.0)
    assert counts[FIRST_UPDATES * models :] == [40] * models
