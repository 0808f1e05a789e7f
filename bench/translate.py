"""Compare nmtkit's translation speed with its peers, in one run.

    python bench/translate.py --data MULTI30K [--peers FOLDER] [--threads 2] [--rounds 3]
    python bench/translate.py --prepared FOLDER --test test --size wide --work FOLDER …

Every system first trains a small model, kept under --work, so that later runs only measure. Then
all translate a tokenised test set, by default the 1,000 sentences of test2016, in turns, round by
round. Of a folder with BPE nmtkit reads words, which it splits itself, and the other systems read
pieces; outputs and references are joined to words. The time is that of the whole command minus the
median time of the same command on one short line: start-up and loading do not count. BLEU is
reported too, to expose systems that are fast because they are broken. CTranslate2, which has no
recurrent models, translates with a Transformer of OpenNMT-py. Prints a Markdown table per beam;
--output writes it to a file, and all readings to a JSON file. `--keep FOLDER` keeps the last
round's translations with their BLEU, so that examples/kept_outputs.py can compute it again.
"""

import argparse
import dataclasses
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from corpus import prepared_folder
from ctranslate2_system import CTranslate2
from operations import SIZES
from peer_systems import Marian, peers
from scoring import file_name, keep_command
from systems import BATCH, Command, Data, Nmtkit, System, Task, add_options
from timing import (
    CLOCKS,
    NMTKIT,
    BenchError,
    CommandCost,
    check_settings,
    exit_with,
    in_turns,
    machine,
    positive,
    report_progress,
    run_command,
    select_names,
    write_lines,
    write_report,
)
from translate_report import Reading, report

from nmtkit.models.precision import BFLOAT16_SIZE

PIECE_END = "@@ "
"""Behind a BPE piece that its word goes on after."""

UPDATES = 800
LEARNING_RATE = 2e-3
TEST = "test2016"
LINE = "A man is reading ."


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="bench/translate.py", description=__doc__.split("\n")[0])
    add_options(parser)
    parser.add_argument("--beams", type=positive, nargs="+", default=[12, 5, 1])
    parser.add_argument(
        "--updates", type=positive, default=UPDATES, help="how long models are trained"
    )
    parser.add_argument("--learning-rate", type=float, default=LEARNING_RATE)
    parser.add_argument("--batch", type=positive, default=BATCH, help="sentences an update")
    parser.add_argument("--size", choices=list(SIZES), default="small", help="of the models")
    parser.add_argument("--max-length", type=int, default=100, help="of sentences, in tokens")
    parser.add_argument("--test", default=TEST, metavar="NAME", help="test set of the folder")
    parser.add_argument(
        "--transformer-updates",
        type=int,
        default=0,
        metavar="N",
        help="add rows for CTranslate2, with a Transformer that was trained for so long",
    )
    parser.add_argument(
        "--batches",
        type=positive,
        nargs="+",
        default=[32, 64, 128],
        help="batch sizes to try once; each system uses its fastest",
    )
    parser.add_argument("--quantize", action="store_true", help="add rows for nmtkit --quantize")
    parser.add_argument(
        "--candidates",
        type=Path,
        nargs="?",
        const=Path(),
        metavar="FILE",
        help="add rows for nmtkit --candidates; without FILE, from the model's alignments",
    )
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--train-only", action="store_true", help="only train missing models")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="for translations and figures")
    parser.add_argument("--output", type=Path, help="Markdown file; JSON is put beside it")
    return parser.parse_args(arguments)


def check_data(prepared: Path, models: Path) -> None:
    """Check that all systems can be compared on a prepared folder, with the models of another run.

    :raises BenchError: its subwords are not BPE, or the models were trained on other data.
    """
    from nmtkit.data.manifest import read_manifest

    outputs = read_manifest(prepared)["outputs"]
    if not (prepared / "vocab.tgt").is_file():
        raise BenchError(f"{prepared}: has no shortlists; run nmtkit shortlist {prepared}")
    if "sentencepiece.src" in outputs:
        raise BenchError(
            f"{prepared}: has pieces of SentencePiece, which are not joined to words here; prepare"
            " with --subword bpe, or none"
        )
    check_settings(models, {"training data": [outputs[f"train.{side}"] for side in ("src", "tgt")]})


def lexicon_of(options: argparse.Namespace) -> Path:
    """Return the table of word translations: the one given, or the one beside nmtkit's model."""
    given: Path = options.candidates
    default = folder_of("nmtkit", options.updates, options) / "lexicon"
    return (default if given == Path() else given).absolute()


def rows_of(options: argparse.Namespace) -> dict[str, System]:
    """Return everything to measure, by its name in the table."""
    faster: dict[str, list[str]] = {}
    if options.quantize:
        faster["--quantize"] = ["--quantize"]
    if options.candidates:
        faster["--candidates"] = ["--candidates", str(lexicon_of(options))]
    if len(faster) == 2:
        faster["--quantize --candidates"] = [word for words in faster.values() for word in words]
    rows: dict[str, System] = {"nmtkit": Nmtkit()}
    if SIZES[options.size].hidden >= BFLOAT16_SIZE:  # the default may be bfloat16
        rows["nmtkit --precision float32"] = Nmtkit(extra=["--precision", "float32"])
    rows |= {f"nmtkit {name}": Nmtkit(extra=words) for name, words in faster.items()}
    rows |= {system.name: system for system in peers(options.peers, options.marian)}
    for marian in [system for system in rows.values() if isinstance(system, Marian)]:
        if options.candidates:
            shorter = Marian(marian.python, options.marian, lexicon_of(options))
            rows[f"{marian.name} --shortlist"] = shorter
    if options.transformer_updates:
        python = (options.peers or Path("nowhere")).absolute() / "opennmt" / "bin" / "python"
        if not python.is_file():
            report_progress("CTranslate2 is skipped: see bench/peers/build.sh")
        for compute_type in ("float32", "int8") if python.is_file() else ():
            system = CTranslate2(python, compute_type)
            rows[system.name] = system
    return {name: rows[name] for name in select_names(list(rows), options.only)}


def folder_of(system: str, updates: int, options: argparse.Namespace) -> Path:
    """Return the folder of a trained model, which is another one for other settings."""
    name = f"{system}-{updates}-{options.size}-{options.learning_rate:g}-{options.max_length}"
    name += "" if options.batch == BATCH else f"-{options.batch}"
    return Path(options.work) / "translate" / name


def task_of(system: System, data: Data, options: argparse.Namespace) -> Task:
    """Return the training of the model that a system translates with."""
    transformer = isinstance(system, CTranslate2)
    updates = options.transformer_updates if transformer else options.updates
    sizes, rate, longest = SIZES[options.size], options.learning_rate, options.max_length
    folder = folder_of(system.name.split()[0].lower(), updates, options).absolute()
    threads, batch = options.threads, options.batch
    return Task(data, folder, sizes, updates, threads, rate, longest, batch=batch)


def train_missing(rows: dict[str, System], data: Data, options: argparse.Namespace) -> list[str]:
    """Train the missing models; return the names of systems with a model."""
    ready = []
    for name, system in rows.items():
        task = task_of(system, data, options)
        if not system.model(task).exists():
            report_progress(f"training a model for {name}, {task.updates} updates")
            trainer = Nmtkit() if isinstance(system, Nmtkit) else system
            try:
                environment = system.environment(task.threads)
                run_command(trainer.train(task), task.folder / "train.log", environment)
            except BenchError as error:
                report_progress(f"{name} is skipped: {error}")
                shutil.rmtree(task.folder)
                continue
        ready.append(name)
    return ready


def make_lexicon(lexicon: Path, data: Data, task: Task) -> None:
    """Align the training pairs with nmtkit's model and write the lexicon of the linked words."""
    report_progress(f"aligning the training pairs for {lexicon}")
    texts: list[str | Path] = [
        write_words(data.text("train", side), task.folder) for side in ("src", "tgt")
    ]
    options: list[str | Path] = [
        "--model",
        task.folder / "model",
        "--lexicon",
        lexicon,
        "--tokenized",
    ]
    threads = ["--threads", str(task.threads)]
    run_command([*NMTKIT, "align", *texts, *options, *threads], task.folder / "align.log")


def joined(text: str) -> str:
    """Join BPE pieces to words."""
    return text.replace(PIECE_END, "")


def write_words(pieces: Path, folder: Path) -> Path:
    """Write the words of a text into a folder; return the file."""
    words = folder / pieces.name
    words.write_text(joined(pieces.read_text(encoding="utf-8")), encoding="utf-8")
    return words


def translate(system: System, task: Task, source: Path, beam: int) -> tuple[CommandCost, list[str]]:
    """Run the command on a file; return its cost and its output lines.

    :raises BenchError: The command failed or left lines out.
    """
    output = task.folder / f"{source.name}.{beam}.out"
    output.unlink(missing_ok=True)
    command = system.translate(task, source, output, beam)
    streams = system.streams(source, output)
    log = task.folder / "translate.log"
    cost = run_command(command, log, system.environment(task.threads), **streams)
    lines = output.read_text(encoding="utf-8").splitlines()
    expected = len(source.read_text(encoding="utf-8").splitlines())
    if len(lines) != expected:
        raise BenchError(f"{output}: {len(lines)} lines, not {expected}")
    return cost, lines


def read(
    system: System,
    task: Task,
    line: Path,
    beam: int,
    test: str = TEST,
    kept: Path | None = None,
) -> Reading:
    """Measure one round of one system on a test set.

    :param kept: file for the words of the translations.
    """
    from nmtkit.evaluation.metrics import tokenized_bleu

    source = task.data.text(test, "src")
    if isinstance(system, Nmtkit):
        source = write_words(source, task.folder)
    line_cost, _ = translate(system, task, line, beam)
    cost, output = translate(system, task, source, beam)
    translations = [joined(text) for text in output]
    references = joined(task.data.text(test, "tgt").read_text(encoding="utf-8")).splitlines()
    if kept is not None:
        write_lines(kept, translations)
    words = sum(len(translation.split()) for translation in translations)
    return Reading(cost, line_cost, words, tokenized_bleu(translations, references).value)


def choose_batches(
    beam: int, rows: dict[str, System], data: Data, options: argparse.Namespace
) -> None:
    """Choose each system's fastest batch size.

    It is tried once for each model, test set and number of threads, and cached in the work folder.
    """
    path = options.work / "translate" / "batches.json"
    cache = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    line = line_of(options)
    for name, system in rows.items():
        task = task_of(system, data, options)
        key = f"{name}, {task.folder.name}, {options.test}, beam {beam}, {task.threads} threads, "
        key += str(options.batches)
        if key not in cache and len(options.batches) > 1:
            speeds: dict[int, float] = {}
            for size in options.batches:
                report_progress(f"beam {beam}: {name} with batches of {size}")
                system.batches[beam] = size
                try:
                    reading = read(system, task, line, beam, options.test)
                except BenchError as error:
                    report_progress(str(error))
                    continue
                speeds[size] = reading.speed(options.clock, reading.line.by(options.clock))
            if not speeds:
                continue  # the failure is reported again in its rounds
            cache[key] = max(speeds, key=lambda size: speeds[size])
            path.write_text(json.dumps(cache, indent=1) + "\n", encoding="utf-8")
        system.batches[beam] = cache.get(key, options.batches[0])


def line_of(options: argparse.Namespace) -> Path:
    """Return a file with the single line that measures start-up."""
    line: Path = options.work.absolute() / "line.txt"
    line.write_text(LINE + "\n", encoding="utf-8")
    return line


def measure(
    beam: int, rows: dict[str, System], data: Data, options: argparse.Namespace
) -> dict[str, list[Reading]]:
    """Run all rounds of one beam."""
    line = line_of(options)

    def reading(name: str, system: System) -> Callable[[], Reading]:
        task, kept = task_of(system, data, options), text_of(name, beam, options)
        return lambda: read(system, task, line, beam, options.test, kept)

    runs = {name: reading(name, system) for name, system in rows.items()}
    return in_turns(runs, options.rounds, lambda line: report_progress(f"beam {beam}: {line}"))


def text_of(name: str, beam: int, options: argparse.Namespace) -> Path:
    """Return the file for the words that a row of the table translates to."""
    file = f"{options.test}.{file_name(name)}.beam-{beam}"
    return Path(options.work) / "translate" / "words" / file


def keep(name: str, beam: int, data: Data, options: argparse.Namespace) -> None:
    """Keep the translations of a row with their BLEU."""
    text = text_of(name, beam, options)
    reference = write_words(data.text(options.test, "tgt"), text.parent)
    corpus = data.prepared.absolute().parent.name
    command = f"python bench/translate.py --prepared {corpus}/prepared --test {options.test}"
    command += f" --size {options.size} --updates {options.updates} --batch {options.batch}"
    command += f" --learning-rate {options.learning_rate:g} --max-length {options.max_length}"
    if options.transformer_updates:
        command += f" --transformer-updates {options.transformer_updates}"
    command += f" --threads {options.threads} --beams {beam}"
    computation: Command = ["evaluate", text, reference, "--tokenized", "--measure", "bleu"]
    system = f"{name}, beam {beam}"
    kept = keep_command(options.keep, f"speed-{corpus}-{text.name}", system, command, computation)
    run_command(kept, text.parent / "keep.log")


def main(arguments: Sequence[str]) -> int:
    """Train missing models, measure and report."""
    options = options_of(arguments)
    prepared = options.prepared or prepared_folder(options.data, options.work)
    check_data(prepared, options.work / "translate")
    data = Data.open(prepared, options.work)
    rows = rows_of(options)
    ready = train_missing(rows, data, options)
    own = task_of(Nmtkit(), data, options)
    if options.candidates and Nmtkit().model(own).exists() and not lexicon_of(options).exists():
        make_lexicon(lexicon_of(options), data, own)
    if options.train_only:
        return 0
    rows = {name: rows[name] for name in ready}
    parts = [
        f"{machine()}, {options.threads} threads; {options.test}, {options.size} models of "
        f"{options.updates} updates; "
        f"median of {options.rounds} rounds taken in turns (lowest–highest).",
        "",
    ]
    figures: dict[str, Any] = {"machine": machine(), "threads": options.threads}
    for beam in options.beams:
        choose_batches(beam, rows, data, options)
        readings_by_system = measure(beam, rows, data, options)
        for name in readings_by_system if options.keep else ():
            keep(name, beam, data, options)
        parts.append(report(beam, readings_by_system, rows, options.clock))
        figures[f"beam {beam}"] = {
            name: [dataclasses.asdict(reading) for reading in readings]
            for name, readings in readings_by_system.items()
        }
    write_report(options.output, "\n".join(parts), figures)
    return 0


if __name__ == "__main__":
    exit_with(main)
