"""Guided attention: links and cost against slow loops, and laws."""

import math
from itertools import product

import pytest
import torch
from torch import Tensor

from nmtkit.data.batch import pad
from nmtkit.models.attention_guide import DIAGONAL_TENSION, MIN_ATTENTION, AttentionGuide
from nmtkit.models.rnnenc import RNNenc, RNNencConfig
from nmtkit.models.rnnsearch import RNNsearch, RNNsearchConfig

SRC_SIZE, TGT_SIZE = 9, 7
SOURCES = [[3, 8, 1, 4, 0], [0], [5, 2, 0], [2, 0]]
TARGETS = [[2, 6, 0], [4, 1, 3, 5, 0], [0], [6, 6, 0]]
STRENGTHS = {(3, 2): 0.9, (8, 2): 0.1, (8, 6): 0.5, (0, 0): 0.7, (5, 0): 0.2, (2, 6): 0.4}


@pytest.fixture
def guide() -> AttentionGuide:
    entries = sorted((x * TGT_SIZE + y, value) for (x, y), value in STRENGTHS.items())
    keys, strengths = zip(*entries, strict=True)
    return AttentionGuide(torch.tensor(keys), torch.tensor(strengths).double(), TGT_SIZE, 0.6)


@pytest.fixture
def batch() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return (*pad(SOURCES), *pad(TARGETS))


def slow_links(source: list[int], target: list[int]) -> list[list[float]]:
    """A_ij of one pair, as the module's docstring says it."""
    rows = []
    for i, y in enumerate(target):
        row = []
        for j, x in enumerate(source):
            distance = abs((i + 0.5) / len(target) - (j + 0.5) / len(source))
            row.append(STRENGTHS.get((x, y), 0.0) * math.exp(-DIAGONAL_TENSION * distance))
        rows.append([value / (sum(row) or 1.0) for value in row])
    return rows


def test_links_are_those_of_slow_loops(
    guide: AttentionGuide, batch: tuple[Tensor, Tensor, Tensor, Tensor]
) -> None:
    links = guide.links(*batch)
    expected = torch.zeros_like(links)
    for number, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        rows = torch.tensor(slow_links(source, target)).double()
        expected[number, : len(target), : len(source)] = rows
    torch.testing.assert_close(links, expected, atol=1e-7, rtol=1e-5)
    sums = links.sum(2)
    assert set(sums.flatten().round(decimals=6).tolist()) == {0.0, 1.0}


def test_the_guide_adds_its_weighted_cross_entropy_in_whatever_order(
    guide: AttentionGuide, batch: tuple[Tensor, Tensor, Tensor, Tensor]
) -> None:
    torch.manual_seed(3)
    model = RNNsearch(RNNsearchConfig(2, 3, 4, 2), SRC_SIZE, TGT_SIZE).double()
    alignment = model.score(*batch).alignment
    assert alignment is not None
    expected = plain = float(model.loss(*batch).detach())
    weight = float(guide.weight)
    for number, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        links = slow_links(source, target)
        for i, j in product(range(len(target)), range(len(source))):
            logarithm = math.log(float(alignment[number, i, j].detach()) + MIN_ATTENTION)
            expected -= weight * links[i][j] * logarithm
    actual = model.loss(*batch, guide=guide)
    assert float(actual.detach()) == pytest.approx(expected, rel=1e-6)
    half = model.loss(*batch, guide=guide._replace(weight=0.3))
    assert float(half.detach()) == pytest.approx((expected + plain) / 2, rel=1e-6)


def test_the_gradient_equals_finite_differences(guide: AttentionGuide) -> None:
    torch.manual_seed(4)
    model = RNNsearch(RNNsearchConfig(2, 3, 4, 2), SRC_SIZE, TGT_SIZE).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)  # far from the edges of the maximum
    batch = (*pad(SOURCES[:3]), *pad(TARGETS[:3]))

    def loss(*_: Tensor) -> Tensor:
        return model.loss(*batch, label_smoothing=0.1, guide=guide)

    assert torch.autograd.gradcheck(loss, tuple(model.parameters()), fast_mode=True)


def test_guided_updates_bring_attention_to_the_links(
    guide: AttentionGuide, batch: tuple[Tensor, Tensor, Tensor, Tensor]
) -> None:
    torch.manual_seed(5)
    model = RNNsearch(RNNsearchConfig(8, 8, 8, 4, initialisation="scaled"), SRC_SIZE, TGT_SIZE)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    guide = guide._replace(strengths=guide.strengths.float())
    for _ in range(150):
        optimizer.zero_grad()
        model.loss(*batch, guide=guide).backward()
        optimizer.step()
    alignment = model.score(*batch).alignment
    assert alignment is not None
    assert alignment[0, 0, 0] > 0.8 and alignment[0, 1, 1] > 0.8  # 3 - 2, 8 - 6


def test_a_model_without_attention_is_not_changed(
    guide: AttentionGuide, batch: tuple[Tensor, Tensor, Tensor, Tensor]
) -> None:
    model = RNNenc(RNNencConfig(2, 3, 2), SRC_SIZE, TGT_SIZE)
    assert not model.has_attention
    assert torch.equal(model.loss(*batch, guide=guide), model.loss(*batch))
