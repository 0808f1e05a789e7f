"""Measure confidences on test sets that they were not fitted on: calibration, ranking and time.

    python bench/confidence.py --system multi30k MODEL val.en val.fr test.en test.fr
        [--system NAME MODEL DEV_SRC DEV_TGT TEST_SRC TEST_TGT]... [--work DIR] --output table.md

Each model is copied, without its checkpoints, and calibrated on its dev set. A translation is good
if its chrF is at least the median of the dev set, as at calibration; the area under the ROC curve
is that for the median of the test set. The expected calibration error is that of 15 bins of equal
size, and of 10 of equal width; beside it stands that of outcomes drawn from the confidences
themselves, which is what chance leaves of a perfect calibration. Then the source of every other
system goes through the model, until it is said to be unlike the dev set. Time is processor time of
one thread.
"""

import argparse
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from timing import BenchError, exit_with, machine, report_progress, table, write_report

from nmtkit import Translator
from nmtkit.evaluation.calibration_metrics import expected_calibration_error, roc_auc
from nmtkit.inference.confidence.familiarity import Familiarity
from nmtkit.inference.translation import Translation
from nmtkit.io.calibration_record import CalibrationRecord
from nmtkit.io.lines import read_lines, read_parallel
from nmtkit.training.calibrate import calibrate, rate_lines

FOREIGN_LINES = 500
"""Lines of another corpus that go through a model, at most."""

DRAWS = 50
"""Sets of outcomes drawn from the confidences."""

FIGURES = (
    *("sentences", "AUC", "ECE", "ECE, equal width", "by chance"),
    *("words right", "word AUC", "word ECE", "time"),
)


class System(NamedTuple):
    """A model, its dev set and its test set."""

    name: str
    folder: Path
    dev: tuple[str, str]
    test: tuple[str, str]


def chance_error(probabilities: NDArray[np.float64]) -> float:
    """Return the mean calibration error of outcomes that are drawn from the probabilities."""
    random = np.random.default_rng(1)
    drawn = random.random((DRAWS, len(probabilities))) < probabilities
    return float(np.mean([expected_calibration_error(probabilities, one) for one in drawn]))


def check_names(names: Sequence[str]) -> None:
    """Check the names of the systems, which are also those of their folders.

    :raises BenchError: a name occurs twice, or cannot be a folder's.
    """
    for name in names:
        if names.count(name) > 1:
            raise BenchError(f"--system {name}: is given twice; give each system its own name")
        if name in ("", ".", "..") or "/" in name:
            raise BenchError(f"--system {name}: not a name for a folder; give one without '/'")


def copied(options: argparse.Namespace, words: Sequence[str]) -> System:
    """Return a system with a copy of its model.

    :raises BenchError: there is no such model folder.
    """
    name, model, *texts = words
    folder = options.work / name
    if not Path(model).is_dir():
        raise BenchError(f"{model}: no such model folder")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(model, folder, ignore=shutil.ignore_patterns("checkpoints", "*.last.*"))
    return System(name, folder, (texts[0], texts[1]), (texts[2], texts[3]))


def timed(translator: Translator, lines: Sequence[str]) -> tuple[list[Translation], float]:
    """Return the best translation of each line, and processor seconds."""
    start = time.process_time()
    found = [best[0] for best in translator.translate(lines)]
    return found, time.process_time() - start


def row_of(system: System, record: CalibrationRecord) -> list[str]:
    """Return the figures of a system on its test set."""
    translator = Translator.load(system.folder, device="cpu")
    pairs = [pair for pair in read_parallel(*system.test) if pair[0].strip() and pair[1].strip()]
    lines = [src for src, _ in pairs]
    timed(translator, lines[:50])  # kernels are prepared
    _, base = timed(translator, lines)
    found, seconds = timed(translator.with_confidence(), lines)
    rated = rate_lines(translator, pairs)
    p = np.array([t.confidence for t in found], float)
    quality = np.array([line.quality for line in rated])
    good = quality >= record.threshold
    judged = [(t, line.right) for t, line in zip(found, rated, strict=True) if line.right]
    words = np.concatenate([np.array(t.word_confidences) for t, _ in judged])
    right = np.concatenate([np.array(flags) for _, flags in judged])
    report_progress(f"{system.name}: {len(p)} lines, {base:.1f} s and {seconds:.1f} s")
    return [
        system.name,
        f"{len(p):,}",
        f"{roc_auc(p, quality >= np.median(quality)):.3f}",
        f"{expected_calibration_error(p, good):.3f}",
        f"{expected_calibration_error(p, good, 10, width=True):.3f}",
        f"{chance_error(p):.3f}",
        f"{100 * right.mean():.0f} %",
        f"{roc_auc(words, right):.3f}",
        f"{expected_calibration_error(words, right):.3f}",
        f"{seconds / base:.2f}",
    ]


def lines_until_noticed(system: System, record: CalibrationRecord, source: str) -> str:
    """Return after how many lines of a file a stream is said to be unlike the dev set."""
    translator = Translator.load(system.folder, device="cpu")
    lines = [line for line in read_lines(source) if line.strip()]
    if source != system.test[0]:
        lines = lines[:FOREIGN_LINES]
    familiarity = Familiarity(record)
    for number, (best, *_) in enumerate(translator.translate(lines), start=1):
        if familiarity.add(best.score / len(best.word_scores)):
            return str(number)
    return "never"


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = ("NAME", "MODEL", "DEV_SRC", "DEV_TGT", "TEST_SRC", "TEST_TGT")
    parser.add_argument("--system", nargs=6, action="append", required=True, metavar=names)
    parser.add_argument("--work", type=Path, default=Path("build/bench/confidence"))
    parser.add_argument("--output", type=Path)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = options_of(arguments)
    check_names([words[0] for words in options.system])
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    systems = [copied(options, words) for words in options.system]
    rows, noticed = [], []
    for system in systems:
        record = calibrate([system.folder], system.dev, device="cpu")
        rows.append(row_of(system, record))
        sources = [other.test[0] for other in systems]
        noticed.append([system.name, *(lines_until_noticed(system, record, s) for s in sources)])
    headers = [["test set", *FIGURES], ["model", *(system.name for system in systems)]]
    tables = [table(header, part) for header, part in zip(headers, (rows, noticed), strict=True)]
    figures: dict[str, Any] = {"figures": rows, "noticed": noticed}
    write_report(options.output, "\n\n".join([machine(), *tables]), figures)
    return 0


if __name__ == "__main__":
    exit_with(main)
