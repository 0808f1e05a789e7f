"""The law of the dev cost follows what was measured."""

import dataclasses
import math
import statistics

from nmtkit.training.plan import Plan, useful_sizes
from nmtkit.training.scaling_law import SIZES
from tests.unit.training.corpus_figures import SMALL

SHORT_TRAININGS = {
    333_000: [(96, 985_000, 2.617), (128, 932_000, 2.515), (192, 613_000, 2.766)],
    372_000: [(96, 1_062_000, 3.033), (192, 588_000, 3.177), (192, 557_000, 3.220)],
    346_000: [(96, 924_000, 2.550), (128, 811_000, 2.544), (192, 601_000, 2.711)],
    662_000: [(128, 2_342_000, 2.115), (192, 1_681_000, 2.085), (256, 1_243_000, 2.182)],
}
"""Measured: size, target tokens and dev cost of trainings of two and five minutes, by the tokens of
an epoch: help texts in Russian, Turkish, Chinese and German."""


def test_the_law_follows_the_dev_costs_of_the_first_minutes() -> None:
    """Without its last term the root mean square of the errors was 0.066."""
    errors: list[float] = []
    for tgt_tokens, trainings in SHORT_TRAININGS.items():
        figures = SMALL._replace(tgt_tokens=tgt_tokens)
        rests = [cost - Plan(n, seen, figures).expected_cost for n, seen, cost in trainings]
        errors += [rest - statistics.fmean(rests) for rest in rests]
    assert math.sqrt(statistics.fmean(error**2 for error in errors)) < 0.03


def test_repeated_epochs_count_less_and_less() -> None:
    costs = [Plan(256, epochs * 450_000, SMALL).expected_cost for epochs in (1, 2, 4, 50, 100)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] - costs[1] > costs[3] - costs[4]
    larger = dataclasses.replace(Plan(256, 9e6, SMALL), figures=SMALL._replace(tgt_tokens=10**8))
    assert larger.expected_cost < Plan(256, 9e6, SMALL).expected_cost  # new text teaches more


def test_a_small_corpus_takes_no_large_model() -> None:
    """As measured on 29,000 pairs, where 256 units are ahead of 512."""
    assert useful_sizes(SMALL)[-1] == 256
    largest = [useful_sizes(SMALL._replace(tgt_tokens=10**n))[-1] for n in range(4, 11)]
    assert largest == sorted(largest) and largest[0] == SIZES[0] and largest[-1] == SIZES[-1]
