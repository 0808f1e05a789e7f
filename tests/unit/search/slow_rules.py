"""What may follow a hypothesis, from its state alone: an oracle."""

import torch

from nmtkit.search.constraint_states import AllowedTokens, ConstraintState
from nmtkit.search.constraints import ConstrainedSentence


def slow_rule(
    sentence: ConstrainedSentence, state: ConstraintState, tokens_left: int
) -> AllowedTokens:
    """Return what may follow a hypothesis.

    :param tokens_left: how many tokens it may still have, `</s>` counted.
    """
    view = sentence.view(state)
    if tokens_left > view.needed:
        return view.rule
    steps = [step.token for step in sentence.steps(state) if step.is_urgent]
    if steps:
        return AllowedTokens(torch.tensor(sorted(steps)), may_end=False)
    if sentence.must_close(state):
        return view.rule._replace(only=sentence.boundaries.closing, goes_on=None)
    return view.rule
