"""What search gives: a translation as ids, with its scores and its alignment."""

from dataclasses import dataclass

from torch import Tensor

from nmtkit.config import SearchConfig

EOS = 0
"""Id of `</s>` in every vocabulary."""

UNK = 1
"""Id of `<unk>` in every vocabulary."""


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
        """The score over what its length says: what an n-best list is ordered by."""
        return self.score / float(settings.length_divisor(max(len(self.ids), 1)))
