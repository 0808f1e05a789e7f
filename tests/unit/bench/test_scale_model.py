"""Each curve varies one size and has an expected curve."""

import pytest
import scale_model
from operations import SMALL, Sizes
from timing import Spread


def test_each_curve_changes_one_thing() -> None:
    usual = scale_model.Setting()
    for name, values in scale_model.POINTS.items():
        for value in values:
            setting = scale_model.setting_of(name, value)
            changed = {key: at for key, at in vars(setting).items() if at != vars(usual)[key]}
            assert len(changed) <= 1
            assert value in (changed or vars(usual) | vars(SMALL)).values() or name.endswith(" n")
    assert scale_model.setting_of("training, n", 64).sizes.hidden == 64


def test_expected_curves() -> None:
    points = {n: Spread.of([seconds]) for n, seconds in ((1, 2.0), (3, 9.0), (5, 4.0))}
    straight = scale_model.expected("translating, beam", points)
    assert straight == [(1, 2e6), (3, 3e6), (5, 4e6)]
    counted = scale_model.expected("training, K", points)
    assert counted[-1][1] == pytest.approx(4e6)
    rise = [counted[1][1] - counted[0][1], counted[2][1] - counted[1][1]]
    assert rise[0] == pytest.approx(rise[1])


@pytest.mark.parametrize("run", [scale_model.train, scale_model.translate])
def test_a_point_is_measured(run) -> None:
    small = scale_model.Setting(Sizes(4, 4, 4, 4), words=20, length=3, beam=2)
    assert 0 < run(small, "cpu") < 1
    batch = scale_model.batch_of(small, 6)
    assert batch.src_mask.all() and batch.tgt.shape == (6, 3)
    assert (batch.tgt[:, -1] == 0).all() and (batch.tgt[:, :-1] > 1).all()
