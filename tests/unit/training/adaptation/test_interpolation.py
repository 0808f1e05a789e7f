"""The point between old and new parameters."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.training.adaptation.interpolation import (
    MIN_POINT,
    SAFETY,
    MeasuredPoint,
    interpolate,
    next_point,
    search_point,
)


def always():
    return True


def test_the_ends_are_the_old_and_the_new_parameters():
    old, new = {"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([3.0, 6.0])}
    assert interpolate(old, new, 0)["w"].equal(old["w"])
    assert interpolate(old, new, 1)["w"].equal(new["w"])
    assert interpolate(old, new, 0.5)["w"].equal(torch.tensor([2.0, 4.0]))


@pytest.mark.parametrize("peak", [1.0, 0.7, 0.4])
def test_the_best_point_is_near_the_peak_if_nothing_is_lost(peak):
    best = search_point(lambda a: MeasuredPoint(a, 10 - 10 * (a - peak) ** 2, 0.0), 1.0, always)
    assert abs(best.point - peak) < 0.2


@pytest.mark.parametrize("loss", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("power", [1, 2])
def test_the_loss_at_the_point_is_allowed(loss, power):
    """The gain rises with the point, and so does the loss."""
    best = search_point(lambda a: MeasuredPoint(a, 10 * a, loss * a**power), SAFETY, always)
    assert best.loss <= SAFETY
    assert best.point == 1.0 or best.loss > 0.2 * SAFETY or best.point < 2 * MIN_POINT


@pytest.mark.parametrize("power", [1, 2, 3, 4])
@pytest.mark.parametrize("loss", [1.0, 1.7, 4.0])
def test_three_points_find_most_of_the_gain(loss, power):
    """There is time for about three; what is won grows with the point."""
    tried = []

    def measure(point):
        tried.append(point)
        return MeasuredPoint(point, 10 * point, loss * point**power)

    best = search_point(measure, SAFETY, lambda: len(tried) < 3)
    assert best.loss <= SAFETY
    assert best.point >= 0.8 * min(1.0, (SAFETY / loss) ** (1 / power))


@pytest.mark.parametrize("allowed", [0.0, 0.001])
def test_the_smallest_point_is_tried_before_giving_up(allowed):
    tried = []

    def measure(point):
        tried.append(point)
        return MeasuredPoint(point, 5.0 * point, 0.0 if point < 0.2 else 8.0 * point)

    assert search_point(measure, allowed, always).loss == 0.0
    assert tried[:2] == [1.0, MIN_POINT]


def test_the_smallest_loss_is_returned_if_none_is_allowed():
    best = search_point(lambda a: MeasuredPoint(a, 1.0, 5.0 + a), 1.0, always)
    assert best.loss > 1.0 and best.point < 0.5


def test_a_loss_is_not_made_good_by_a_smaller_gain():
    """A point that wins 5 and loses 0.6 is worth less than one that wins 4.9 and loses nothing."""
    measured = {
        1.0: MeasuredPoint(1.0, 5.0, 0.6),
        0.75: MeasuredPoint(0.75, 4.9, -0.3),
        0.562: MeasuredPoint(0.562, 3, -0.3),
    }
    assert search_point(measured.__getitem__, 1.0, always) == measured[0.75]


@given(st.lists(st.tuples(st.floats(0, 50), st.floats(-2, 5)), min_size=1, max_size=20))
def test_no_point_is_measured_twice_whatever_is_measured(
    figures: list[tuple[float, float]],
) -> None:
    """A point between two others that was safe but no better was tried again for ever."""
    tried: list[float] = []

    def measure(point: float) -> MeasuredPoint:
        tried.append(point)
        return MeasuredPoint(point, *figures[len(tried) % len(figures)])

    search_point(measure, 1.0, lambda: len(tried) < 100)
    assert len(set(tried)) == len(tried) < 20


def test_only_one_point_is_measured_without_time():
    measured = []

    def measure(point):
        measured.append(point)
        return MeasuredPoint(point, 1.0, 9.0)

    assert search_point(measure, 1.0, lambda: False).point == 1.0
    assert measured == [1.0]


SAFE = 0.7


@given(st.floats(1.001, 50))
def test_the_point_after_a_loss_that_is_too_large_uses_most_of_what_is_allowed(
    ratio: float,
) -> None:
    """The loss grows with the third power, from the given multiple of what is safe at 1."""
    loss = ratio * SAFE
    point = next_point([MeasuredPoint(1.0, 5.0, loss)], SAFE)
    assert point is not None and 0.5 * SAFE <= loss * point**3 <= SAFE


@given(st.floats(1.001, 90), st.lists(st.floats(0, 30), min_size=30, max_size=30))
def test_nothing_below_a_safe_point_is_tried_once_the_loss_is_bracketed(
    ratio: float, gains: list[float]
) -> None:
    measured: list[MeasuredPoint] = []

    def measure(point: float) -> MeasuredPoint:
        measured.append(MeasuredPoint(point, gains[len(measured)], ratio * SAFE * point**2))
        return measured[-1]

    search_point(measure, SAFE, lambda: len(measured) < 30)
    first = next((n for n, m in enumerate(measured) if m.loss <= SAFE), len(measured))
    assert all(m.point > measured[first].point for m in measured[first + 1 :])


@given(st.floats(0, 50), st.floats(-5, 5))
def test_what_a_guard_wins_makes_no_point_better(gain: float, loss: float) -> None:
    value = MeasuredPoint(0.5, gain, loss).value
    assert value == (gain if loss <= 0 else gain - loss)
