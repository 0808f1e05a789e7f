"""What a training tells someone who watches it: its figures, and translations of the dev set."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nmtkit.config import Config


@dataclass(frozen=True)
class DevSample:
    """A sentence of the dev set and its translation by the model so far, as text."""

    source: str
    reference: str
    translation: str


class TrainingWatcher(Protocol):
    """Watches a training; called on the main process only."""

    def start(self, folder: Path, config: Config, plan: Sequence[str]) -> None:
        """Take note of the model folder and the settings, before the first update.

        :param plan: sentences of the plan that the settings follow from; none without a plan.
        """

    def metrics_written(self) -> None:
        """Take note that `metrics.jsonl` in the model folder has grown."""

    def validated(self, update: int, samples: Sequence[DevSample]) -> None:
        """Take note of translations of the dev set, a few sentences, always the same ones."""

    def finish(self, interrupted: bool) -> None:
        """Take note that the training has ended.

        :param interrupted: it was stopped by a signal or an error, before its end.
        """
