"""What search gives: a translation as ids, with its scores and its alignment."""

from dataclasses import dataclass

import torch
from torch import Tensor

from nmtkit.config import SearchConfig
from nmtkit.errors import ModelError
from nmtkit.search.search_settings import length_divisor


@dataclass(frozen=True)
class Hypothesis:
    """One translation of one sentence.

    ids: its words; the last is `</s>` where it is finished.
    score: log p of all of them together, natural log; the sum of `word_scores`.
    word_scores: log p of each given those before it, natural log.
    finished: False where search ended before `</s>` was chosen.
    alignment: alpha_i for each of `ids`, or None where it was not asked for.
        Shape: [len(ids), T_x].
    """

    ids: list[int]
    score: float
    word_scores: list[float]
    finished: bool
    alignment: Tensor | None = None

    @property
    def words(self) -> list[int]:
        """Its words without `</s>`."""
        return self.ids[:-1] if self.finished else self.ids

    def ranking_score(self, settings: SearchConfig) -> float:
        """The score over what its length says, and its coverage where that counts: what an n-best
        list is ordered by.

        :raises ModelError: coverage counts and the alignment is not known.
        """
        score = self.score / float(length_divisor(settings, max(len(self.ids), 1)))
        if not settings.coverage_penalty:
            return score
        if self.alignment is None:
            raise ModelError("the coverage penalty needs the alignments of translations")
        return score + settings.coverage_penalty * coverage(self.alignment)


def coverage(alignment: Tensor) -> float:
    """How much of the source a translation has looked at, at most 0: sum_j log min(sum_i alpha_ij,
    1) over the source words without `</s>` (Wu et al. 2016, eq. (14); see `coverage.py`).

    :param alignment: alpha_ij, the last column that of `</s>`. Shape: [T_y, T_x].
    """
    looked = alignment[:, :-1].double().sum(0)
    tiny = torch.finfo(torch.float32).tiny  # a finite penalty for a word that was never looked at
    return float(looked.clamp(min=tiny, max=1.0).log().sum())
