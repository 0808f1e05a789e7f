"""Progress of a training, as checkpoints hold it."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from nmtkit.data.batching import Position


@dataclass(frozen=True)
class Progress:
    """Progress of a training. The names of the fields are those in `state.json`.

    updates: number of updates so far. position: position of the next batch in the data.
    decays: number of learning rate decays by validation.
    best: best early stopping metric, None before the first validation; lower is better (BLEU is
        negated).
    best_cost: lowest dev cost per token.
    stale: number of validations since `best`.
    stale_cost: number of validations since `best_cost`, or since the last decay.
    seconds: time of the training, over all runs; starting and validations count.
    skipped: updates that were skipped because cost or gradient was not finite.
    skipped_in_a_row: number of consecutive skipped updates up to now.
    corpus, dev: checksums of the training data and of the dev set.
    best_parameters: checksum of the tensors in `params.best.safetensors`.
    earlier: checksum of the earlier checkpoints that the next validation averages; "" if none.
    metrics: checksum of `metrics.jsonl`.
    Checksums are "" in checkpoints of nmtkit 0.1.
    """

    updates: int = 0
    position: Position = field(default_factory=Position)
    decays: int = 0
    best: float | None = None
    best_cost: float | None = None
    stale: int = 0
    stale_cost: int = 0
    seconds: float = 0.0
    skipped: int = 0
    skipped_in_a_row: int = 0
    corpus: str = ""
    dev: str = ""
    best_parameters: str = ""
    earlier: str = ""
    metrics: str = ""


def parse_progress(table: dict[str, Any]) -> Progress:
    """Parse the progress in a `state.json`.

    :raises ValueError, TypeError, KeyError: a field is missing, unknown or has a wrong type.
    """
    position = Position(**table.pop("position"))
    progress = Progress(position=position, **table)
    for part in (position, progress):
        for field_ in dataclasses.fields(part):
            value = getattr(part, field_.name)
            if field_.type is int and not (type(value) is int and 0 <= value < 1 << 62):
                raise ValueError(f"{field_.name} is {value!r}")
            if field_.type is str and type(value) is not str:
                raise ValueError(f"{field_.name} is {value!r}")
            optional = field_.type == float | None
            if (field_.type is float or optional) and type(value) not in (float, int):
                if value is not None or not optional:
                    raise ValueError(f"{field_.name} is {value!r}")
    return progress
