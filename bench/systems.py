"""The compared systems: how each trains the same model on the same data and translates.

All train one layer of gated units per side, attention by an MLP (Bahdanau et al. 2015), 10,000
words per side, 80 sentences per update unless told, Adam, no dropout, float32, gradient norms
clipped to 1. They read the same tokenised files. bench/NOTEBOOK.md lists the differences between
their models.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from operations import (
    CSLM_CONTEXT,
    LSTM_LAYERS,
    Count,
    Sizes,
    cslm,
    cslm_units,
    deep_lstm,
    grconv,
    grconv_units,
    phrase_rnn,
    rnnenc,
    rnnsearch,
)
from timing import ROOT, cpu_environment, positive, run_command

TIMED = Path(__file__).resolve().parent / "peers" / "timed.py"
BATCH = 80  # sentences an update
POOL = 20  # batches read and sorted by length together, if the system does so
SPECIAL = ("</s>", "<unk>")
Command = list[str | Path]


@dataclass(frozen=True)
class Data:
    """A folder of `nmtkit prepare` with shortlists, and vocabularies made from them."""

    prepared: Path
    words: Path

    @classmethod
    def open(cls, prepared: Path, work: Path) -> "Data":
        """Write the shortlists one word per line, without special words."""
        words = work / "words"
        words.mkdir(parents=True, exist_ok=True)
        for side in ("src", "tgt"):
            lines = (prepared / f"vocab.{side}").read_text(encoding="utf-8").split("\n")
            entries = [line.split("\t")[0] for line in lines if line]
            text = "".join(f"{word}\n" for word in entries if word not in SPECIAL)
            (words / side).write_text(text, encoding="utf-8")
        return cls(prepared.resolve(), words.resolve())

    def text(self, split: str, side: str) -> Path:
        """Return the path of a tokenised file."""
        return self.prepared / f"{split}.{side}"

    def mean_lengths(self) -> tuple[float, float]:
        """Return the mean T_x and T_y of the training pairs, with `</s>`."""
        means = []
        for side in ("src", "tgt"):
            lines = self.text("train", side).read_text(encoding="utf-8").split("\n")[:-1]
            lengths = [len(line.split()) + 1 for line in lines]
            means.append(sum(lengths) / len(lengths))
        return means[0], means[1]

    def target_words(self) -> int:
        """Return K: the size of the target vocabulary with special words."""
        return (self.prepared / "vocab.tgt").read_text(encoding="utf-8").count("\n")


@dataclass(frozen=True)
class Task:
    """A training run; its files go to `folder`, and it ends after `updates`.

    max_length: most tokens of a sentence that is trained on, and of a translation. batch_tokens:
    target tokens of an update, and rate_factor: factor of its learning rate, both in comparisons of
    quality. batch: sentences of an update, in comparisons of speed.
    """

    data: Data
    folder: Path
    sizes: Sizes
    updates: int
    threads: int
    learning_rate: float = 1e-3
    max_length: int = 100
    batch_tokens: int = 400
    rate_factor: float = 1.0
    batch: int = BATCH


@dataclass(frozen=True)
class Rate:
    """Speed of a training without its first updates.

    words: target words per second, with `</s>`, without padding; by_cpu: per second of processor
    time; peak: largest memory in bytes.
    """

    words: float
    by_cpu: float
    peak: int


class System:
    """A toolkit that trains and translates, in its own Python environment."""

    name = ""
    module = ""  # MODULE:FUNCTION that the launcher runs
    products: Count  # counts the multiplications of its model

    def __init__(self, python: Path) -> None:
        """Use an environment.

        :param python: its interpreter.
        """
        self.python = python
        self.batches: dict[int, int] = {}  # by beam, if another size is faster than 64

    def environment(self, threads: int) -> dict[str, str]:
        """Return the environment variables for its runs."""
        return cpu_environment(threads)

    def write_training(self, task: Task) -> list[str]:
        """Write the settings; return the arguments that name them."""
        raise NotImplementedError

    def train(self, task: Task) -> Command:
        """Return the command that trains a model and keeps it in the folder."""
        return [self.python, "-c", code_calling(self.module), *self.write_training(task)]

    def time_training(self, task: Task, warmup: int) -> Rate:
        """Train `task.updates` updates; return the rate after the first `warmup`."""
        record = task.folder / "record.json"
        arguments = self.write_training(task)
        command: Command = [self.python, TIMED, record, str(task.updates), self.module, *arguments]
        run_command(command, task.folder / "log", self.environment(task.threads))
        recorded = json.loads(record.read_text(encoding="utf-8"))
        return rate_of(recorded["updates"], warmup, recorded["peak"])

    def seconds_per_update(self, task: Task, warmup: int) -> float:
        """Train; return the mean seconds of the updates after the first `warmup`."""
        self.time_training(task, warmup)
        record = json.loads((task.folder / "record.json").read_text(encoding="utf-8"))
        readings: list[list[float]] = record["updates"]
        return (readings[-1][0] - readings[warmup - 1][0]) / (len(readings) - warmup)

    def model(self, task: Task) -> Path:
        """Return the files of a training that translation needs."""
        raise NotImplementedError

    def translate(self, task: Task, source: Path, output: Path, beam: int) -> Command:
        """Return the command that translates a tokenised file; see also `streams`."""
        raise NotImplementedError

    def streams(self, source: Path, output: Path) -> dict[str, Path]:
        """Return `stdin` and `stdout` for `translate`, if it uses them."""
        return {}

    def batch(self, beam: int) -> int:
        """Return the number of sentences to translate together."""
        return self.batches.get(beam, 64)


def rate_of(readings: list[tuple[float, float, int]], warmup: int, peak: int) -> Rate:
    """Return the rate of the updates after the first `warmup` from a launcher's record.

    :param readings: After each update: seconds, CPU seconds, words so far; from any origin.
    """
    first, last = readings[warmup - 1], readings[-1]
    words = last[2] - first[2]
    return Rate(words / (last[0] - first[0]), words / (last[1] - first[1]), peak)


def code_calling(program: str) -> str:
    module, _, function = program.partition(":")
    return f"import {module}; {module}.{function}()"


def write_settings(path: Path, settings: dict[str, Any]) -> Path:
    """Write settings as JSON, which is also YAML."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    return path


COUNTS: dict[str, Count] = {
    "rnnsearch": rnnsearch,
    "rnnenc": rnnenc,
    "phrase-rnn": phrase_rnn,
    "grconv": grconv,
    "deep-lstm": deep_lstm,
    "cslm": cslm,
}
"""Counts of the multiplications of nmtkit's models."""


def model_settings(model: str, sizes: Sizes) -> dict[str, int]:
    """Return the sizes of one of our models under the names of its config."""
    settings = {"embedding": sizes.embedding, "hidden": sizes.hidden}
    if model == "deep-lstm":
        return settings | {"layers": LSTM_LAYERS}
    if model == "cslm":
        hidden, second = cslm_units(sizes)
        return settings | {"context": CSLM_CONTEXT, "hidden": hidden, "second": second}
    settings["maxout"] = sizes.maxout
    further = {
        "rnnsearch": {"align": sizes.align},
        "phrase-rnn": {"softmax_rank": sizes.embedding},
        "grconv": {"units": grconv_units(sizes)},
    }
    return settings | further.get(model, {})


class Nmtkit(System):
    """This project."""

    name = "nmtkit"
    module = "nmtkit.cli.main:main"

    def __init__(
        self,
        python: Path = Path(sys.executable),
        extra: Iterable[str] = (),
        model: str = "rnnsearch",
    ) -> None:
        """Choose the model.

        :param extra: further `--set` for training, or further options for translation.
        :param model: a key of `COUNTS`.
        """
        super().__init__(python)
        self.extra, self.type = list(extra), model
        self.products = COUNTS[model]

    def environment(self, threads: int) -> dict[str, str]:
        """Use the checkout's package even if another one is installed."""
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        return {**cpu_environment(threads), "PYTHONPATH": path}

    def write_training(self, task: Task) -> list[str]:
        """Write settings as TOML, and return options with the extra ones as `--set`."""
        sizes, folder = task.sizes, task.folder
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "settings.toml"
        model = "".join(f"{k} = {v}\n" for k, v in model_settings(self.type, sizes).items())
        config.write_text(
            f'[model]\ntype = "{self.type}"\n{model}initialisation = "scaled"\n'
            f"[data]\nbatch_size = {task.batch}\nsort_pool = {POOL}\n"
            f'order = "random"\nmax_length = {task.max_length}\n'
            f'[training]\noptimizer = "adam"\nlearning_rate = {task.learning_rate}\n'
            'epsilon = 1e-8\nloss_reduction = "sentence-mean"\nclip_norm = 1.0\ndev_bleu = false\n'
            f"max_updates = {task.updates}\nvalidate_every = {task.updates}\n",
            encoding="utf-8",
        )
        extra = [word for setting in self.extra for word in ("--set", setting)]
        fixed = ["train", str(task.data.prepared), "--output", str(folder / "model"), "--force"]
        return [*fixed, "--config", str(config), "--threads", str(task.threads), *extra]

    def model(self, task: Task) -> Path:
        """Return the model folder's parameters."""
        return task.folder / "model" / "params.best.safetensors"

    def translate(self, task: Task, source: Path, output: Path, beam: int) -> Command:
        """Return `nmtkit translate` for tokenised input and output."""
        files: Command = ["--model", task.folder / "model", source, "--output", output, "--force"]
        search = ["--beam", str(beam), "--batch-size", str(self.batch(beam)), "--tokenized"]
        threads = ["--threads", str(task.threads)]
        start: Command = [self.python, "-c", code_calling(self.module), "translate"]
        return [*start, *files, *search, *threads, *self.extra]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of all comparisons: text, systems, threads and rounds."""
    parser.add_argument("--data", type=Path, help="folder of raw Multi30k")
    parser.add_argument("--prepared", type=Path, help="instead: a prepared folder with shortlists")
    parser.add_argument("--work", type=Path, default=Path("build/bench/work"))
    parser.add_argument("--peers", type=Path, help="folder that bench/peers/build.sh filled")
    parser.add_argument("--marian", type=Path, help="a binary of Marian")
    parser.add_argument("--only", nargs="+", help="only systems whose names begin with these")
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--rounds", type=positive, default=3)
