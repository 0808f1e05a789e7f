"""Run an unmodified training program and record when each update ended.

    python timed.py RECORD UPDATES MODULE:FUNCTION [ARGUMENT ...]

Runs in the environment of the measured program and needs only torch: it takes the time after each
optimizer step and counts the target words that the cross-entropy scores (without padding, with
`</s>`). After UPDATES updates it writes the record and ends the process, before validation and
saving. nmtkit has its own loss and optimizer steps and is timed at the end of `Trainer.update`.

RECORD gets {"updates": [[seconds, CPU seconds, words so far], ...], "peak": bytes}.
"""

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import torch


class Recorder:
    """Records the clock after each update of one training."""

    def __init__(self, path: str, updates: int) -> None:
        self.path = path
        self.max_updates = updates
        self.words = 0
        self.readings: list[tuple[float, float, int]] = []

    def updated(self) -> None:
        """Take the time; after the last update, end the process."""
        self.readings.append((time.perf_counter(), time.process_time(), self.words))
        if len(self.readings) == self.max_updates:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            with open(self.path, "w", encoding="utf-8") as file:
                json.dump({"updates": self.readings, "peak": peak}, file)
            sys.stdout.flush()
            os._exit(0)

    def counting(self, cost: Callable[..., Any]) -> Callable[..., Any]:
        """Return a cross-entropy that counts the targets that it does not ignore."""

        def counted(*args: Any, **kwargs: Any) -> Any:
            target = args[1] if len(args) > 1 else kwargs["target"]
            ignored = kwargs.get("ignore_index", -100)
            self.words += int((target != ignored).sum())
            return cost(*args, **kwargs)

        return counted


def watch_torch(recorder: Recorder) -> None:
    """Record each loss and each optimizer step of torch."""
    functional = torch.nn.functional
    for name in ("cross_entropy", "nll_loss"):
        setattr(functional, name, recorder.counting(getattr(functional, name)))
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(lambda *_: recorder.updated())


def watch_nmtkit(recorder: Recorder) -> None:
    """Record each update of nmtkit."""
    training = importlib.import_module("nmtkit.training.trainer").Trainer
    update = training.update

    def watched(self: Any) -> Any:
        result = update(self)
        recorder.words += result.tokens
        recorder.updated()
        return result

    training.update = watched


def main() -> None:
    """Install the watch, then run the program with the remaining arguments."""
    path, updates, program, *arguments = sys.argv[1:]
    module, _, function = program.partition(":")
    sys.argv = [module, *arguments]
    recorder = Recorder(path, int(updates))
    if module.startswith("nmtkit."):
        watch_nmtkit(recorder)
    else:
        watch_torch(recorder)
    getattr(importlib.import_module(module), function)()
    sys.exit(f"the program ended after {len(recorder.readings)} of {updates} updates")


if __name__ == "__main__":
    main()
