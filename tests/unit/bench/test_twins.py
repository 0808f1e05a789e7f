"""Every twin is timed, plain and fast."""

import pytest
import torch
import twins
from operations import Sizes
from timing import Spread

from nmtkit.models import deep_lstm, grconv, layers, rnnsearch
from nmtkit.models.kernels import Twin

TINY = Sizes(3, 4, 5, 6)


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "BATCH": 2,
        "LENGTH": 3,
        "SENTENCES": 2,
        "WORDS": 20,
        "CANDIDATES": 4,
        "FREQUENT_CANDIDATES": 2,
    }.items():
        monkeypatch.setattr(twins, name, value)


def cases() -> list[twins.Case]:
    torch.manual_seed(1)
    return twins.training_cases(TINY) + twins.search_cases(TINY)


def test_each_twin_has_a_case() -> None:
    names = {case.name for case in cases()}
    modules = (layers, rnnsearch, deep_lstm, grconv)
    pairs = {
        name
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Twin)
    }
    assert pairs - {"matmul"} <= names  # addmm is timed for both
    assert len(names) == len(cases()) >= len(pairs)


def test_each_case_runs_both_ways() -> None:
    for case in cases():
        case.plain()
        case.fast()


def test_a_row_has_the_speed_up() -> None:
    case = twins.Case("piece", "[2, 3]", lambda: None, lambda: None)
    times = {"plain": Spread.of([0.003]), "fast": Spread.of([0.001, 0.002, 0.0015])}
    assert twins.row_of(case, times) == ["`piece`", "[2, 3]", "3.00", "1.50", "2.00"]


def test_one_round_times_both() -> None:
    case = twins.Case("piece", "", lambda: None, lambda: None)
    times = twins.measure(case, rounds=2, seconds=0.0)
    assert {name: spread.count for name, spread in times.items()} == {"plain": 2, "fast": 2}
