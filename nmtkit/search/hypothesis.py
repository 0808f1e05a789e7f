"""A translation as ids, with its scores and its alignment."""

from dataclasses import dataclass

import torch
from torch import Tensor

from nmtkit.config import SearchConfig
from nmtkit.errors import ModelError
from nmtkit.search.search_settings import length_divisor


@dataclass(frozen=True)
class Hypothesis:
    """One translation of one sentence.

    ids: its tokens; the last is `</s>` if it is finished.
    score: log p of the translation, natural log; the sum of `word_scores`.
    word_scores: log p of each token given the tokens before it, natural log.
    finished: False if search ended before `</s>` was chosen.
    alignment: alpha_i for each of `ids`, or None if it was not requested.
        Shape: [len(ids), T_x].
    credit: added to log p for the ranking, because of the terms that it has.
    evidence: what the models predict where its tokens stand, if it was requested: log p, that of
        the best other token, entropy, and the spread of log p between models. Shape:
        [len(ids), 4]. Then the first model's attention, or None. Shape: [len(ids), T_x].
    """

    ids: list[int]
    score: float
    word_scores: list[float]
    finished: bool
    alignment: Tensor | None = None
    credit: float = 0.0
    evidence: tuple[Tensor, Tensor | None] | None = None

    @property
    def words(self) -> list[int]:
        """Its ids without `</s>`."""
        return self.ids[:-1] if self.finished else self.ids

    def ranking_score(self, settings: SearchConfig) -> float:
        """Return the score by which search ranks hypotheses.

        An n-best list is sorted by it, unless names, symbols of markup or terms come first. It is
        log p divided by the length penalty; for a coverage penalty see `coverage.py`.

        :raises ModelError: the settings have a coverage penalty, but there is no alignment.
        """
        divisor = float(length_divisor(settings, max(len(self.ids), 1)))  # lp(Y)
        score = self.score + self.credit
        if not settings.coverage_penalty:
            return score / divisor
        if self.alignment is None:
            raise ModelError("the coverage penalty needs the alignments of translations")
        penalty = settings.coverage_penalty * coverage(self.alignment)
        if settings.penalty == "wu":
            return score / divisor + penalty
        return (score + penalty) / divisor


def coverage(alignment: Tensor) -> float:
    """Compute cp = sum_j log min(sum_i alpha_ij, 1) over source words, at most 0.

    Wu et al. 2016, eq. (14); see `coverage.py`.

    :param alignment: alpha_ij; its last column, of `</s>`, is left out. Shape: [T_y, T_x].
    """
    attention = alignment[:, :-1].double().sum(0)  # [T_x - 1]
    tiny = torch.finfo(torch.float32).tiny  # keeps the penalty of an unattended word finite
    return float(attention.clamp(min=tiny, max=1.0).log().sum())
