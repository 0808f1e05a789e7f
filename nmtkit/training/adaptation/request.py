"""What an adaptation was asked for."""

import math
import time as clock
from dataclasses import dataclass
from pathlib import Path

from nmtkit.durations import write_duration
from nmtkit.training.adaptation.fine_tuning import FineTuningSettings
from nmtkit.training.adaptation.folder import adapt_command

FINISH = 0.03
"""Share of the time for the report and for writing the folder."""


@dataclass(frozen=True)
class AdaptationRequest:
    """What an adaptation was asked for; see `adapt.py` for the fields."""

    model: Path
    data: tuple[str | Path, ...]
    output: Path
    guards: tuple[tuple[str | Path, ...], ...]
    seconds: float
    replay: Path | None
    allow_loss: float
    seed: int
    tag: str
    force: bool
    started: float
    settings: FineTuningSettings | None
    updates: int
    params: str | Path

    def left(self) -> float:
        """Return the seconds that are left; with a number of updates, time does not matter."""
        if self.updates:
            return math.inf
        return self.seconds * (1 - FINISH) - (clock.monotonic() - self.started)

    @property
    def command(self) -> str:
        """The command line that does the same."""
        options: dict[str, object] = {"--time": write_duration(self.seconds)}
        options = {"--updates": self.updates} if self.updates else options
        options |= {} if self.replay is None else {"--replay": self.replay}
        options |= {"--allow-loss": f"{self.allow_loss:g}", "--seed": self.seed}
        options |= {"--tag": self.tag} if self.tag else {}
        options |= {} if self.params == "best" else {"--params": self.params}
        return adapt_command(self.model, self.data, self.output, self.guards, options)
