"""Corrections that come out right."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.config import TextConfig
from nmtkit.special_symbols import UNK
from nmtkit.text.pipeline import TextPipeline
from nmtkit.training.adaptation import right_check
from nmtkit.training.adaptation.right_check import CHECK_SHARE, RightCheck, right_lines
from tests.unit.training.conftest import make_corpus


def test_a_translation_is_right_if_it_is_the_reference():
    text = TextPipeline("fr", TextConfig(), None)
    assert right_lines(["le chat", "un chien"], ["le chat ", "le chien"], text) == [True, False]


def test_a_translation_is_right_if_the_model_writes_the_reference_so():
    """The tokeniser takes off the double blank, which no translation can have."""
    text = TextPipeline("fr", TextConfig(), None)
    assert right_lines(["le chat", "lechat"], ["le  chat", "le  chat"], text) == [True, False]


@pytest.mark.parametrize("unwritable", [0, 2])
def test_the_check_is_done_when_all_come_out_that_the_model_can_write(unwritable, monkeypatch):
    corpus = make_corpus(5)
    ids = cast(np.ndarray, corpus.tgt.ids)
    ids[corpus.tgt.offsets[:unwritable]] = UNK
    references = [f"sentence {number}" for number in range(5)]
    said = list(references)
    examiner = SimpleNamespace(
        sets=[SimpleNamespace(sources=references, references=references)],
        translate_lines=lambda lines, parameters: said,
    )
    tuner = SimpleNamespace(model=torch.nn.Linear(1, 1), updates=1, parameters=dict)
    text = TextPipeline("fr", TextConfig(), None)
    check = RightCheck(cast(Any, tuner), corpus, cast(Any, examiner), text)
    monkeypatch.setattr(check, "_is_hopeful", lambda: True)
    for wrong in range(4):
        said[:wrong] = ["wrong"] * wrong
        check._seconds = 0.0
        assert check.done() == (wrong <= unwritable)


@given(st.lists(st.tuples(st.floats(0, 20), st.floats(0, 50)), max_size=99))
def test_checks_take_a_bounded_share_of_the_time(steps: list[tuple[float, float]]) -> None:
    """By a clock on which updates and checks take the given seconds."""
    now, checked, checks = 0.0, 0.0, 0
    tuner = SimpleNamespace(model=torch.nn.Linear(1, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(right_check, "time", SimpleNamespace(monotonic=lambda: now))
        text = TextPipeline("fr", TextConfig(), None)
        check = RightCheck(cast(Any, tuner), make_corpus(), cast(Any, None), text)

        def is_hopeful() -> bool:
            nonlocal now, checked, checks
            assert checked <= CHECK_SHARE * now + 1e-9
            now, checked, checks = now + step[1], checked + step[1], checks + 1
            return False

        patch.setattr(check, "_is_hopeful", is_hopeful)
        for step in steps:
            now += step[0]
            assert not check.done()
    assert checks or not steps
