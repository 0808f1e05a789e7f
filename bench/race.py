"""Compare translation quality after the same minutes of wall-clock time.

    python bench/race.py --text en-fr=MULTI30K --text en-de=LOHELP/de --peers build/bench/peers
        [--minutes 2 5 10 20 40] [--threads 2] [--only nmtkit] [--picture race.svg]
        [--variant model.hidden=128] [--variant training.softmax_samples=0]

Each text is a folder with train, val and test files (`train*.en`, plain or gzip). `nmtkit prepare`
splits it into subwords once; all systems read these files. nmtkit trains with `--time` alone. The
other systems train with each of some sizes, batches and learning rates; the number of updates that
fills the time follows from a measurement of theirs, so that their learning rates end with the
training, too. Everything counts: starting, reading, validations, saving. One system at a time has
the machine. Translations of the test set (beam 5), joined to raw text, are scored by sacreBLEU; of
another system's settings the best counts, by the test set itself. Each --variant of nmtkit has some
settings in place of the planned ones. What was measured is kept in `--work`: a race that was
interrupted goes on, and `--measured` reports so far. `--updates` gives the peers' number of updates
where their speed is known from a machine that was theirs alone: the training may take longer then.
`--keep FOLDER` keeps all translations with their figures, so that examples/kept_outputs.py can
compute these again. Figures that an earlier race wrote by `--output race.md`, into race.json, are
reported and drawn again without racing:

    python bench/race.py --results bench/race_zen4.json --picture docs/explanation/race.svg
"""

import argparse
import itertools
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from corpus import Text
from languages import RecipeNmtkit
from operations import Sizes
from plotting import draw
from race_report import HEADER, Row, panels_of, read_rows, summary
from race_systems import peers
from scoring import evaluation, file_name, join_pieces, keep_command, scores_of
from systems import Data, System, Task
from timing import (
    BenchError,
    exit_with,
    machine,
    positive,
    report_progress,
    run_command,
    select_names,
    table,
    write_report,
)

CALIBRATION, WARMUP = 60, 20
"""Updates by which the speed is measured, and those of them that are not counted."""

BEAM = 5

MAX_LENGTH = 150
"""Most tokens of a sentence that the other systems train on, and of their translations."""


class PlannedNmtkit(RecipeNmtkit):
    """nmtkit as a user starts it who has some minutes."""

    name = "nmtkit --time"

    def __init__(self, minutes: float, variant: str = "") -> None:
        """Have some minutes.

        :param variant: settings in place of those of the plan, "section.key=value", with blanks
            between them.
        """
        super().__init__(extra=[])
        self.minutes = minutes
        self.variant = variant
        self.settings = [word for setting in variant.split() for word in ("--set", setting)]
        self.name = " ".join(filter(None, [self.name, variant]))

    def write_training(self, task: Task) -> list[str]:
        """Return the options of the command."""
        fixed = ["train", str(task.data.prepared), "--output", str(task.folder / "model")]
        time = f"{60 * self.minutes:g}s"
        return [*fixed, "--force", "--time", time, "--threads", str(task.threads), *self.settings]


@dataclass(frozen=True)
class Result:
    """Figures of a translated test set, in percent.

    updates: of the training; 0 where the system itself decides. minutes: of wall-clock time; None
    where the updates were given, which say nothing of it. threads: of the training; 0: unknown, of
    an earlier version.
    """

    bleu: float
    chrf: float
    updates: int
    minutes: float | None
    threads: int = 0


@dataclass(frozen=True)
class Setting:
    """What a system trains with; nothing but the name where it decides itself."""

    name: str
    hidden: int = 0
    batch_tokens: int = 0
    rate_factor: float = 1.0

    @classmethod
    def of_peer(cls, hidden: int, batch_tokens: int, rate_factor: float) -> "Setting":
        """Return the setting of a system that has to be told everything."""
        name = f"n = {hidden}, batches of {batch_tokens:,}, learning rate × {rate_factor:g}"
        return cls(name, hidden, batch_tokens, rate_factor)


@dataclass(frozen=True)
class Entry:
    """A system with one of its settings, on one text, for some minutes.

    updates: of a peer's training, where they are known; 0: as many as fill the minutes.
    """

    text: Text
    data: Data
    folder: Path
    system: System
    setting: Setting
    minutes: float
    threads: int
    updates: int = 0

    def __str__(self) -> str:
        return f"{self.text.name}, {self.minutes:g} min: {self.system.name}, {self.setting.name}"

    @property
    def task(self) -> Task:
        """The training, without its number of updates."""
        setting = self.setting
        name = f"{self.system.name}-{setting.name}-{self.minutes:g}"
        folder = (self.folder / re.sub("[^a-zA-Z0-9.=]+", "-", name)).resolve()
        n = setting.hidden
        return Task(
            self.data,
            folder,
            Sizes(n, n, n, n),
            updates=0,
            threads=self.threads,
            max_length=MAX_LENGTH,
            batch_tokens=setting.batch_tokens,
            rate_factor=setting.rate_factor,
        )

    def result(self) -> Result:
        """Return the figures, measured now or earlier.

        :raises BenchError: they were measured with other threads.
        """
        record = self._record
        if not record.exists():
            report_progress(str(self))
            result = self._measure()
            report_progress(f"{self}: {result}")
            record.write_text(json.dumps(asdict(result)), encoding="utf-8")
        result = Result(**json.loads(record.read_text(encoding="utf-8")))
        if result.threads not in (0, self.threads):
            raise BenchError(
                f"{record}: measured with {result.threads} threads, not {self.threads}; remove it,"
                " or name another --work"
            )
        return result

    @property
    def is_measured(self) -> bool:
        """Return whether an earlier run has left the figures."""
        return self._record.exists()

    @property
    def _record(self) -> Path:
        return self.task.folder / "result.json"

    def _measure(self) -> Result:
        """Train, translate and score."""
        system, planned = self.system, isinstance(self.system, PlannedNmtkit)
        updates = 0 if planned else self.updates or self._updates()
        task = replace(self.task, updates=updates)
        environment = system.environment(task.threads)
        cost = run_command(system.train(task), task.folder / "log", environment)
        output = task.folder / "output"
        output.unlink(missing_ok=True)
        source = self.data.text("test", "src")
        if planned:
            source = self.text.file("test", self.text.src)
        translate = system.translate(task, source, output, BEAM)
        streams = system.streams(source, output)
        run_command(translate, task.folder / "translate.log", environment, **streams)
        if not planned:
            join_pieces(self.data, output, self.translation)
        chrf, bleu = scores_of(self.translation, self.reference, self.text.tgt)
        minutes = None if updates and self.updates else cost.seconds / 60
        return Result(bleu, chrf, updates, minutes, self.threads)

    @property
    def translation(self) -> Path:
        """The translated test set, as raw text."""
        planned = isinstance(self.system, PlannedNmtkit)
        return self.task.folder / ("output" if planned else "output.txt")

    @property
    def reference(self) -> Path:
        return self.text.file("test", self.text.tgt)

    def keep(self, folder: Path) -> None:
        """Keep the measured translation and its figures.

        :raises BenchError: it is gone.
        """
        if not self.translation.is_file():
            raise BenchError(f"{self.translation}: missing; remove result.json there to race again")
        run_command(self.keep_command(folder), self.task.folder / "keep.log")

    def keep_command(self, folder: Path) -> list[str | Path]:
        """Return the command that keeps the translation, with the figures of `scores_of`."""
        text = self.text
        name = f"{file_name(text.name)}/{self.task.folder.name}"
        race = f"python bench/race.py --text {text.src}-{text.tgt}={text.folder.name}"
        race += f" --minutes {self.minutes:g}{self._own_options()}"
        computation = evaluation(self.translation, self.reference, text.tgt)
        return keep_command(folder, name, str(self), race, computation)

    def _own_options(self) -> str:
        """Return the options that train the system so again."""
        setting = self.setting
        if isinstance(self.system, PlannedNmtkit):
            variant = (
                f" --variant {shlex.quote(self.system.variant)}" if self.system.variant else ""
            )
            return f" --only {shlex.quote(self.system.name)}{variant} --threads {self.threads}"
        trained = f" --batch-tokens {setting.batch_tokens} --rates {setting.rate_factor:g}"
        trained += f" --updates {self.result().updates} --threads {self.threads}"
        return f" --peers PEERS --only '{self.system.name}' --hidden {setting.hidden}{trained}"

    def _updates(self) -> int:
        """Return the number of updates that fill the time, by a measurement of some."""
        task = replace(self.task, updates=CALIBRATION)
        task = replace(task, folder=task.folder / "calibration")
        environment = self.system.environment(task.threads)
        log = task.folder / "log"
        update = self.system.seconds_per_update(task, WARMUP)
        once = replace(task, updates=1, folder=task.folder / "once")
        start = run_command(self.system.train(once), log, environment).seconds - update
        return max(1, int((60 * self.minutes - start) / update))


def entries_of(options: argparse.Namespace) -> Iterator[Entry]:
    """Prepare each text; yield its entries, the shortest first."""
    for text in map(Text.parse, options.text):
        work = options.work / text.name.replace(" ", "-")
        data = Data.open(text.prepare(work, options.size), work)
        for minutes in sorted(options.minutes):
            systems = list(systems_of(options, minutes))
            names = list(dict.fromkeys(system.name for system, _ in systems))
            selected = select_names(names, options.only, whole=True)
            for system, setting in systems:
                if system.name not in selected:
                    continue
                place = (text, data, work, system, setting)
                entry = Entry(*place, minutes, options.threads, options.updates)
                if entry.is_measured or not options.measured:
                    yield entry


def systems_of(options: argparse.Namespace, minutes: float) -> Iterator[tuple[System, Setting]]:
    """Yield the systems with their settings."""
    yield PlannedNmtkit(minutes), Setting("planned")
    for variant in options.variant:
        yield PlannedNmtkit(minutes, variant), Setting("settings")
    settings = itertools.product(options.hidden, options.batch_tokens, options.rates)
    peer_settings = list(itertools.starmap(Setting.of_peer, settings))
    yield from itertools.product(peers(options.peers, options.marian), peer_settings)


def best_of(entries: Sequence[Entry], kept: Path | None = None) -> list[Row]:
    """Measure all entries; return the best setting of each text, time and system.

    :param kept: folder that gets all translations and their figures.
    """
    best: dict[tuple[str, float, str], Row] = {}
    for entry in entries:
        result = entry.result()
        if kept:
            entry.keep(kept)
        key = entry.text.name, entry.minutes, entry.system.name
        trained = (entry.setting.name, result.updates, result.minutes)
        row = Row(*key, *trained, result.bleu, result.chrf)
        if key not in best or row.bleu > best[key].bleu:
            best[key] = row
    return list(best.values())


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", action="append", default=[], help="SRC-TGT=FOLDER")
    parser.add_argument("--peers", type=Path, help="folder that bench/peers/build.sh filled")
    parser.add_argument("--marian", type=Path, help="a binary of Marian, in place of pymarian's")
    parser.add_argument("--minutes", nargs="+", type=float, default=[2, 5, 10, 20, 40])
    parser.add_argument(
        "--hidden", nargs="+", type=positive, default=[128, 256], help="of the peers"
    )
    parser.add_argument(
        "--batch-tokens",
        nargs="+",
        type=positive,
        default=[800, 1600],
        help="of the recurrent peers",
    )
    parser.add_argument(
        "--rates", nargs="+", type=float, default=[1, 2], help="factors on the peers' learning rate"
    )
    parser.add_argument("--variant", action="append", default=[], help="settings of nmtkit")
    parser.add_argument(
        "--updates", type=positive, default=0, help="of the peers: nothing is measured"
    )
    parser.add_argument(
        "--only", nargs="+", help="only systems of these names, or with such beginnings"
    )
    parser.add_argument("--size", type=int, default=8000, help="of the subword model")
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--work", type=Path, default=Path("build/bench/race"))
    parser.add_argument("--measured", action="store_true", help="report what is measured, no more")
    parser.add_argument(
        "--results", nargs="+", type=Path, default=[], help="JSON that --output wrote: no race"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="for translations and figures")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args(arguments)
    if not (options.text or options.results):
        parser.error("give the texts to race on, --text, or figures of earlier races, --results")
    return options


def main(arguments: Sequence[str]) -> int:
    options = options_of(arguments)
    rows = read_rows(options.results) or best_of(list(entries_of(options)), options.keep)
    markdown = table(HEADER, [row.cells() for row in rows]) + f"\n{summary(rows)}"
    if not options.results:
        markdown = f"{machine()}\n\n{markdown}"
    write_report(options.output, markdown, [asdict(row) for row in rows])
    if options.picture:
        draw(options.picture, panels_of(rows), "BLEU of each system against training time")
    return 0


if __name__ == "__main__":
    exit_with(main)
