"""Compare translation quality after equal processor time, on several pairs of languages.

    python bench/languages.py --data lohelp --peers build/bench/peers --pairs en-de en-ja zh-en
        [--minutes 10] [--jobs 2] [--beam 5] [--keep FOLDER]

DATA/LANG/{train,val,test}.{en,LANG}, plain or gzip, hold the raw text of English and LANG.
`nmtkit prepare` splits it into SentencePiece pieces; all systems read these files and the same
vocabularies. Each is trained with one thread for `--minutes` of processor time: speeds are measured
first, in turn, and the numbers of updates are chosen from them, so that schedules of the learning
rate end with the training. Translations of the test set, joined to raw text, are scored by
sacreBLEU. What was measured is kept in `--work`: a comparison that was interrupted goes on.
`--keep FOLDER` keeps all translations with their figures, so that examples/kept_outputs.py can
compute these again.
"""

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from pathlib import Path

from opennmt_systems import COOLDOWN, OpenNMTRecurrent, OpenNMTTransformer
from operations import Sizes
from scoring import evaluation, join_pieces, keep_command, scores_of
from systems import Command, Data, Nmtkit, System, Task
from timing import (
    NMTKIT,
    BenchError,
    check_settings,
    exit_with,
    machine,
    positive,
    report_progress,
    run_command,
    table,
    write_report,
)

CALIBRATION, WARMUP = 80, 20
"""Updates by which the speed is measured, and those of them that are not counted."""

ROUNDS = 3
"""Measurements of each system's speed; the fastest counts, which other programs disturbed least."""

MAX_LENGTH = 100
"""Pairs with more pieces on a side are not trained on."""


@dataclass(frozen=True)
class Score:
    """Figures of a system's translations of a test set, in percent, and what they cost.

    minutes: processor minutes of the training, validations included.
    """

    chrf: float
    bleu: float
    updates: int
    minutes: float


class RecipeNmtkit(Nmtkit):
    """nmtkit's recipe rnnsearch-modern, smaller."""

    def write_training(self, task: Task) -> list[str]:
        """Write the recipe's settings with the sizes and the schedule of the task."""
        sizes, updates = task.sizes, task.updates
        task.folder.mkdir(parents=True, exist_ok=True)
        every = max(CALIBRATION + 1, math.ceil(updates / 4))  # none while speed is measured
        config = task.folder / "settings.toml"
        config.write_text(
            f'base = "rnnsearch-modern"\n[model]\nembedding = {sizes.embedding}\n'
            f"hidden = {sizes.hidden}\nalign = {sizes.align}\nmaxout = {sizes.maxout}\n"
            f"dropout = 0.1\n[data]\nbatch_size = 400\nmax_length = {MAX_LENGTH}\n"
            f"[training]\nlearning_rate = 0.002\nmax_updates = {updates}\n"
            f"cooldown = {round(COOLDOWN * updates)}\n"
            f"warmup = 100\nvalidate_every = {every}\npatience = 0\n"
            "lr_decay_patience = 0\ndev_bleu = false\naverage_checkpoints = 1\n",
            encoding="utf-8",
        )
        fixed = ["train", str(task.data.prepared), "--output", str(task.folder / "model")]
        return [*fixed, "--force", "--config", str(config), "--threads", str(task.threads)]

    def translate(self, task: Task, source: Path, output: Path, beam: int) -> Command:
        """Return `nmtkit translate` for raw input and output."""
        command = super().translate(task, source, output, beam)
        return [word for word in command if word != "--tokenized"]


@dataclass(frozen=True)
class Direction:
    """A pair of languages, and where its text is."""

    src: str
    tgt: str
    data: Path

    def text(self, split: str, language: str) -> Path:
        """Return the file of one split and language, plain or gzip.

        :raises BenchError: there is none.
        """
        other = self.src if self.tgt == "en" else self.tgt
        for name in (f"{split}.{language}", f"{split}.{language}.gz"):
            path = self.data / other / name
            if path.is_file():
                return path
        raise BenchError(f"{self.data / other}: has no {split}.{language}")

    def prepare(self, work: Path, size: int) -> Data:
        """Prepare the text, and return it."""
        prepared = work / "prepared"
        files: list[str | Path] = []
        for option in (["--train"], ["--dev"], ["--test", "test"]):
            split = {"--train": "train", "--dev": "val", "--test": "test"}[option[0]]
            files += [*option, self.text(split, self.src), self.text(split, self.tgt)]
        if not (prepared / "vocab.tgt").exists():
            options = ["-s", self.src, "-t", self.tgt, "--force", "--subword", "sentencepiece"]
            options += ["--subword-size", str(size), "-o", str(prepared)]
            run_command([*NMTKIT, "prepare", *files, *options], work / "prepare.log")
            run_command([*NMTKIT, "shortlist", prepared], work / "shortlist.log")
        return Data.open(prepared, work)


@dataclass(frozen=True)
class Run:
    """A system to be trained on a direction."""

    direction: Direction
    system: System
    task: Task

    def __str__(self) -> str:
        return f"{self.direction.src}-{self.direction.tgt}: {self.system.name}"

    @property
    def output(self) -> Path:
        """The translated test set as the system writes it: raw text, or pieces."""
        return self.task.folder / "output"

    @property
    def is_raw(self) -> bool:
        """Whether the system reads and writes raw text."""
        return isinstance(self.system, RecipeNmtkit)

    @property
    def translation(self) -> Path:
        """The translated test set as raw text."""
        return self.output if self.is_raw else self.task.folder / "output.txt"

    @property
    def source(self) -> Path:
        """The test set as the system reads it."""
        raw = self.direction.text("test", self.direction.src)
        return raw if self.is_raw else self.task.data.text("test", "src")

    @property
    def reference(self) -> Path:
        return self.direction.text("test", self.direction.tgt)

    def keep_command(self, folder: Path, updates: int, minutes: float) -> list[str | Path]:
        """Return the command that keeps the translation with its figures."""
        direction = self.direction
        pair = f"{direction.src}-{direction.tgt}"
        name = f"languages-{pair}-{type(self.system).__name__}"
        command = f"python bench/languages.py --data {direction.data.name} --pairs {pair}"
        command += f" --minutes {minutes:g}"
        system = f"{self.system.name}, {updates} updates"
        computation = evaluation(self.translation, self.reference, direction.tgt)
        return keep_command(folder, name, system, command, computation)


def updates_of(runs: Sequence[Run], minutes: float, record: Path) -> list[int]:
    """Return for each run the number of updates that take some minutes of processor time.

    Speeds are measured in the first direction, in turn: batches have as many tokens in all.

    :param record: file of the seconds of an update by system; those that it has are not measured.
    """
    seconds = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    first = [run for run in runs if run.direction == runs[0].direction]
    for run in [run for run in first if run.system.name not in seconds] * ROUNDS:
        name = run.system.name
        seconds[name] = min(seconds.get(name, math.inf), seconds_per_update(run))
    record.write_text(json.dumps(seconds), encoding="utf-8")
    return [max(CALIBRATION, round(60 * minutes / seconds[run.system.name])) for run in runs]


def seconds_per_update(run: Run) -> float:
    """Measure the processor seconds of an update."""
    task = replace(run.task, folder=run.task.folder / "calibration", updates=CALIBRATION)
    run.system.time_training(task, WARMUP)
    record = json.loads((task.folder / "record.json").read_text(encoding="utf-8"))
    readings = record["updates"]
    seconds: float = readings[-1][1] - readings[WARMUP - 1][1]
    return seconds / (CALIBRATION - WARMUP)


def measured(run: Run, updates: int, beam: int) -> Score:
    """Return the figures of a run, measured now or earlier."""
    record = run.task.folder / "score.json"
    if record.exists():
        score = Score(**json.loads(record.read_text(encoding="utf-8")))
        if score.updates == updates:
            return score
    report_progress(f"{run}: {updates:,} updates")
    score = measure(run, updates, beam)
    report_progress(f"{run}: {score}")
    record.write_text(json.dumps(asdict(score)), encoding="utf-8")
    return score


def measure(run: Run, updates: int, beam: int) -> Score:
    """Train a system, translate the test set, and score the translation."""
    system, task = run.system, replace(run.task, updates=updates)
    cost = run_command(system.train(task), task.folder / "log", system.environment(task.threads))
    run.output.unlink(missing_ok=True)
    translate = system.translate(task, run.source, run.output, beam)
    run_command(translate, task.folder / "translate.log", system.environment(task.threads))
    if not run.is_raw:
        join_pieces(task.data, run.output, run.translation)
    chrf, bleu = scores_of(run.translation, run.reference, run.direction.tgt)
    return Score(chrf, bleu, task.updates, cost.cpu / 60)


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", nargs="+", default=["en-de", "en-ja", "en-zh", "en-ru", "en-tr"])
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--size", type=int, default=4000, help="SentencePiece pieces")
    parser.add_argument("--hidden", type=positive, default=128, help="units of every layer")
    parser.add_argument("--beam", type=positive, default=5)
    parser.add_argument("--jobs", type=positive, default=1)
    parser.add_argument("--work", type=Path, default=Path("build/bench/languages"))
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="for translations and figures")
    parser.add_argument("--output", type=Path)
    return parser.parse_args(arguments)


def systems_of(peers: Path | None) -> list[System]:
    """Return the systems to compare: nmtkit, and OpenNMT-py if it is installed."""
    python = (peers or Path("nowhere")).absolute() / "opennmt" / "bin" / "python"
    if not python.is_file():
        report_progress("OpenNMT-py is skipped: it is not installed; see bench/peers/build.sh")
        return [RecipeNmtkit()]
    return [RecipeNmtkit(), OpenNMTRecurrent(python), OpenNMTTransformer(python)]


def runs_of(options: argparse.Namespace) -> Iterator[Run]:
    """Prepare the text of each direction; yield its runs, one for each system."""
    n = options.hidden
    for pair in options.pairs:
        src, _, tgt = pair.partition("-")
        if not (src and tgt) or (src == "en") == (tgt == "en"):
            raise BenchError(f"--pairs {pair}: expected SRC-TGT, one of them en")
        direction = Direction(src, tgt, options.data)
        data = direction.prepare(options.work / pair, options.size)
        for system in systems_of(options.peers):
            folder = (options.work / pair / type(system).__name__).resolve()
            yield Run(direction, system, Task(data, folder, Sizes(n, n, n, n), 0, threads=1))


def main(arguments: Sequence[str]) -> int:
    options = options_of(arguments)
    settings = ("data", "size", "hidden", "beam")  # the minutes tell by the number of updates
    check_settings(options.work, {name: getattr(options, name) for name in settings})
    runs = list(runs_of(options))
    report_progress("measuring the speed of updates")
    updates = updates_of(runs, options.minutes, options.work / "seconds.json")
    with ThreadPoolExecutor(options.jobs) as pool:
        scores = list(pool.map(measured, runs, updates, repeat(options.beam)))
    if options.keep:
        for run, count in zip(runs, updates, strict=True):
            keep = run.keep_command(options.keep, count, options.minutes)
            run_command(keep, run.task.folder / "keep.log")
    rows = [
        [
            *str(run).split(": "),
            f"{s.chrf:.1f}",
            f"{s.bleu:.1f}",
            f"{s.updates:,}",
            f"{s.minutes:.1f}",
        ]
        for run, s in zip(runs, scores, strict=True)
    ]
    header = ["pair", "system", "chrF", "BLEU", "updates", "minutes"]
    figures = [dict(zip(header, row, strict=True)) for row in rows]
    write_report(options.output, f"{machine()}\n\n{table(header, rows)}", figures)
    return 0


if __name__ == "__main__":
    exit_with(main)
