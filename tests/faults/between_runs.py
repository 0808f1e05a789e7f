"""Change something between two runs of the same training, and check that it is noticed.

    python tests/faults/between_runs.py
    python tests/faults/between_runs.py --sample 12 --seed 3
    python tests/faults/between_runs.py --only checkpoints --verbose

A training is stopped: finished, interrupted, or killed. Then one thing is changed that its next
run could read: each file of the prepared folder and of the model folder (listed from what is
there), the file of settings, each setting, or the data of one of two ranks. The same command then
runs again.
The law: it refuses with one line that names what was changed, and goes on once that is restored; or
it ends with the result of an undisturbed training, parameter for parameter; or it ends with the
same parameters, and a warning names the file, of which a part is lost. Each run ends within
TIME_LIMIT seconds. Prints the number of changes; the exit status is 1 if one broke the law.
"""

import argparse
import dataclasses
import itertools
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import torch

# The tests are not an installed package.
sys.path.insert(0, str(Path(__file__).parents[2]))

from nmtkit.config import SECTIONS  # noqa: E402
from nmtkit.config_ranges import RANGES  # noqa: E402
from nmtkit.models import MODELS  # noqa: E402
from nmtkit.training.settings import make_config  # noqa: E402
from nmtkit.training.trainer import Trainer  # noqa: E402
from tests.faults import child, kill  # noqa: E402
from tests.faults.child import Ended  # noqa: E402

TIME_LIMIT = 30.0
"""Seconds within which each run must end."""

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
PAIRS = {"train": 48, "dev": 8, "test": 4}
UPDATES = 12
SETTINGS = {
    "model.embedding": 4,
    "model.hidden": 5,
    "model.align": 4,
    "model.maxout": 3,
    "model.dropout": 0.3,
    "data.batch_size": 30,
    "data.sort_pool": 3,
    "training.max_updates": UPDATES,
    "training.cooldown": 0,
    "training.warmup": 2,
    "training.validate_every": 3,
    "training.lr_decay_patience": 2,
    "training.average_checkpoints": 2,
    "training.keep_checkpoints": 3,
    "training.dev_bleu": False,
}

Apply = Callable[[Path], None]
"""Makes a change in the folder that holds `prepared`, `model` and `settings.toml`."""


@dataclass(frozen=True)
class Change:
    """Something that is changed between two runs.

    name: what is changed, for messages.
    names: a refusal or a warning must contain one of these.
    apply: makes the change. options: added to the command line of the second run.
    undo: whether the changed files can be put back, after which the training goes on.
    """

    name: str
    names: tuple[str, ...]
    apply: Apply = lambda _: None
    options: tuple[str, ...] = ()
    undo: bool = True


# How the first run ends


def stop_at(update: int, number: signal.Signals) -> Callable[[], None]:
    """Return an Arm that sends this process a signal in the middle of an update."""

    def arm() -> None:
        original = Trainer.update

        def update_and_signal(self: Trainer) -> object:
            if self.progress.updates + 1 == update:
                signal.raise_signal(number)
            return original(self)

        mock.patch.object(Trainer, "update", update_and_signal).start()

    return arm


@dataclass(frozen=True)
class Stage:
    """How the first run ended: options of its command line, and its Arm."""

    name: str
    options: tuple[str, ...] = ()
    arm: child.Arm | None = None


STAGES = (
    Stage("interrupted", arm=stop_at(7, signal.SIGTERM)),
    Stage("finished", ("--set", "training.max_updates=9")),
    Stage("killed", arm=stop_at(8, signal.SIGKILL)),
    Stage("begun", arm=stop_at(2, signal.SIGKILL)),
    Stage("over"),
)


# Files to begin with


def sentence(number: int, seed: int) -> str:
    draw = random.Random(f"{number} {seed}")
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(1, 5)))


def write_raw(folder: Path, seed: int) -> None:
    """Write a raw corpus; the same words occur in every one."""
    folder.mkdir(parents=True)
    for split, count in PAIRS.items():
        lines = [" ".join(WORDS), *(sentence(number, seed) for number in range(1, count))]
        (folder / f"{split}.en").write_text("".join(f"{line}\n" for line in lines))
        (folder / f"{split}.fr").write_text("".join(f"{line[::-1]}\n" for line in lines))


def write_world(folder: Path, seed: int) -> None:
    """Write a prepared folder and a file of settings."""
    raw = folder / "raw"
    write_raw(raw, seed)
    splits = [["--train"], ["--dev"], ["--test", "test"]]
    words = [
        [*option, f"{raw}/{split}.en", f"{raw}/{split}.fr"]
        for option, split in zip(splits, PAIRS, strict=True)
    ]
    prepare = [
        "prepare",
        "-s",
        "en",
        "-t",
        "fr",
        *itertools.chain(*words),
        "--bpe",
        "12",
        "--workers",
        "1",
    ]
    must(child.run([*prepare, "-o", f"{folder}/prepared"], folder / "log", TIME_LIMIT))
    must(child.run(["shortlist", f"{folder}/prepared"], folder / "log", TIME_LIMIT))
    shutil.rmtree(raw)
    sections: dict[str, list[str]] = {}
    for name, value in SETTINGS.items():
        section, key = name.split(".")
        sections.setdefault(section, []).append(f"{key} = {json.dumps(value)}\n")
    text = "".join(f"[{name}]\n{''.join(lines)}\n" for name, lines in sections.items())
    (folder / "settings.toml").write_text(f'base = "toy"\n\n{text}')


def must(ended: Ended) -> None:
    if ended.status:
        raise RuntimeError(f"status {ended.status}: {ended.stderr}")


def command(folder: Path, *options: str) -> list[str]:
    inputs = [f"{folder}/prepared", "--output", f"{folder}/model"]
    return ["train", *inputs, "--config", f"{folder}/settings.toml", "--device", "cpu", *options]


# Changes of one file


def edited(path: Path) -> None:
    """Change a byte in the middle, in text to one of the same kind."""
    data = bytearray(path.read_bytes())
    place = len(data) // 2
    old = data[place]
    if chr(old).isascii() and chr(old).isalpha():
        data[place] = ord("e") if old != ord("e") else ord("a")
    elif chr(old).isdigit():
        data[place] = ord("7") if old != ord("7") else ord("3")
    else:
        data[place] = old ^ 1
    path.write_bytes(data)


def edited_secretly(path: Path) -> None:
    """Edit a file, and restore its time; the size stays."""
    stat = path.stat()
    edited(path)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def lines_swapped(path: Path) -> None:
    """Exchange two lines in the middle that differ."""
    lines = path.read_bytes().splitlines(keepends=True)
    place = len(lines) // 2
    while lines[place] == lines[place - 1]:
        place -= 1
    lines[place - 1 : place + 1] = lines[place], lines[place - 1]
    path.write_bytes(b"".join(lines))


def halves_swapped(path: Path) -> None:
    data = path.read_bytes()
    half = len(data) // 16 * 8
    path.write_bytes(data[half : 2 * half] + data[:half] + data[2 * half :])


def cut(path: Path) -> None:
    data = path.read_bytes()
    if is_text(path):
        lines = data.splitlines(keepends=True)
        path.write_bytes(b"".join(lines[: len(lines) // 2]))
    else:
        path.write_bytes(data[: len(data) // 2])


def grown(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data + (b"".join(data.splitlines(keepends=True)[-2:]) or b"\n"))


def zeroed(path: Path) -> None:
    data = path.read_bytes()
    start = len(data) * 3 // 4
    path.write_bytes(data[:start] + bytes(len(data) - start))


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def removed(path: Path) -> None:
    path.unlink()


def dated(seconds: float) -> Callable[[Path], None]:
    return lambda path: os.utime(path, (seconds, seconds))


def is_text(path: Path) -> bool:
    return path.suffix not in (".safetensors", ".ids", ".offsets")


TOUCHES = {
    "touched": dated(time.time() + 1),
    "dated 1970": dated(0),
    "dated a year ahead": dated(time.time() + 3e7),
}
EDITS: dict[str, Callable[[Path], None]] = {
    "edited": edited,
    "edited, with its old time": edited_secretly,
    "cut": cut,
    "grown": grown,
    "emptied": emptied,
    "removed": removed,
    **TOUCHES,
}
TEXT_EDITS = {"two lines swapped": lines_swapped}
BINARY_EDITS = {"zeroed": zeroed, "halves swapped": halves_swapped}


def at(name: str, edit: Callable[[Path], None]) -> Apply:
    return lambda world: edit(world / name)


def copied(source: Path, name: str) -> Apply:
    """Replace a file or folder by another."""

    def apply(world: Path) -> None:
        target = world / name
        if source.is_dir():
            shutil.rmtree(target)
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)

    return apply


def exchanged(first: str, second: str) -> Apply:
    """Exchange the names of two files or folders."""

    def apply(world: Path) -> None:
        spare = world / "spare"
        os.replace(world / first, spare)
        os.replace(world / second, world / first)
        os.replace(spare, world / second)

    return apply


def names_of(name: str) -> tuple[str, ...]:
    """Return the names by which a message may call a file."""
    path = Path(name)
    if path.suffix == ".toml":
        return (path.name, "was started with")
    if "checkpoints" in path.parts:
        return (f"checkpoints/{path.parts[path.parts.index('checkpoints') + 1]}",)
    if path.parts[0] == "prepared" and path.suffix in (".ids", ".offsets", ".json"):
        return (".".join(path.name.split(".")[:2]),)  # train.src.KEY.ids is made from train.src
    return (path.name,)


def file_changes(world: Path, other: Path) -> Iterator[Change]:
    """Yield every change of each single file that is there."""
    files = sorted(path for path in world.rglob("*") if path.is_file() and path.name != "log")
    for path in files:
        name = str(path.relative_to(world))
        edits = EDITS | (TEXT_EDITS if is_text(path) else BINARY_EDITS)
        for kind, edit in edits.items():
            if kind == "two lines swapped" and len(set(path.read_bytes().splitlines())) < 2:
                continue
            yield Change(f"{name} {kind}", names_of(name), at(name, edit))
        if counterpart := find_counterpart(path, world, other):
            yield Change(f"{name} of another folder", names_of(name), copied(counterpart, name))
        pair = Path(name.replace(".src", ".tgt"))
        partners = [p for p in files if p.name == pair.name or same_kind(p.name, pair.name)]
        partners = [p for p in partners if p.parent == path.parent and p != path]
        if ".src" in path.name and partners:
            second = str(partners[0].relative_to(world))
            both = names_of(name) + names_of(second)
            yield Change(f"{name} exchanged with its pair", both, exchanged(name, second))


def same_kind(name: str, other: str) -> bool:
    """Return whether two names of binarised files differ only in the vocabulary's key."""
    first, second = name.split("."), other.split(".")
    return len(first) == len(second) == 4 and first[:2] + first[3:] == second[:2] + second[3:]


def find_counterpart(path: Path, world: Path, other: Path) -> Path | None:
    """Return the file of another folder with this name, apart from the vocabulary's key."""
    folder = other / path.relative_to(world).parent
    if (folder / path.name).is_file():
        return folder / path.name
    return next((p for p in sorted(folder.glob("*")) if same_kind(p.name, path.name)), None)


# Changes of several files


def on_both(split: str, edit: Callable[[Path], None]) -> Apply:
    def apply(world: Path) -> None:
        for side in ("src", "tgt"):
            edit(world / "prepared" / f"{split}.{side}")

    return apply


def lines_reversed(path: Path) -> None:
    path.write_bytes(b"".join(reversed(path.read_bytes().splitlines(keepends=True))))


def lines_cut_to(count: int) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:count]))

    return apply


def repeated(path: Path) -> None:
    path.write_bytes(path.read_bytes() * 3)


def corpus_changes(world: Path, other: Path) -> Iterator[Change]:
    """Yield changes of both sides of a set, of which the vocabularies know all words."""
    edits: dict[str, Callable[[Path], None]] = {
        "both sides: two lines swapped": lines_swapped,
        "both sides reversed": lines_reversed,
        "both sides cut": cut,
        "both sides cut to 3 lines": lines_cut_to(3),
        "both sides cut to 1 line": lines_cut_to(1),
        "both sides three times as long": repeated,
        "both sides grown": grown,
        "both sides emptied": emptied,
        "both sides touched": dated(time.time() + 1),
    }
    for split in PAIRS:
        names = (f"{split}.src", f"{split}.tgt")
        for kind, edit in edits.items():
            yield Change(f"prepared/{split} {kind}", names, on_both(split, edit))
        yield Change(
            f"prepared/{split}.tgt reversed", names, at(f"prepared/{split}.tgt", lines_reversed)
        )
        sides = [other / "prepared" / name for name in names]
        yield Change(
            f"prepared/{split} of another folder",
            names,
            in_turn(*(copied(path, f"prepared/{path.name}") for path in sides)),
        )


def in_turn(*applies: Apply) -> Apply:
    def apply(world: Path) -> None:
        for one in applies:
            one(world)

    return apply


def folder_changes(world: Path, other: Path) -> Iterator[Change]:
    """Yield changes of whole folders: the prepared one, the model, each checkpoint."""
    texts = ("train.src", "train.tgt", "vocab.src", "vocab.tgt", "manifest.json")
    yield Change("prepared: another folder", texts, copied(other / "prepared", "prepared"))
    vocabularies = [
        copied(world / "prepared" / name, f"prepared/{name}")
        for name in ("vocab.src", "vocab.tgt", "bpe.src", "bpe.tgt")
        if (world / "prepared" / name).exists()
    ]
    yield Change(
        "prepared: another folder with the same vocabularies",
        texts,
        in_turn(copied(other / "prepared", "prepared"), *vocabularies),
    )
    yield Change("prepared: without its binarised text", texts, at("prepared", unbinarised))
    yield Change("prepared: sides exchanged", texts, at("prepared", sides_exchanged))
    checkpoints = sorted((world / "model" / "checkpoints").glob("[0-9]*"))
    for path in checkpoints:
        name = str(path.relative_to(world))
        yield Change(f"{name} removed", names_of(name), at(name, shutil.rmtree), undo=False)
        for number in ("00000001", "00000099"):
            target = f"model/checkpoints/{number}"
            yield Change(
                f"{name} renamed {number}",
                (*names_of(name), *names_of(target)),
                exchanged_or_moved(name, target),
                undo=False,
            )
        counterpart = other / name
        if counterpart.exists():
            yield Change(
                f"{name} of another training", names_of(name), copied(counterpart, name), undo=False
            )
    for first, second in itertools.combinations(checkpoints, 2):
        names = tuple(str(path.relative_to(world)) for path in (first, second))
        yield Change(
            f"{names[0]} exchanged with {second.name}",
            names_of(names[0]) + names_of(names[1]),
            exchanged(*names),
            undo=False,
        )
        yield Change(
            f"{names[0]} and {second.name} removed",
            names_of(names[0]) + names_of(names[1]) + ("checkpoint",),
            in_turn(*(at(name, shutil.rmtree) for name in names)),
            undo=False,
        )
    if checkpoints:
        yield Change(
            "model/checkpoints removed",
            ("checkpoints",),
            at("model/checkpoints", shutil.rmtree),
            undo=False,
        )


def exchanged_or_moved(first: str, second: str) -> Apply:
    return lambda world: os.replace(world / first, world / second)


def unbinarised(prepared: Path) -> None:
    for path in prepared.glob("*.*.*.*"):
        path.unlink()


def sides_exchanged(prepared: Path) -> None:
    for path in sorted(prepared.glob("*.src")):
        exchanged(path.name, path.with_suffix(".tgt").name)(prepared)
    unbinarised(prepared)


# Changes of settings


def setting_changes() -> Iterator[Change]:
    """Yield a change of each setting that a config file or --set can hold."""
    config = make_config("toy", overrides=[f"{k}={json.dumps(v)}" for k, v in SETTINGS.items()])
    for section in ("model", *SECTIONS):
        table = getattr(config, section)
        hints = typing.get_type_hints(type(table))
        for field in dataclasses.fields(table):
            name = f"{section}.{field.name}"
            value = getattr(table, field.name)
            for new in other_values(name, value, hints[field.name]):
                option = f"{name}={json.dumps(new)}"
                yield Change(f"--set {option}", (name,), options=("--set", option))


def other_values(name: str, value: object, hint: object) -> Iterator[object]:
    """Yield allowed values of a setting that differ from its own."""
    if value in (choices := typing.get_args(hint)):
        yield from (choice for choice in choices if choice != value)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        allowed = RANGES[name].contains if name in RANGES else lambda _: True
        candidates: list[int | float] = [value + 1, value / 2, value + 0.25]
        if isinstance(value, int):
            candidates = [value + 1, value - 1]
        yield next(new for new in candidates if allowed(new) and new != value)
    else:
        yield f"{value}x"


def command_changes() -> Iterator[Change]:
    """Yield other words of the command line."""
    yield Change("--reverse", ("data.swap_sides",), options=("--reverse",))
    yield Change(
        "--set text.subwords=none", ("text.subwords",), options=("--set", "text.subwords=none")
    )
    yield Change("--threads 1", ("threads",), options=("--threads", "1"))
    for name in sorted(model for model in MODELS if model != "rnnsearch"):
        recipe = RECIPES.get(name)
        if recipe:
            yield Change(f"--recipe {recipe}", ("another model",), base(recipe))


RECIPES = {"grconv": "grconv", "rnnenc": "rnnenc-50", "cslm": "cslm", "phrase_rnn": "phrase-rnn"}


def base(recipe: str) -> Apply:
    def apply(world: Path) -> None:
        (world / "settings.toml").write_text(f'base = "{recipe}"\n[training]\nmax_updates = 12\n')

    return apply


# The law


class Campaign:
    """Tries changes in one folder, which is filled anew for each."""

    def __init__(self, work: Path, verbose: bool) -> None:
        self.work = work
        self.verbose = verbose
        self.case = work / "case"
        self.log = work / "log"
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self.worlds: dict[str, Path] = {}
        self.undisturbed: dict[tuple[str, ...], Path] = {}

    def set_up(self) -> None:
        """Write the first corpus and another one with its own training."""
        for name, seed in (("main", 1), ("other", 2)):
            (self.work / name).mkdir()
            write_world(self.work / name, seed)
        self.train("other")

    def train(self, name: str, *options: str, arm: child.Arm | None = None) -> Path:
        """Train in a copy of a world, and return the copy; its log is `log`."""
        self.fill(self.work / ("other" if name == "other" else "main"))
        child.run(command(self.case, *options), self.log, TIME_LIMIT, arm)
        target = self.work / f"world-{name}"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.case, target, symlinks=True)
        return target

    def fill(self, world: Path) -> None:
        shutil.rmtree(self.case, ignore_errors=True)
        shutil.copytree(world, self.case, symlinks=True)

    def world(self, stage: Stage) -> Path:
        """Return the folder after the first run."""
        if stage.name not in self.worlds:
            self.worlds[stage.name] = self.train(stage.name, *stage.options, arm=stage.arm)
        return self.worlds[stage.name]

    def expected(self, options: tuple[str, ...] = ()) -> Path:
        """Return the folder of an undisturbed training."""
        if options not in self.undisturbed:
            name = f"undisturbed-{len(self.undisturbed)}"
            self.undisturbed[options] = self.train(name, *options)
        return self.undisturbed[options]

    def attempt(self, stage: Stage, change: Change) -> None:
        """Try a change, and note how it ended."""
        self.fill(self.world(stage))
        change.apply(self.case)
        try:
            ended = child.run(command(self.case, *change.options), self.log, TIME_LIMIT)
            outcome = self.judge(stage, change, ended)
        except child.Hanging as error:
            outcome = f"FAULT {error}"
        kind = outcome.split()[0]
        self.counts[kind] += 1
        if kind == "FAULT":
            self.faults.append(f"{stage.name}: {change.name}: {outcome}")
        if kind == "FAULT" or self.verbose:
            print(f"{stage.name}: {change.name}: {outcome}", flush=True)

    def judge(self, stage: Stage, change: Change, ended: Ended) -> str:
        """Return "refused", "equal" or "warned", or "FAULT" and why."""
        if not ended.is_plain or ended.status < 0:
            return f"FAULT status {ended.status}: {ended.stderr[-1500:]}"
        if ended.status:
            return self.judge_refusal(stage, change, ended)
        kept = self.work / "kept"
        shutil.rmtree(kept, ignore_errors=True)
        os.replace(self.case, kept)  # the undisturbed training may need the folder's name
        expected = self.expected(change.options if change.name.startswith("--set") else ())
        different = differences(expected / "model", kept / "model")
        if all(is_harmless(line, change, ended) for line in different):
            return "equal"
        shown = "; ".join(different[:6])
        warned = any(
            f"warning: {line}"
            for line in ended.stderr.splitlines()
            if line.startswith("nmtkit: warning: ") and any(name in line for name in change.names)
        )
        if warned and not any(".safetensors differs" in line for line in different):
            return f"warned; {shown}"
        return f"FAULT went on, differs silently: {shown}\n{ended.stderr}"

    def judge_refusal(self, stage: Stage, change: Change, ended: Ended) -> str:
        if ended.status != 1 or ended.error is None:
            return f"FAULT status {ended.status} without one line of error: {ended.stderr[-1500:]}"
        if not any(name in ended.error for name in change.names):
            return f"FAULT refused without naming {' or '.join(change.names)}: {ended.error}"
        if not change.undo:
            return f"refused {ended.error}"
        for name in ("prepared", "settings.toml"):
            copied(self.world(stage) / name, name)(self.case)
        restore(self.world(stage) / "model", self.case / "model", change.names)
        again = child.run(command(self.case), self.log, TIME_LIMIT)
        different = differences(self.expected() / "model", self.case / "model")
        if again.status or different:
            return f"FAULT refused, and after it was undone: {different[:6]} {again.stderr[-1500:]}"
        return f"refused {ended.error}"


def is_harmless(difference: str, change: Change, ended: Ended) -> bool:
    """Return whether a difference is of a file that no result depends on.

    Sums and provenance protect and describe other files. Checkpoints before the one that the
    training resumed from are kept for the user; only those that are averaged are read, and the
    averages would differ.
    """
    if change.name.startswith(("model/SHA256SUMS ", "model/origin.json ")):
        name = change.name.split()[0].removeprefix("model/")
        return difference in (f"{name} differs", f"only one of them has {name}")
    resumed = re.search(r"resuming from update (\d+)", ended.stderr)
    checkpoint = re.search(r"checkpoints/(\d+)", difference)
    return bool(resumed and checkpoint and int(checkpoint[1]) < int(resumed[1]))


def restore(source: Path, target: Path, names: tuple[str, ...]) -> None:
    """Put back the files of the model folder with these names."""
    for path in source.rglob("*"):
        if path.is_file() and any(f"/{name}/" in f"{path}/" for name in names):
            (target / path.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target / path.relative_to(source))


def differences(expected: Path, actual: Path) -> list[str]:
    """List the differences between two model folders, apart from times and damaged checkpoints."""
    damaged = {path for path in actual.rglob("*") if ".damaged" in str(path)}
    listed = kill.differences(expected, actual)
    hidden = {f"only one of them has {path.relative_to(actual)}" for path in damaged}
    return [line for line in listed if line not in hidden]


def rank_changes(campaign: Campaign) -> Iterator[tuple[str, str]]:
    """Train on two ranks of which one sees other data; yield what was changed, and the outcome."""
    stage = STAGES[0]
    world, other = campaign.world(stage), campaign.work / "world-other"
    for change in [*corpus_changes(world, other), *folder_changes(world, other)]:
        if change.name.startswith(("prepared/test", "model")):
            continue
        for resumed in (False, True):
            campaign.fill(world if resumed else campaign.work / "main")
            second = campaign.work / "second"
            shutil.rmtree(second, ignore_errors=True)
            shutil.copytree(campaign.case, second)
            try:
                change.apply(second)
            except FileNotFoundError:
                continue
            commands = [command(campaign.case), command(campaign.case)]
            commands[1][1] = f"{second}/prepared"
            name = f"rank 1 {'resumes' if resumed else 'begins'} with {change.name}"
            yield name, judge_ranks(commands, change, campaign)


def judge_ranks(commands: list[list[str]], change: Change, campaign: Campaign) -> str:
    try:
        ended = child.run_ranks(commands, campaign.log, TIME_LIMIT)
    except child.Hanging as error:
        return f"FAULT {error}"
    if any(not rank.is_plain for rank in ended) or any(rank.status < 0 for rank in ended):
        return f"FAULT {[(rank.status, rank.stderr[-1500:]) for rank in ended]}"
    statuses = {rank.status for rank in ended}
    if statuses == {0}:
        harmless = "touched" in change.name or "binarised" in change.name
        return "equal" if harmless else "FAULT ranks with different data trained together"
    if statuses != {1}:
        return f"FAULT statuses {statuses}: {[rank.stderr[-1500:] for rank in ended]}"
    errors = [rank.error or "" for rank in ended]
    if any(name in error for name in change.names for error in errors):
        return f"refused {errors}"
    return f"FAULT refused without naming {' or '.join(change.names)}: {errors}"


def all_changes(campaign: Campaign, stage: Stage) -> Iterator[Change]:
    world, other = campaign.world(stage), campaign.work / "world-other"
    yield from corpus_changes(world, other)
    yield from folder_changes(world, other)
    yield from command_changes()
    yield from setting_changes()
    yield from file_changes(world, other)


def select(
    cases: Iterable[tuple[Stage, Change]], only: str, sample: int, seed: int
) -> list[tuple[Stage, Change]]:
    """Return the cases whose name contains `only`, or some of them, drawn from the seed."""
    chosen = [case for case in cases if only in f"{case[0].name}: {case[1].name}"]
    if sample:
        chosen = random.Random(seed).sample(chosen, min(sample, len(chosen)))
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sample", type=int, default=0, help="number of changes; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only changes whose name contains this")
    parser.add_argument("--stage", choices=[stage.name for stage in STAGES])
    parser.add_argument("--no-ranks", action="store_true", help="nothing with two ranks")
    parser.add_argument("--verbose", action="store_true", help="print each outcome")
    options = parser.parse_args()
    torch.set_num_threads(1)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        campaign = Campaign(Path(work).resolve(), options.verbose)
        campaign.set_up()
        stages = [stage for stage in STAGES if options.stage in (None, stage.name)]
        cases = [(stage, change) for stage in stages for change in all_changes(campaign, stage)]
        for stage, change in select(cases, options.only, options.sample, options.seed):
            campaign.attempt(stage, change)
        if not options.no_ranks:
            for name, outcome in rank_changes(campaign):
                if options.only not in name:
                    continue
                campaign.counts[outcome.split()[0]] += 1
                if outcome.startswith("FAULT"):
                    campaign.faults.append(f"{name}: {outcome}")
                if outcome.startswith("FAULT") or options.verbose:
                    print(f"{name}: {outcome}", flush=True)
    counts, faults = campaign.counts, campaign.faults
    print(
        f"{counts.total()} changes between runs ({counts['refused']} refused, {counts['equal']}"
        f" without effect, {counts['warned']} reported) in {time.monotonic() - started:.0f} s:"
        f" {len(faults)} faults"
    )
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
