"""Averages of several models."""

import pytest
import torch

from nmtkit.search.model_averaging import EQUAL_WEIGHTS


def test_an_ensemble_averages_probabilities():
    one, other = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.1, 0.9, 0.0])
    mean = EQUAL_WEIGHTS([one.log(), other.log()]).exp()
    assert mean.tolist() == pytest.approx([0.3, 0.7, 0.0])
