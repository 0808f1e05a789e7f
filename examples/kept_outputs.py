"""Keep a system's outputs with their figures, and compute the figures again without the system.

    kept_outputs.py keep examples/outputs --name demo.fr --system 'nmtkit, recipe toy' \\
        --command 'make demo' \\
        --claim docs/tutorials/first-translator.md sacreBLEU 'it reaches BLEU 98.1' \\
        -- evaluate demo-work/test.hyp.fr demo-work/raw/test.fr -t fr --measure sacrebleu
    kept_outputs.py check examples/outputs --references demo-work/raw

`keep` writes NAME.gz, the output, and NAME.json, its record: system, commands, date, versions, the
figures, and how they are computed. After `--` stands that computation, `evaluate OUTPUT REFERENCE
...` with the options of `nmtkit evaluate`, or another kind (computation.py); the first file is the
one that is kept. References and sources are not: the record has their names and checksums. The
record of an output with the same content gets further figures; another output under the name
replaces it. With `--mean-with NAME...` the claims of the command are of the means of this output
and of others that are kept.
`--recorded FOLDER FILE...` keeps the outputs behind JSON files of `nmtkit evaluate` instead, each
with its computation in FILE.args, one word a line, and scores of `nmtkit score` (.scores), with the
tokenised text that lies in `text` beside the model's folder; FOLDER is left out of all names.

`check` verifies SHA256SUMS (also `sha256sum -c`), and those of folders inside that have their own,
computes every figure whose files are in a folder of --references, by name and checksum, plain or
compressed, and prints it beside the kept one. Each claim must stand in its document, with the
figure rounded as there, and times 100 before a "%". It returns 1 if anything differs.
"""

import argparse
import datetime
import gzip
import json
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import mean
from typing import Any

from computation import Computation, Figures, content_sha256, figures_of, name_in
from corpora import CorpusError, run_program

from nmtkit import __version__
from nmtkit.errors import NmtkitError
from nmtkit.io.lines import file_sha256, read_data

ROOT = Path(__file__).resolve().parent.parent
SUMS = "SHA256SUMS"
EQUAL = 1e-6
"""Largest difference of two computations of a figure."""

PACKAGES = ("sacrebleu", "sacremoses", "torch")
NUMBER = re.compile(r"-?[0-9]+(?:\.([0-9]+))?")

Record = dict[str, Any]
Claim = dict[str, Any]
"""A figure, and the document and its text that claim it; `mean_with`: names of further outputs."""

# ---- Keeping


def write(path: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(content)
    os.replace(part, path)


def new_record(options: argparse.Namespace, computation: Computation, content: bytes) -> Record:
    """Return the record of an output without figures."""
    versions = {"python": platform.python_version(), "nmtkit": __version__}
    versions |= {name: version(name) for name in PACKAGES}
    return {
        "system": options.system,
        "commands": options.command,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": versions,
        "output": computation.words[1]["output"],
        "sha256": content_sha256(computation.output),
        "lines": content.count(b"\n"),
        "figures": [],
        "claims": [],
    }


def keep(folder: Path, name: str, computation: Computation, figures: Figures, options: Any) -> None:
    """Keep an output with its figures.

    :param options: has `system`, `command`, `claim` and `mean_with` of the command line.
    """
    content = read_data(computation.output)
    record = new_record(options, computation, content)
    path = folder / f"{name}.json"
    if path.is_file():
        old = read_record(path)
        if old["sha256"] == record["sha256"]:
            record["figures"] = [f for f in old["figures"] if f["computation"] != computation.words]
            record["claims"] = old["claims"]
    record["figures"].append({"computation": computation.words, "values": figures})
    for document, measure, text in options.claim:
        claim: Claim = {
            "document": document,
            "figure": named_figure(figures, measure),
            "text": text,
        }
        if options.mean_with:
            claim["mean_with"] = options.mean_with
        if problem := wrong_claim(claim, record, folder):
            raise CorpusError(problem)
        record["claims"] = [c for c in record["claims"] if c != claim] + [claim]
    write(folder / f"{name}.gz", gzip.compress(content, mtime=0))
    write(path, (json.dumps(record, ensure_ascii=False, indent=1) + "\n").encode())


def named_figure(figures: Figures, part: str) -> str:
    """Return the only measure whose name contains a text.

    :raises CorpusError: None or several do.
    """
    names = [name for name in figures if part in name]
    if len(names) != 1:
        raise CorpusError(f"'{part}' must name one of the figures: {', '.join(figures)}")
    return names[0]


def inner_folders(folder: Path) -> list[Path]:
    """Return the folders of kept outputs inside a folder: those with a SHA256SUMS of their own."""
    return sorted(path.parent for path in folder.rglob(SUMS) if path.parent != folder)


def own_files(folder: Path) -> list[Path]:
    """Return the outputs and records of a folder, without those of folders that keep their own."""
    inner = inner_folders(folder)
    paths = (path for path in folder.rglob("*") if path.suffix in (".gz", ".json"))
    return sorted(path for path in paths if not any(path.is_relative_to(sub) for sub in inner))


def write_sums(folder: Path) -> None:
    """Write the checksums of the folder's own files."""
    lines = (f"{file_sha256(path)}  {path.relative_to(folder)}\n" for path in own_files(folder))
    write(folder / SUMS, "".join(lines).encode())


def scores(root: Path, path: Path) -> tuple[str, Computation, Figures]:
    """Return the scores of a model's folder, with the tokenised text beside it if there is one."""
    text = path.parents[1] / "text" / path.with_suffix(".tgt").name
    words = ["score", str(path), *([str(text)] if text.is_file() else [])]
    computation = Computation.parse(words, root)
    return name_in(root, path), computation, computation.run()


def recorded(root: Path, path: Path) -> Iterator[tuple[str, Computation, Figures]]:
    """Yield the output behind a JSON file of `nmtkit evaluate`, if it has figures, or scores.

    :raises CorpusError: nothing says how it was computed, or it is no such file.
    """
    if path.suffix == ".scores":
        yield scores(root, path)
        return
    try:
        figures = figures_of(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise CorpusError(f"{path}: not the JSON of nmtkit evaluate") from error
    words = path.with_suffix(".args")
    if not figures:
        return  # no sentence was measured
    if not words.is_file():
        raise CorpusError(
            f"{path}: {words.name} is missing; remove {path.name} to measure it again"
        )
    computation = Computation.parse(words.read_text(encoding="utf-8").split("\n")[:-1], root)
    yield name_in(root, computation.output), computation, figures


# ---- Checking


def read_record(path: Path) -> Record:
    """Return a record.

    :raises CorpusError: It is no record.
    """
    try:
        record: Record = json.loads(path.read_text(encoding="utf-8"))
        return {key: record[key] for key in ("sha256", "figures", "claims", "system", "output")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{path}: not a record of a kept output") from error


def damaged(folder: Path) -> Iterator[str]:
    """Yield what differs between the folder, or one inside it, and its SHA256SUMS."""
    for kept in (folder, *inner_folders(folder)):
        lines = (kept / SUMS).read_text(encoding="utf-8").splitlines()
        sums = {name: checksum for checksum, _, name in (line.partition("  ") for line in lines)}
        place = kept.relative_to(folder)
        for path in own_files(kept):
            if sums.pop(str(path.relative_to(kept)), None) != file_sha256(path):
                yield f"{path.relative_to(folder)}: not the file of {place / SUMS}"
        yield from (f"{place / name}: missing" for name in sums)


def find(file: Mapping[str, str], folders: Sequence[Path]) -> Path | None:
    """Return the file with a name and checksum in the folders, plain or compressed."""
    name = Path(file["file"]).name
    for folder in folders:
        for path in sorted(folder.rglob(f"{name}*")):
            same_name = path.name in (name, f"{name}.gz", f"{name}.xz", f"{name}.zst")
            if same_name and path.is_file() and content_sha256(path) == file["sha256"]:
                return path
    return None


def claimed_values(claim: Claim, record: Record, folder: Path) -> Iterator[float]:
    """Yield the kept values of a claim's figure, or their means with those of other outputs.

    :raises CorpusError: another output is not kept.
    """
    others = [read_record(folder / f"{name}.json") for name in claim.get("mean_with", ())]
    for figure in record["figures"]:
        same = [figure]
        for one in others:  # computed alike, but of its own output
            same += [f for f in one["figures"] if rest_of(f) == rest_of(figure)]
        if claim["figure"] in figure["values"] and len(same) == 1 + len(others):
            yield mean(f["values"][claim["figure"]]["value"] for f in same)


def rest_of(figure: Mapping[str, Any]) -> list[Any]:
    """Return the words of a computation without its output."""
    kind, _, *others = figure["computation"]
    return [kind, *others]


def wrong_claim(claim: Claim, record: Record, folder: Path) -> str:
    """Say what is wrong with a claim; empty if nothing is.

    :param folder: of the kept outputs.
    """
    document = ROOT / claim["document"]
    text = " ".join(document.read_text(encoding="utf-8").split())
    if " ".join(claim["text"].split()) not in text:
        return f"{claim['document']}: does not say '{claim['text']}'"
    number = list(NUMBER.finditer(claim["text"]))[-1:]
    scale = 100 if claim["text"].endswith("%") else 1
    values = [value * scale for value in claimed_values(claim, record, folder)]
    digits = len(number[0][1] or "") if number else 0
    if not number or not any(f"{value:.{digits}f}" == number[0][0] for value in values):
        kept = ", ".join(f"{value:.{digits + 2}f}" for value in values)
        return f"{claim['document']}: '{claim['text']}', but {claim['figure']} is {kept}"
    return ""


@dataclass
class Outcome:
    """What a check found, in numbers of figures."""

    equal: int = 0
    wrong: int = 0
    left: int = 0


def check_figures(path: Path, folders: Sequence[Path], outcome: Outcome) -> Iterator[str]:
    """Yield a line for each figure of a record: measure, kept and new value, and whether equal."""
    record = read_record(path)
    output = path.with_suffix(".gz")
    if content_sha256(output) != record["sha256"]:
        outcome.wrong += 1
        yield f"{output.name}: not the output of {path.name}"
        return
    for figure in record["figures"]:
        words = figure["computation"]
        files = {at: word for at, word in enumerate(words) if isinstance(word, dict) and at != 1}
        paths = {at: find(word, folders) for at, word in files.items()}
        missing = [files[at] for at, found in paths.items() if found is None]
        if missing:
            outcome.left += len(figure["values"])
            name, checksum = missing[0]["file"], missing[0]["sha256"]
            yield f"{output.name}: not computed: --references lacks {name}, SHA-256 {checksum}"
            continue
        there = {at: found for at, found in paths.items() if found is not None}
        again = Computation(words, {1: output, **there}).run()
        for name, kept in figure["values"].items():
            value = again[name]["value"] if name in again else float("nan")
            equal = abs(value - kept["value"]) <= EQUAL
            outcome.equal, outcome.wrong = outcome.equal + equal, outcome.wrong + (not equal)
            said = "equal" if equal else "DIFFERS"
            yield f"{output.name}\t{name}\t{kept['value']:.4f}\t{value:.4f}\t{said}"


def check(folder: Path, folders: Sequence[Path]) -> bool:
    """Check all kept outputs; print figures to stdout and problems to stderr.

    :return: True if nothing differs.
    :raises CorpusError: the folder has no kept outputs.
    """
    if not (folder / SUMS).is_file():
        raise CorpusError(f"{folder}: has no {SUMS}: nothing was kept there")
    outcome, problems = Outcome(), 0
    for problem in damaged(folder):
        print(f"kept_outputs: {problem}", file=sys.stderr)
        problems += 1
    for path in sorted(folder.rglob("*.json")):
        for line in check_figures(path, folders, outcome):
            print(line)
        record = read_record(path)
        claims = (wrong_claim(claim, record, folder) for claim in record["claims"])
        for problem in filter(None, claims):
            print(f"kept_outputs: {problem}", file=sys.stderr)
            problems += 1
    print(
        f"kept_outputs: {outcome.equal} figures are equal, {outcome.wrong} differ,"
        f" {outcome.left} could not be computed for want of their references",
        file=sys.stderr,
    )
    return not problems and not outcome.wrong


# ---- The command


def parse_options(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, list[str]]:
    """Return the options, and the words after `--`."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    at = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="action", required=True)
    keeping = commands.add_parser("keep", help="keep an output with its figures")
    keeping.add_argument("folder", type=Path)
    keeping.add_argument("--name", help="name in the folder [that of the file]")
    keeping.add_argument("--system", required=True, metavar="TEXT")
    keeping.add_argument("--command", action="append", default=[], help="how it was made")
    keeping.add_argument(
        "--claim", nargs=3, action="append", default=[], metavar=("DOCUMENT", "FIGURE", "TEXT"),
        help="where the figure is claimed: words of a document that end with it",
    )  # fmt: skip
    keeping.add_argument("--mean-with", nargs="+", default=[], metavar="NAME")
    keeping.add_argument("--recorded", nargs="+", type=Path, default=[], metavar="FOLDER|FILE")
    checking = commands.add_parser("check", help="compute all figures again")
    checking.add_argument("folder", type=Path)
    checking.add_argument("--references", nargs="+", type=Path, default=[], metavar="FOLDER")
    options = parser.parse_args(words[:at])
    return options, words[at + 1 :]


def run_keep(options: argparse.Namespace, words: Sequence[str]) -> None:
    """Keep the outputs that the options name."""
    kept: list[tuple[str, Computation, Figures]] = []
    if options.recorded:
        root, *paths = options.recorded
        if not paths:
            raise CorpusError("--recorded needs a folder, and the files to keep")
        kept = [entry for path in paths for entry in recorded(root, path)]
    else:
        computation = Computation.parse(words, Path())
        name = options.name or computation.output.name
        kept = [(name, computation, computation.run())]
    for name, computation, figures in kept:
        keep(options.folder, name, computation, figures, options)
    options.folder.mkdir(parents=True, exist_ok=True)
    for sub in inner_folders(options.folder):
        if any((options.folder / name).is_relative_to(sub) for name, _, _ in kept):
            write_sums(sub)
    write_sums(options.folder)
    print(f"kept_outputs: {len(kept)} evaluations kept in {options.folder}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 on failure, or if a figure differs."""
    options, words = parse_options(arguments)
    differs = False

    def run(_: object) -> None:
        nonlocal differs
        try:
            if options.action == "keep":
                run_keep(options, words)
            else:
                differs = not check(options.folder, options.references)
        except NmtkitError as error:
            raise CorpusError(str(error)) from error

    return run_program("kept_outputs", run, arguments) or int(differs)


if __name__ == "__main__":
    sys.exit(main())
