"""The figures that a trainer has written."""

from tests import training_metrics


def metrics(trainer):
    """Return the lines of metrics.jsonl without times."""
    return training_metrics.metrics(trainer.folder)
