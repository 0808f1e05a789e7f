"""Probabilities of one prefix at a time, and the hypotheses expected of a search."""

import pytest
import torch

from nmtkit.data.batch import pad
from nmtkit.models.base import log_probs
from nmtkit.search.model_averaging import EQUAL_WEIGHTS
from nmtkit.special_symbols import BOS, EOS

BEAM_MODES = ["shrinking", "bounded"]


class TeacherForcing:
    """The probabilities of the next token, averaged over models, of one prefix at a time.

    The state after each prefix is kept and computed only once.
    """

    def __init__(self, models, source, averaging=EQUAL_WEIGHTS):
        self.averaging = averaging
        self.models = [(model, model.encode(*pad([source]))) for model in models]
        self.steps = {}

    def after(self, prefix):
        """Return each model's step after a prefix, a tuple."""
        if prefix not in self.steps:
            states = (
                [step.state for step in self.after(prefix[:-1])]
                if prefix
                else [model.initial_state(encoded) for model, encoded in self.models]
            )
            prev = torch.tensor([[prefix[-1] if prefix else BOS]])
            self.steps[prefix] = [
                model.step(prev, state, encoded)
                for (model, encoded), state in zip(self.models, states, strict=True)
            ]
        return self.steps[prefix]

    def log_probs(self, prefix):
        """Compute log p of the token after a prefix, a list. Shape: [K]."""
        by_model = [
            log_probs(model.output_layer(), step.readout)[0, 0]
            for (model, _), step in zip(self.models, self.after(tuple(prefix)), strict=True)
        ]
        weights = torch.tensor(self.averaging.weights or [1.0] * len(by_model)).double()
        shares = (weights / weights.sum()).unsqueeze(1)
        if self.averaging.log_linear:
            return (torch.stack(by_model) * shares).sum(0)
        return (torch.stack(by_model).exp() * shares).sum(0).log()


def has_repeats(tokens, size):
    """Return whether an n-gram of this size occurs twice."""
    grams = [tuple(tokens[start : start + size]) for start in range(len(tokens) - size + 1)]
    return len(set(grams)) < len(grams)


def repeats(prefix, word, config):
    """Return whether a word would end an n-gram that the prefix has."""
    size = config.no_repeat_ngram
    grams = [prefix[start : start + size] for start in range(len(prefix) - size + 1)]
    return size > 0 and word != EOS and [*prefix, word][-size:] in grams


def assert_same(actual, expected):
    assert [h.ids for h in actual] == [ids for ids, _ in expected]
    assert [h.score for h in actual] == pytest.approx([score for _, score in expected])
