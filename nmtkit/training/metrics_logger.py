"""What a training says of itself: a line for people, JSON lines and TensorBoard for machines."""

import contextlib
import json
import logging
import math
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from tqdm import tqdm

from nmtkit.config import TrainingConfig
from nmtkit.errors import NmtkitError
from nmtkit.io.lines import open_output
from nmtkit.io.safe_json import parse_json
from nmtkit.training.checkpoint import Progress
from nmtkit.training.learning_curve import METRICS, read_curve
from nmtkit.training.sparkline import BLOCKS, course
from nmtkit.training.validation import Validation

log = logging.getLogger("nmtkit")
REPORT = 100  # updates between two reports
PREFIX = len("nmtkit: ")  # what stands before each line of the log


class MetricsLogger:
    """Collects the figures of updates and tells them.

    `metrics.jsonl` has a line each 100 updates (`kind` "training") and each validation
    (`kind` "validation"); costs are natural log.
    """

    def __init__(
        self, folder: Path, config: TrainingConfig, epoch_progress: Any, tensorboard: bool = False
    ) -> None:
        """:param epoch_progress: gives the epochs done so far, as a float."""
        self.path = folder / METRICS
        self.config = config
        self.epoch_progress = epoch_progress
        self.writer = _summary_writer(folder) if tensorboard else None
        hidden = None if log.isEnabledFor(logging.INFO) else True  # None: where no terminal is
        total = config.max_updates or None
        self.bar: Any = tqdm(unit=" updates", disable=hidden, total=total)
        self.last_validation = ""
        self._restart()

    def _restart(self) -> None:
        self.cost, self.tokens, self.norm, self.count = 0.0, 0, 0.0, 0
        self.started = time.monotonic()

    def resumed(self, updates: int) -> None:
        """Forget what was written after the checkpoint from which training goes on."""
        if self.path.exists():
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines(
                keepends=True
            )
            kept = [line for line in lines if _update(line) <= updates]
            with open_output(self.path, force=True) as file:
                file.writelines(kept)
        self.bar.update(updates)

    def updated(self, progress: Progress, cost: float, tokens: int, norm: float) -> None:
        """Take in an update; every hundredth, report the mean since the report before.

        One whose cost or norm is not finite was left out, and is left out here.
        """
        if math.isfinite(cost + norm):
            self.cost += cost
            self.tokens += tokens
            self.norm += norm
            self.count += 1
        self.bar.update(1)
        if progress.updates % REPORT == 0:
            self._report(progress)

    def _report(self, progress: Progress) -> None:
        figures = {
            "epoch": round(self.epoch_progress(), 3),
            "words_per_second": round(self.tokens / (time.monotonic() - self.started)),
            "cost_per_token": round(self.cost / max(self.tokens, 1), 5),
            "gradient_norm": round(self.norm / max(self.count, 1), 5),
            "skipped": progress.skipped,
            "seconds": round(progress.seconds, 1),
        }
        self._write("training", progress.updates, figures)
        text = (
            f"epoch {figures['epoch']:.2f}, {figures['words_per_second']} words/s, "
            f"cost {figures['cost_per_token']:.3f}, norm {figures['gradient_norm']:.2f}"
            f"{self.last_validation}{self._time_left(progress)}"
        )
        self.bar.set_postfix_str(text, refresh=False)
        if self.bar.disable:
            log.info("update %d: %s", progress.updates, text)
        self._restart()

    def _time_left(self, progress: Progress) -> str:
        """To the limit of updates or epochs, at the rate so far; nothing where there is none."""
        limits = []
        if self.config.max_updates:
            limits.append(self.config.max_updates / progress.updates)
        if self.config.max_epochs and self.epoch_progress() > 0:
            limits.append(self.config.max_epochs / self.epoch_progress())
        if not limits:
            return ""
        minutes = progress.seconds * (min(limits) - 1) / 60
        return f", at most {minutes:.1f} min left"

    def validated(self, progress: Progress, found: Validation, better: bool) -> None:
        """Tell a validation's figures."""
        figures = {
            "epoch": round(self.epoch_progress(), 3),
            "dev_cost_per_token": round(found.cost_per_token, 5),
            "dev_cost_per_sentence": round(found.cost_per_sentence, 4),
            "dev_bleu": None if found.bleu is None else round(found.bleu, 3),
            "best": better,
            "decays": progress.decays,
            "seconds": round(progress.seconds, 1),
        }
        self._write("validation", progress.updates, figures)
        bleu = "" if found.bleu is None else f", dev BLEU {found.bleu:.2f}"
        self.last_validation = f", dev cost {found.cost_per_token:.4f}{bleu}"
        log.info(
            "update %d, epoch %.2f: dev cost per token %.4f, per sentence %.3f%s%s",
            progress.updates,
            figures["epoch"],
            found.cost_per_token,
            found.cost_per_sentence,
            bleu,
            " (best)" if better else "",
        )
        self._show_course()
        self._restart()

    def _show_course(self) -> None:
        """Draw how the validations went, where people look on; it is never worth a training."""
        if self.bar.disable or not _draws_blocks(sys.stderr.encoding):
            return
        with contextlib.suppress(NmtkitError):  # a line that somebody else wrote
            points = read_curve(self.path.parent).validation
            text = course(points, shutil.get_terminal_size().columns - PREFIX)
            if text:
                log.info("%s", text)

    def _write(self, kind: str, update: int, figures: dict[str, Any]) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"kind": kind, "update": update, **figures}) + "\n")
        if self.writer is not None:
            for name, value in figures.items():
                if isinstance(value, int | float):
                    self.writer.add_scalar(f"{kind}/{name}", float(value), update)

    def close(self) -> None:
        """End the bar and the TensorBoard file."""
        self.bar.close()
        if self.writer is not None:
            self.writer.close()


class NullMetricsLogger(MetricsLogger):
    """Tells nothing: of the ranks that train together, rank 0 tells what all have done."""

    def __init__(self) -> None:
        pass

    def resumed(self, updates: int) -> None:
        pass

    def updated(self, progress: Progress, cost: float, tokens: int, norm: float) -> None:
        pass

    def validated(self, progress: Progress, found: Validation, better: bool) -> None:
        pass

    def close(self) -> None:
        pass


def _update(line: str) -> float:
    """The update that a line tells of; of one cut short or damaged, one beyond all others."""
    try:
        return int(parse_json(line)["update"])
    except (ValueError, KeyError, TypeError, OverflowError):
        return float("inf")


def _draws_blocks(encoding: str | None) -> bool:
    try:
        BLOCKS.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _summary_writer(folder: Path) -> Any:
    return require_tensorboard()(str(folder / "tensorboard"))


def require_tensorboard() -> Any:
    """TensorBoard's writer.

    :raises NmtkitError: the package is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise NmtkitError(
            "--tensorboard needs the tensorboard package; run: pip install 'nmtkit[tensorboard]'"
        ) from error
    return SummaryWriter
