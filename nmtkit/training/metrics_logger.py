"""Metrics of a training: log lines and a progress bar, `metrics.jsonl`, and TensorBoard files."""

import contextlib
import hashlib
import json
import logging
import math
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nmtkit.config import TrainingConfig
from nmtkit.errors import NmtkitError, OutputError
from nmtkit.extras import install_command
from nmtkit.io.lines import open_output
from nmtkit.io.safe_json import parse_json
from nmtkit.progress_bar import Field, ProgressBar, can_encode, clock, shows_progress
from nmtkit.training.learning_curve import METRICS_FILE, read_curve, read_metrics
from nmtkit.training.progress import Progress
from nmtkit.training.sparkline import BLOCKS, validation_sparklines
from nmtkit.training.time_left import last_update, seconds_left
from nmtkit.training.validation import Validation

log = logging.getLogger("nmtkit")
LOG_EVERY = 100  # updates
TIMES = ("seconds", "words_per_second")
MIN_MEAN = 10
"""Updates over which a cost is at least averaged for the progress bar, but for the first ones."""
LOG_PREFIX_WIDTH = len("nmtkit: ")


class MetricsLogger:
    """Logs the means of the figures of updates, and the figures of validations.

    `metrics.jsonl` gets a line every 100 updates (`kind` "training") and at every validation
    (`kind` "validation"); costs are in natural log.
    """

    def __init__(
        self,
        folder: Path,
        config: TrainingConfig,
        epoch_progress: Callable[[], float],
        tensorboard: bool = False,
        check_lock: Callable[[], None] = lambda: None,
    ) -> None:
        """Open the progress bar.

        :param epoch_progress: returns the number of epochs so far, as a float.
        :param tensorboard: also write TensorBoard files, from the first figures on: their writer
            has a thread, with which no more processes could be forked for the parts of batches.
        :param check_lock: called before each write; raises ModelError if the folder is no longer
            the one that is locked.
        """
        self.path = folder / METRICS_FILE
        self.config = config
        self.epoch_progress = epoch_progress
        self.check_lock = check_lock
        self.tensorboard = tensorboard
        self.writer: Any = None
        self.bar = ProgressBar("train", "updates", fields=self._fields)
        self.bar.__enter__()
        self.shown = Progress()
        self.last_cost: float | None = None
        self.last_validation = ""
        self.dev_score = _dev_score(config)
        self.on_write: Callable[[], None] = lambda: None
        self._begin_mean()

    def _begin_mean(self) -> None:
        """Set the sums to 0, and the start time of the next mean."""
        self.cost, self.tokens, self.norm, self.count = 0.0, 0, 0.0, 0
        self.started = time.monotonic()

    def _reset(self) -> None:
        """Begin the next mean; the progress bar has the cost of this one until it has updates."""
        self.last_cost = self._shown_cost()
        self._begin_mean()

    def _shown_cost(self) -> float | None:
        """Return the mean cost of the last updates; None before the first."""
        if self.tokens and (self.count >= MIN_MEAN or self.last_cost is None):
            return self.cost / self.tokens
        return self.last_cost

    def resume(self, progress: Progress) -> None:
        """Remove lines of `metrics.jsonl` that are later than the checkpoint.

        Warn if the others are not those that were there when the checkpoint was written.

        :param progress: progress in the checkpoint; `Progress()` without one.
        """
        self.check_lock()
        if self.path.exists():
            text = read_metrics(self.path).decode("utf-8", errors="replace")
            lines = [f"{line}\n" for line in text.split("\n")]  # the last is empty, or cut short
            kept_lines = [line for line in lines if _update_number(line) <= progress.updates]
            with open_output(self.path, force=True) as file:
                file.writelines(kept_lines)
        if progress.metrics not in ("", self.checksum()):
            log.warning(
                "%s: has changed since update %d was saved, so its figures up to there may be"
                " incomplete; the training itself goes on exactly",
                self.path,
                progress.updates,
            )
        self.shown = progress
        self._show_last_figures()

    def _show_last_figures(self) -> None:
        """Show the figures of `metrics.jsonl` until there are new ones; errors stop nothing."""
        with contextlib.suppress(NmtkitError):
            curve = read_curve(self.path.parent)
            for update in curve.training[-1:]:
                self.last_cost = update.cost_per_token
            for last in curve.validation[-1:]:
                self._show_validation(last.bleu, last.chrf, last.cost_per_token)

    def _show_validation(self, bleu: float | None, chrf: float | None, cost: float) -> None:
        """Show figures of the dev set in the log and the progress bar until the next validation."""
        self.last_validation = f", dev cost {cost:.4f}{_dev_metrics(bleu, chrf)}"
        self.dev_score = _dev_score(self.config, bleu, chrf, cost)

    def checksum(self) -> str:
        """Return the SHA-256 of `metrics.jsonl` without times; "" if it is missing or empty."""
        content = read_metrics(self.path) if self.path.exists() else b""
        lines = [_without_times(line) for line in content.decode("utf-8", "replace").splitlines()]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest() if lines else ""

    def log_update(self, progress: Progress, cost: float, tokens: int, norm: float) -> None:
        """Add an update to the mean, and log the mean every 100 updates.

        Skipped updates, whose cost or norm is not finite, do not count in the mean.
        """
        if math.isfinite(cost + norm):
            self.cost += cost
            self.tokens += tokens
            self.norm += norm
            self.count += 1
        self.shown = progress
        if progress.updates % LOG_EVERY == 0:
            self._log_mean(progress)

    def _log_mean(self, progress: Progress) -> None:
        """Log the mean of the updates since the last one; NaN if all of them were skipped."""
        mean_cost = self.cost / self.tokens if self.count else math.nan
        mean_norm = self.norm / self.count if self.count else math.nan
        figures = {
            "epoch": round(self.epoch_progress(), 3),
            "words_per_second": round(self.tokens / max(time.monotonic() - self.started, 1e-6)),
            "cost_per_token": round(mean_cost, 5),
            "gradient_norm": round(mean_norm, 5),
            "skipped": progress.skipped,
            "seconds": round(progress.seconds, 1),
        }
        self._write("training", progress.updates, figures)
        if not shows_progress():
            seconds = self._seconds_left(progress)
            left = "" if seconds is None else f", at most {seconds / 60:.1f} min left"
            log.info(
                "update %d: epoch %.2f, %d words/s, cost %.3f, norm %.2f%s%s",
                progress.updates,
                figures["epoch"],
                figures["words_per_second"],
                figures["cost_per_token"],
                figures["gradient_norm"],
                self.last_validation,
                left,
            )
        self._reset()

    def _fields(self) -> list[Field]:
        """Return what the progress bar shows: cost, dev score and time left always."""
        progress, of_total = self.shown, ""
        if end := last_update(self.config):
            of_total = f" of {end:,}"
        fields = [
            Field(f"update {progress.updates:,}{of_total}", 2),
            Field(f"epoch {self.epoch_progress():.2f}", 3),
        ]
        if self.tokens:
            rate = self.tokens / max(time.monotonic() - self.started, 1e-6)
            fields.append(Field(f"{rate:,.0f} words/s", 1))
        if (cost := self._shown_cost()) is not None:
            fields.append(Field(f"cost {cost:.3f}", 5))
        fields.append(Field(self.dev_score, 6))
        seconds = self._seconds_left(progress) if progress.updates else None
        if seconds is not None:
            fields.append(Field(f"{clock(seconds)} left", 4))
        return fields

    def _seconds_left(self, progress: Progress) -> float | None:
        """Return the seconds left until the first limit is reached, or None without a limit."""
        epochs = self.epoch_progress()
        return seconds_left(self.config, progress.seconds, progress.updates, epochs)

    def log_validation(self, progress: Progress, validation: Validation, is_best: bool) -> None:
        """Log the figures of a validation, and draw sparklines of all validations."""
        figures = {
            "epoch": round(self.epoch_progress(), 3),
            "dev_cost_per_token": round(validation.cost_per_token, 5),
            "dev_cost_per_sentence": round(validation.cost_per_sentence, 4),
            "dev_bleu": None if validation.bleu is None else round(validation.bleu, 3),
            **({} if validation.chrf is None else {"dev_chrf": round(validation.chrf, 3)}),
            "best": is_best,
            "decays": progress.decays,
            "seconds": round(progress.seconds, 1),
        }
        self._write("validation", progress.updates, figures)
        self._show_validation(validation.bleu, validation.chrf, validation.cost_per_token)
        log.info(
            "update %d, epoch %.2f: dev cost per token %.4f, per sentence %.3f%s%s",
            progress.updates,
            figures["epoch"],
            validation.cost_per_token,
            validation.cost_per_sentence,
            _dev_metrics(validation.bleu, validation.chrf),
            " (best)" if is_best else "",
        )
        self._draw_sparklines()
        self._reset()

    def _draw_sparklines(self) -> None:
        """Draw sparklines of the validations on a terminal; errors never stop a training."""
        if not shows_progress() or not can_encode(BLOCKS):
            return
        with contextlib.suppress(NmtkitError):  # metrics.jsonl may have invalid lines
            points = read_curve(self.path.parent).validation
            text = validation_sparklines(
                points, shutil.get_terminal_size().columns - LOG_PREFIX_WIDTH
            )
            if text:
                log.info("%s", text)

    def _write(self, kind: str, update: int, figures: dict[str, Any]) -> None:
        """Append a line to `metrics.jsonl`, and the same figures to the TensorBoard file.

        :raises OutputError: the line cannot be written.
        """
        self.check_lock()
        try:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps({"kind": kind, "update": update, **figures}) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:  # that of a full disk names no file
            raise OutputError(f"{self.path}: cannot be written: {error.strerror}") from error
        if self.tensorboard:
            self.writer = self.writer or _summary_writer(self.path.parent)
            for name, value in figures.items():
                if isinstance(value, int | float):
                    self.writer.add_scalar(f"{kind}/{name}", float(value), update)
        self.on_write()

    def close(self) -> None:
        """Close the progress bar and the TensorBoard file."""
        self.bar.close()
        if self.writer is not None:
            self.writer.close()


class NullMetricsLogger(MetricsLogger):
    """Logs nothing; used on all ranks but rank 0."""

    def __init__(self) -> None:
        """Do nothing."""

    def resume(self, progress: Progress) -> None:
        """Do nothing."""

    def checksum(self) -> str:
        """Return an empty checksum."""
        return ""

    def log_update(self, progress: Progress, cost: float, tokens: int, norm: float) -> None:
        """Do nothing."""

    def log_validation(self, progress: Progress, validation: Validation, is_best: bool) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def _dev_score(
    config: TrainingConfig,
    bleu: float | None = None,
    chrf: float | None = None,
    cost: float | None = None,
) -> str:
    """Return the figure of the last validation that the progress bar shows.

    It is BLEU, else chrF, else the cost, whatever the settings measure; '-' before the first.
    """
    if config.dev_bleu or bleu is not None:
        return "dev BLEU -" if bleu is None else f"dev BLEU {bleu:.2f}"
    if chrf is not None:
        return f"dev chrF {chrf:.2f}"
    return "dev cost -" if cost is None else f"dev cost {cost:.4f}"


def _dev_metrics(bleu: float | None, chrf: float | None) -> str:
    """Return the measured ones of the dev set's metrics, each after a comma."""
    chrf_text = "" if chrf is None else f", dev chrF {chrf:.2f}"
    return chrf_text + ("" if bleu is None else f", dev BLEU {bleu:.2f}")


def _update_number(line: str) -> float:
    """Return the number of updates in a line of `metrics.jsonl`; infinity for a damaged line."""
    try:
        return int(parse_json(line)["update"])
    except (ValueError, KeyError, TypeError, OverflowError):
        return float("inf")


def _without_times(line: str) -> str:
    """Return a line of `metrics.jsonl` without the figures that differ from run to run."""
    try:
        row = parse_json(line)
        return json.dumps({key: row[key] for key in row if key not in TIMES})
    except (ValueError, TypeError):
        return line


def _summary_writer(folder: Path) -> Any:
    """Open the TensorBoard files of a model folder."""
    return require_tensorboard()(str(folder / "tensorboard"))


def require_tensorboard() -> Any:
    """Return the class of TensorBoard's writer.

    :raises NmtkitError: the package tensorboard is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise NmtkitError(
            "--tensorboard needs the tensorboard package; run: " + install_command("tensorboard")
        ) from error
    return SummaryWriter
