"""Short sentences first: the share of the corpus that is used, and batches that are passed by."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.data.batch import Batch
from nmtkit.training.curriculum import LengthCurriculum
from tests.unit.training.conftest import MakeTrainer, make_corpus

LENGTHS = np.arange(1, 101)


@given(st.integers(1, 1000), st.integers(0, 2000))
def test_competence_is_that_of_the_paper_and_grows(total: int, updates: int) -> None:
    curriculum = LengthCurriculum(LENGTHS, total)
    expected = min(1.0, math.sqrt(updates * (1 - 0.1**2) / total + 0.1**2))
    assert curriculum.competence(updates) == pytest.approx(expected)
    assert curriculum.competence(updates + 1) >= curriculum.competence(updates)


def test_batches_are_allowed_by_their_mean_length() -> None:
    curriculum = LengthCurriculum(LENGTHS[::-1], 100)
    assert curriculum.allows(10, 0) and not curriculum.allows(10.5, 0)
    middle = round(100 * curriculum.competence(50))
    assert 65 < middle < 80
    assert curriculum.allows(middle, 50)
    assert not curriculum.allows(middle + 2, 50)
    assert curriculum.allows(1000, 100)


def test_a_training_begins_with_short_sentences(make_trainer: MakeTrainer) -> None:
    data = {"order": "random", "sort_pool": 6, "batch_size": 2}
    trainer = make_trainer(curriculum_updates=20, max_updates=40, validate_every=40, data=data)
    lengths, compute = [], trainer.gradient.compute

    def record(batches: list[Batch], *arguments: object) -> object:
        lengths.append(batches[0].tokens / batches[0].pairs)
        return compute(batches, *arguments)  # type: ignore[arg-type]

    trainer.gradient.compute = record  # type: ignore[method-assign, assignment]
    trainer.run()
    assert np.mean(lengths[:5]) < 0.75 * np.mean(lengths[20:])
    assert max(lengths[20:]) == max(make_corpus().tgt.lengths(np.arange(23)))


def test_a_pool_without_short_sentences_does_not_stop_a_training(
    make_trainer: MakeTrainer,
) -> None:
    trainer = make_trainer(curriculum_updates=1000, max_updates=3, data={"sort_pool": 1})
    trainer.run()
    assert trainer.progress.updates == 3
