"""Fit the law by which `nmtkit train --time` chooses a size (`nmtkit/training/scaling_law.py`).

    python bench/plan.py MODEL... [--output FILE]

MODEL are folders of finished trainings, such as those that `bench/race.py` leaves in its
`--work`: of several sizes, times and corpora. Each gives its size n, the target tokens D that it
was trained on, and its last dev cost. With a cost E for each corpus,

    cost = E + A / n^a + B / D^b + C / D^c

is fitted by least squares: for each a, b and number of epochs of use, the rest is linear. c stays
as it is, and C is 0 where the trainings are too long to tell it.
"""

import argparse
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from timing import BenchError, exit_with, table, write_report

EXPONENTS = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.2, 1.5]
EPOCHS = [3.0, 5.0, 8.0, 12.0, 15.0, 20.0, 40.0]
"""Values to try for a and b, and for the epochs after which a repeated token teaches 1 / e."""


@dataclass(frozen=True)
class Training:
    """A finished training.

    corpus: checksum of its data. tokens: target tokens of an epoch. epochs: of the training.
    """

    folder: Path
    corpus: str
    size: int
    tokens: int
    epochs: float
    cost: float

    def useful(self, epochs_of_use: float) -> float:
        """Return millions of target tokens, repeated ones counted less and less."""
        repeats = max(self.epochs - 1, 0.0)
        counted = min(self.epochs, 1.0) + epochs_of_use * -math.expm1(-repeats / epochs_of_use)
        return self.tokens * counted / 1e6


class Fit(NamedTuple):
    """Constants of the law, its largest error, and the mean square of its errors."""

    a: float
    b: float
    epochs_of_use: float
    size_factor: float
    data_factor: float
    start_factor: float
    worst: float
    error: float


def read_training(folder: Path) -> Training:
    """Read a model folder.

    :raises BenchError: it was never validated, or its training data is gone.
    """
    from nmtkit.data.corpus import Corpus
    from nmtkit.model_folder import read_config, read_vocabularies
    from nmtkit.training.adaptation.replay import recorded_data
    from nmtkit.training.learning_curve import read_curve
    from nmtkit.training.plan import FILLED

    config, validation = read_config(folder), read_curve(folder).validation
    if not validation:
        raise BenchError(f"{folder}: has no validation, and so no dev cost")
    last, prepared = validation[-1], recorded_data(folder)
    if prepared is None:
        raise BenchError(f"{folder}: its training data is gone, or was changed")
    corpus = Corpus.open(prepared, "train", read_vocabularies(folder), config.data.sides)
    tokens = len(corpus.tgt.ids)
    size, cost, epochs = config.model.hidden, last.cost_per_token, last.epoch
    if config.training.curriculum_updates:
        # Epochs of the short sentences alone are counted there as whole ones.
        epochs = FILLED * config.data.batch_size * last.update / tokens
    return Training(folder, corpus.checksum, size, tokens, epochs, cost)


def fit(trainings: Sequence[Training]) -> Fit:
    """Return the best constants of a grid.

    :raises BenchError: there are too few trainings, or they contradict the law.
    """
    corpora = sorted({training.corpus for training in trainings})
    costs = np.array([training.cost for training in trainings], np.float64)
    least = 4 + len(corpora)  # one more than there are factors and costs E
    if len(trainings) < least:
        raise BenchError(f"{len(trainings)} trainings do not tell the law; give at least {least}")
    own = np.array([[t.corpus == corpus for corpus in corpora] for t in trainings], np.float64)
    from nmtkit.training.scaling_law import START_EXPONENT

    fits = []
    for a, b, epochs in itertools.product(EXPONENTS, EXPONENTS, EPOCHS):
        sizes = np.array([t.size**-a for t in trainings], np.float64)
        data = np.array([t.useful(epochs) ** -b for t in trainings], np.float64)
        start = np.array([t.useful(epochs) ** -START_EXPONENT for t in trainings], np.float64)
        for terms in ([sizes, data, start], [sizes, data]):
            columns: npt.NDArray[np.float64] = np.column_stack([*terms, own])
            factors = _least_squares(columns, costs)
            errors: npt.NDArray[np.float64] = columns @ factors - costs
            worst, error = float(np.abs(errors).max()), float((errors**2).mean())
            first = float(factors[2]) if len(terms) == 3 else 0.0
            known = float(factors[0]), float(factors[1]), first
            fits.append(Fit(a, b, epochs, *known, worst, error))
    plausible = [f for f in fits if min(f.size_factor, f.data_factor) > 0 <= f.start_factor]
    if not plausible:
        raise BenchError("these trainings do not fit the law; add other sizes and times")
    return min(plausible, key=lambda found: found.error)


def _least_squares(
    columns: npt.NDArray[np.float64], values: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    return np.asarray(np.linalg.lstsq(columns, values, rcond=None)[0], np.float64)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    trainings = [read_training(folder) for folder in options.models]
    found = fit(trainings)
    rows = [
        [
            t.corpus[:8],
            str(t.size),
            f"{t.epochs:.1f}",
            f"{t.tokens * t.epochs / 1e6:.2f}",
            f"{t.cost:.4f}",
        ]
        for t in sorted(trainings, key=lambda t: (t.corpus, t.size, t.epochs))
    ]
    constants = (
        f"A = {found.size_factor:.3f}, a = {found.a}, B = {found.data_factor:.3f}, b = {found.b},"
        f" C = {found.start_factor:.3f}, epochs of use {found.epochs_of_use:g}; largest error"
        f" {found.worst:.4f}, root mean square {math.sqrt(found.error):.4f}\n\n"
    )
    header = ["corpus", "n", "epochs", "million tokens", "dev cost"]
    figures = {"fit": found._asdict(), "trainings": rows}
    write_report(options.output, constants + table(header, rows), figures)
    return 0


if __name__ == "__main__":
    exit_with(main)
