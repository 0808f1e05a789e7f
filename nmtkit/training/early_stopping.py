"""Early stopping and learning rate decay by validation, as counters in `Progress`."""

import dataclasses
import logging
import math

from nmtkit.config import TrainingConfig
from nmtkit.training.progress import Progress
from nmtkit.training.validation import Validation

log = logging.getLogger("nmtkit")


def update_early_stopping(
    progress: Progress, validation: Validation, config: TrainingConfig
) -> Progress:
    """Return the progress after a validation: best figures, patience and learning rate decay."""
    cost = validation.cost_per_token
    figure = cost
    if config.early_stopping_metric == "bleu" and validation.bleu is not None:
        figure = -validation.bleu
    elif config.early_stopping_metric == "chrf" and validation.chrf is not None:
        figure = -validation.chrf
    is_best = _is_lower(figure, progress.best)
    is_best_cost = _is_lower(cost, progress.best_cost)
    stale_cost = 0 if is_best_cost else progress.stale_cost + 1
    decays = progress.decays
    if config.lr_decay_patience and stale_cost >= config.lr_decay_patience:
        decays, stale_cost = decays + 1, 0
        log.info("learning rate multiplied by %g from now on", config.lr_decay)
    return dataclasses.replace(
        progress,
        best=figure if is_best else progress.best,
        best_cost=cost if is_best_cost else progress.best_cost,
        stale=0 if is_best else progress.stale + 1,
        stale_cost=stale_cost,
        decays=decays,
    )


def _is_lower(figure: float, best: float | None) -> bool:
    """Return whether a figure is the lowest so far; NaN never is."""
    return not math.isnan(figure) and (best is None or figure < best)
