"""Measure `nmtkit adapt` beside long fine-tuning: what is won in the new domain, lost in the old.

    python bench/adapt.py --model laws --data captions.en captions.fr --test new.en new.fr
        --old-test old.en old.fr [--guard dev.en dev.fr] [--replay prepared] [--pairs 100 1000 5000]
        [--few 10 30 100] [--max-words 20] [--time 5m] [--long 30m] [--processor-time]
        --work folder --output adapt.md

For each number of pairs, that many are drawn from the data and learned in the given time. Beside it
stands plain fine-tuning on the same pairs, for the longer time, without the old data; of
its marks, eight in its time and its end, the one with the best BLEU on the new test set counts,
which favours it. The second table has handfuls of short pairs: how many come out right. Figures
that an earlier run has left in the work folder are not measured again.

With --processor-time, minutes are those of this process's processor, one thread, so that other work
on the machine does not matter.

The work folder gets the translations that are measured and their references, of the new and old
test sets and of the corrections, so that examples/kept_outputs.py can keep them.
"""

import argparse
import dataclasses
import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from timing import (
    BenchError,
    check_settings,
    exit_with,
    machine,
    positive,
    report_progress,
    table,
    write_lines,
    write_report,
)

from nmtkit import LossRefused, Translator, adapt
from nmtkit.data.batching import Batches
from nmtkit.durations import format_duration, parse_duration
from nmtkit.inference.ensemble import Ensemble
from nmtkit.io.lines import read_parallel
from nmtkit.io.parameters import Parameters
from nmtkit.model_folder import build_model, load_model
from nmtkit.training.adaptation.corrections import corpus_of, read_pairs, usable_corrections
from nmtkit.training.adaptation.examiner import Judge, Purpose, TestSet
from nmtkit.training.adaptation.fine_tuning import MANY, FineTuner, settings_for

MARKS = 8
"""Times that a long fine-tuning is measured."""

Bleus = tuple[float, float]
"""BLEU on the new and on the old test set."""


def texts_of(translator: Translator, sources: Sequence[str]) -> list[str]:
    """Return the translations of lines."""
    return [best[0].text for best in translator.translate(sources)]


class Tests:
    """The new and the old test set."""

    def __init__(self, options: argparse.Namespace, lines: int) -> None:
        """Read the sets, at most so many lines of each, and write their references."""
        languages = ("", "")
        self.sets = {
            name: TestSet.of(Purpose.GUARD, str(files[0]), read_pairs(files, languages)).sample(
                lines
            )
            for name, files in (("new", options.test), ("old", options.old_test))
        }
        self.judge = Judge(load_model(options.model, "cpu").config.text)
        for name, test_set in self.sets.items():
            write_lines(options.work / f"{name}.reference", test_set.references)

    def bleus(self, translator: Translator, outputs: Path) -> Bleus:
        """Return the BLEU of both.

        :param outputs: beginning of the names of the files with the translations.
        """
        bleus = {}
        for name, test_set in self.sets.items():
            translations = texts_of(translator, test_set.sources)
            write_lines(Path(f"{outputs}.{name}"), translations)
            bleus[name] = self.judge.score(test_set, translations)
        return bleus["new"], bleus["old"]


def draw(files: Sequence[Path], count: int, max_words: int, folder: Path) -> Path:
    """Write some random pairs into a TSV file; the smaller numbers are parts of the larger."""
    pairs = [pair for pair in read_parallel(*map(str, files)) if all(pair)]
    if max_words:
        pairs = [pair for pair in pairs if 4 <= len(pair[0].split()) <= max_words]
    random.Random(1).shuffle(pairs)
    path = folder / f"pairs-{count}-{max_words}.tsv"
    path.write_text("".join(f"{src}\t{tgt}\n" for src, tgt in pairs[:count]), encoding="utf-8")
    return path


def draw_all(files: Sequence[Path], count: int, max_words: int, folder: Path) -> Path:
    """Write random pairs, as `draw`.

    :raises BenchError: there are fewer.
    """
    path = draw(files, count, max_words, folder)
    found = path.read_text(encoding="utf-8").count("\n")
    if found < count:
        path.unlink()
        length = f" of 4 to {max_words} words" if max_words else ""
        raise BenchError(f"{files[0]}: {found:,} pairs{length}, but {count:,} are to be drawn")
    return path


def adapted(options: argparse.Namespace, data: Path, tests: Tests) -> dict[str, Any]:
    """Adapt the model to some pairs, and measure it on both test sets."""
    output = options.work / f"{data.stem}.model"
    arguments: dict[str, Any] = {"time": options.time, "replay": options.replay, "force": True}
    guards = [options.guard] if options.guard else []
    try:
        report = adapt(options.model, data, output, guards, device="cpu", **arguments).report
    except LossRefused as refusal:
        return {"refused": str(refusal), "report": refusal.report.as_dict()}
    translator = Translator.load(output, device="cpu")
    outputs = options.work / f"{data.stem}.adapt"
    if report.right_after is not None:
        pairs = read_pairs([data], ("", ""))
        translations = texts_of(translator, [pair.src for pair in pairs])
        write_lines(Path(f"{outputs}.corrections"), translations)
        write_lines(Path(f"{outputs}.reference"), [pair.tgt for pair in pairs])
    return {"bleus": tests.bleus(translator, outputs), "report": report.as_dict()}


def fine_tuned(options: argparse.Namespace, data: Path, tests: Tests) -> dict[str, Any]:
    """Fine-tune the model on some pairs alone for a long time; return the best of its marks."""
    model = load_model(options.model, "cpu")
    trained = build_model(model.config, len(model.src_vocab), len(model.tgt_vocab))
    trained.load_state_dict(model.model.state_dict())  # type: ignore[attr-defined]
    pairs = read_pairs([data], ("", ""))
    corrections = usable_corrections(pairs, model, "", [data])
    settings = settings_for(model.config.training, many=len(corrections) >= MANY)
    batches = dataclasses.replace(
        model.config.data, batch_size=settings.tokens, batch_unit="tokens", shuffle="every-epoch"
    )
    corpus = corpus_of(((c.src, c.tgt) for c in corrections), model, "the corrections")
    tuner = FineTuner(
        trained,
        Batches(corpus, batches, 1),
        None,
        settings,
        model.config.training,
        model.tgt_vocab,
    )
    kept: list[Parameters] = []  # measured afterwards, so that translating takes none of the time
    seconds = options.long
    start = time.monotonic()

    def keep() -> bool:
        if time.monotonic() - start >= (len(kept) + 1) * seconds / (MARKS + 1):
            kept.append(copied_parameters(trained))
        return False

    tuner.run(seconds, keep)
    kept.append(copied_parameters(trained))
    marks: list[Bleus] = []
    trained.eval()
    for number, parameters in enumerate(kept, 1):
        trained.load_state_dict(parameters)
        outputs = options.work / f"{data.stem}.long-{number}"
        with torch.no_grad():
            measured = dataclasses.replace(model, model=trained)
            marks.append(tests.bleus(Translator(Ensemble((measured,))), outputs))
        report_progress(f"{data.stem}: mark {len(marks)} of {len(kept)}: {marks[-1]}")
    return {"bleus": max(marks), "marks": marks, "updates": tuner.updates}


def copied_parameters(model: torch.nn.Module) -> Parameters:
    """Return a copy of a model's parameters."""
    return {name: value.clone() for name, value in model.state_dict().items()}


def kept(
    options: argparse.Namespace,
    data: Path,
    name: str,
    measure: Callable[[argparse.Namespace, Path, Tests], dict[str, Any]],
    tests: Tests,
) -> dict[str, Any]:
    """Return what an earlier run has measured, or measure it and keep it."""
    path = options.work / f"{data.stem}.{name}.json"
    if not path.exists():
        report_progress(f"{data.stem}: {name}")
        path.write_text(json.dumps(measure(options, data, tests), indent=1), encoding="utf-8")
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


def unadapted(options: argparse.Namespace, data: Path, tests: Tests) -> dict[str, Any]:
    """Measure the old model."""
    translator = Translator.load(options.model, device="cpu")
    return {"bleus": tests.bleus(translator, options.work / "before")}


def domain_rows(options: argparse.Namespace, tests: Tests, before: Bleus) -> list[list[str]]:
    """Return a row for each number of pairs."""
    rows = []
    for count in options.pairs:
        data = draw_all(options.data, count, 0, options.work)
        new = kept(options, data, "adapt", adapted, tests)
        long = kept(options, data, "long", fine_tuned, tests)
        if "refused" in new:
            rows.append([f"{count:,}", "refused", *["–"] * 7])
            continue
        gains = [result["bleus"][0] - before[0] for result in (new, long)]
        rows.append(
            [
                f"{count:,}",
                f"{before[0]:.1f}",
                f"{long['bleus'][0]:.1f}",
                f"{new['bleus'][0]:.1f}",
                f"{100 * gains[0] / gains[1]:.0f} %" if gains[1] > 0 else "–",
                f"{before[1]:.1f}",
                f"{long['bleus'][1]:.1f}",
                f"{new['bleus'][1]:.1f}",
                format_duration(new["report"]["seconds"]),
            ]
        )
    return rows


def few_rows(options: argparse.Namespace, tests: Tests, before: Bleus) -> list[list[str]]:
    """Return a row for each handful."""
    rows = []
    for count in options.few:
        data = draw_all(options.data, count, options.max_words, options.work)
        new = kept(options, data, "adapt", adapted, tests)
        report = new["report"]
        right = f"{report['right_before']} → {report['right_after']} of {report['corrections']}"
        olds = ["refused", "–"]
        if "bleus" in new:
            olds = [f"{before[1]:.1f}", f"{new['bleus'][1]:.1f}"]
        rows.append([f"{count}", right, *olds, format_duration(report["seconds"])])
    return rows


def main(arguments: Sequence[str]) -> int:
    """Measure everything, and write the tables."""
    options = parse_options(arguments)
    torch.set_num_threads(options.threads)
    if options.processor_time:
        time.monotonic = time.process_time
    check_settings(options.work, kept_settings(options))
    tests = Tests(options, options.lines)
    new, old = kept(options, Path("old"), "before", unadapted, tests)["bleus"]
    before = (new, old)
    kind = "processor time, one thread" if options.processor_time else f"{options.threads} threads"
    spent = f"{format_duration(parse_duration(options.time))}, {kind}"
    few = few_rows(options, tests, before)
    rows = domain_rows(options, tests, before)
    long = format_duration(options.long)
    heads = ["pairs", "new: before", f"{long} alone", "adapt", "share of the gain"]
    heads += ["old: before", f"{long} alone", "adapt", "time"]
    parts = [f"{options.model}, adapted in {spent}; {machine()}", ""]
    parts += [table(heads, rows), ""] if rows else []
    few_heads = ["corrections", "come out right", "old: before", "after", "time"]
    parts += [table(few_heads, few), ""] if few else []
    write_report(options.output, "\n".join(parts), {"few": few, "pairs": rows})
    return 0


def kept_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options that figures in the work folder depend on."""
    left_out = ("pairs", "few", "work", "output")  # the names of its files have the numbers
    return {name: value for name, value in vars(options).items() if name not in left_out}


def parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", required=True, metavar="DIR")
    for name in ("data", "test", "old-test"):
        parser.add_argument(f"--{name}", nargs=2, required=True, type=Path, metavar="FILE")
    parser.add_argument("--guard", nargs=2, type=Path, metavar="FILE")
    parser.add_argument("--replay", metavar="PREPARED")
    parser.add_argument("--pairs", nargs="*", type=positive, default=[100, 1000, 5000], metavar="N")
    parser.add_argument("--few", nargs="*", type=int, default=[10, 30, 100], metavar="N")
    parser.add_argument("--max-words", type=int, default=20, metavar="N")
    parser.add_argument(
        "--lines", type=positive, default=1000, metavar="N", help="of each test set"
    )
    parser.add_argument("--time", default="5m")
    parser.add_argument("--long", type=parse_duration, default=1800.0)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--work", type=Path, required=True, metavar="DIR")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    options.threads = 1 if options.processor_time else options.threads
    return options


if __name__ == "__main__":
    exit_with(main)
