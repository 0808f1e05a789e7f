#!/usr/bin/env python3
"""Write the papers' tables, with our figure beside each published one.

    tables.py --work work/mini --systems 'rnnenc-30 lstm' --seeds 1 --beam 10 --list files
    tables.py --work work/mini --systems 'rnnenc-30 lstm' --seeds 1 --beam 10 --output results
    tables.py --work work/mini --systems 'rnnenc-30 lstm' --seeds 1 --table bahdanau-table-1

`--list` prints the files, or the models, that the tables of these systems need; otherwise
tables.md, tables.json and tables.csv are written, or with `--table` one table to stdout.
published.toml has the published figures and the file of each of ours. A row without our figure says
why; a file that should exist but does not is an error, never an empty cell.
"""

import argparse
import csv
import io
import json
import math
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "papers"))

PUBLISHED = Path(__file__).resolve().with_name("published.toml")
MULTI_BLEU, SACREBLEU = "BLEU (multi-bleu)", "BLEU (sacreBLEU)"
TRAINED = ("updates", "epochs", "hours")
PARAMETERS = {
    "last": "those with which each training ended (params.last)",
    "best": "those of each training's best validation (params.best)",
}
DIGITS = {"bleu": 2, "nll": 1, "perplexity": 2, "updates": 4, "epochs": 2, "hours": 2}


@dataclass(frozen=True)
class Choice:
    """The systems that were run, and their settings.

    params: the parameters that translated, "last" or "best".
    reasons: why a system was not run; a system without a reason was deselected by the user.
    table: key of the only table to make; empty: all.
    """

    work: Path
    systems: frozenset[str]
    seeds: tuple[str, ...]
    beam: str
    params: str
    reasons: Mapping[str, str] = field(default_factory=dict)
    table: str = ""


@dataclass(frozen=True)
class Cell:
    """A figure beside the published one; `ours` has a value per seed, none without a run."""

    column: str
    published: float
    measure: str
    ours: tuple[float, ...] = ()
    sacrebleu: tuple[float, ...] = ()
    sentences: int | None = None
    signatures: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        return mean(self.ours) if self.ours else math.nan

    @property
    def difference(self) -> float:
        return self.value - self.published


@dataclass(frozen=True)
class Row:
    """A system of a table; `reason` says why it has no figures of ours."""

    name: str
    cells: tuple[Cell, ...]
    folders: tuple[Path, ...]
    reason: str = ""


def published(key: str = "") -> list[dict[str, Any]]:
    """Return the tables of published.toml, or the one with this key."""
    tables: list[dict[str, Any]] = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["tables"]
    return [table for table in tables if key in ("", table["key"])]


def reason_of(row: Mapping[str, Any], choice: Choice) -> str:
    """Return why a row has no figures of ours; empty if it has."""
    if "quoted" in row:
        return str(row["quoted"])
    system = row["system"]
    if system in choice.systems:
        return ""
    return choice.reasons.get(system, f"'{system}' is not among SYSTEMS")


def folders_of(row: Mapping[str, Any], choice: Choice) -> tuple[Path, ...]:
    """Return one folder per seed, or one folder if seeds do not matter."""
    name = str(row.get("folder", ""))
    names = dict.fromkeys(name.replace("{seed}", seed) for seed in choice.seeds)
    return tuple(choice.work / folder_name for folder_name in names)


def result_of(
    table: Mapping[str, Any], row: Mapping[str, Any], at: int, choice: Choice
) -> tuple[str, str]:
    """Return the measure of a cell and the file in the row's folder that holds it."""
    column = table["columns"][at]
    name = next(iter(row.get("results", [])[at : at + 1]), "")
    measure = str(column.get("measure", "bleu"))
    if measure in TRAINED:
        return measure, "metrics.jsonl"
    return measure, str(name or column["result"]).replace("{beam}", choice.beam)


def files(choice: Choice) -> list[Path]:
    """Return all files that the tables need, each once."""
    needed: dict[Path, None] = {}
    for table in published(choice.table):
        for row in table["rows"]:
            if reason_of(row, choice):
                continue
            for at in range(len(table["columns"])):
                measure, name = result_of(table, row, at, choice)
                name = "done" if measure in TRAINED else name  # metrics.jsonl changes in training
                needed.update((folder / name, None) for folder in folders_of(row, choice))
            if table.get("training") and "{seed}" in row["folder"]:
                names = [train_scores(row["folder"]), "dev.scores"]
                needed.update((f / name, None) for f in folders_of(row, choice) for name in names)
    return list(needed)


def models(choice: Choice) -> list[Path]:
    """Return the model folders behind the tables, each once."""
    folders: dict[Path, None] = {}
    for row in (row for table in published(choice.table) for row in table["rows"]):
        for name in [row.get("folder", ""), *row.get("needs", [])]:
            if name.startswith("smt/") or reason_of(row, choice):
                continue
            for folder in folders_of({"folder": name}, choice):
                folders.update((member, None) for member in members_of(folder))
    return list(folders)


def train_scores(folder: str) -> str:
    """Return the file with log p of training pairs up to the model's maximum length."""
    return "train30.scores" if "-30." in folder else "train50.scores"


def trained(folder: Path, params: str) -> dict[str, float]:
    """Return updates, epochs and hours of a training up to the parameters that translate."""
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    last = rows[-1] if params == "last" else [row for row in rows if row.get("best")][-1]
    hours = last["seconds"] / 3600
    return {"updates": last["update"] / 1e5, "epochs": last["epoch"], "hours": hours}


def evaluated(path: Path) -> tuple[dict[str, float], int, tuple[str, ...]]:
    """Return measures, number of sentences and signatures from a JSON file of `nmtkit evaluate`."""
    result = json.loads(path.read_text(encoding="utf-8"))
    measures = result["systems"][0]["measures"]
    values = {measure["name"]: measure["value"] for measure in measures}
    return values, result["sentences"], tuple(measure["signature"] for measure in measures)


def cell_of(table: Mapping[str, Any], row: Mapping[str, Any], at: int, choice: Choice) -> Cell:
    """Return a cell with our figures."""
    measure, name = result_of(table, row, at, choice)
    column, figure = str(table["columns"][at]["name"]), float(row["published"][at])
    paths = [folder / name for folder in folders_of(row, choice)]
    if measure in TRAINED:
        return Cell(
            column, figure, measure, tuple(trained(p.parent, choice.params)[measure] for p in paths)
        )
    if measure != "bleu":
        from measures import nll, perplexity  # slow to import, and not needed for --list

        measure_file = nll if measure == "nll" else perplexity
        return Cell(column, figure, measure, tuple(measure_file(path) for path in paths))
    evaluations = [evaluated(path) for path in paths]
    ours = tuple(values[MULTI_BLEU] for values, _, _ in evaluations if MULTI_BLEU in values)
    sacre = tuple(values[SACREBLEU] for values, _, _ in evaluations if SACREBLEU in values)
    return Cell(column, figure, measure, ours, sacre, evaluations[0][1], evaluations[0][2])


def row_of(table: Mapping[str, Any], row: Mapping[str, Any], choice: Choice) -> Row:
    """Return a row, with our figures if its system was run."""
    reason = reason_of(row, choice)
    if not reason:
        cells = tuple(cell_of(table, row, at, choice) for at in range(len(table["columns"])))
        return Row(row["name"], cells, folders_of(row, choice))
    cells = tuple(
        Cell(str(column["name"]), float(figure), str(column.get("measure", "bleu")))
        for column, figure in zip(table["columns"], row["published"], strict=True)
    )
    return Row(row["name"], cells, (), reason)


def format_value(value: float, measure: str, sign: str = "") -> str:
    """Return a figure as text, empty if there is none."""
    return "" if math.isnan(value) else f"{value:{sign}.{DIGITS[measure]}f}"


def training_of(row: Row, params: str) -> list[str]:
    """Return updates, epochs, hours, device and NLL of a row's models that are trained here.

    For an ensemble, the sum over its members.
    """
    folders = [member for folder in row.folders for member in members_of(folder)]
    having = [folder for folder in folders if (folder / "metrics.jsonl").is_file()]
    trainings = [trained(folder, params) for folder in having]
    if not trainings or len(trainings) < len(folders):
        return [""] * 6
    count = len(row.folders)
    figures = [sum(training[name] for training in trainings) / count for name in TRAINED]
    devices = [Path(f"{folder}.device") for folder in folders]
    names = dict.fromkeys(
        path.read_text(encoding="utf-8").strip() for path in devices if path.is_file()
    )
    numbers = [format_value(value, name) for value, name in zip(figures, TRAINED, strict=True)]
    scores = (train_scores(str(row.folders[0])), "dev.scores")
    return [*numbers, ", ".join(names), *(_nll(row.folders, name) for name in scores)]


def members_of(folder: Path) -> list[Path]:
    """Return the model folders behind MODEL.1+2; for other names the folder itself."""
    name, _, seeds = folder.name.rpartition(".")
    return [folder.with_name(f"{name}.{seed}") for seed in seeds.split("+")] if name else [folder]


def _nll(folders: Sequence[Path], name: str) -> str:
    from measures import nll

    paths = [folder / name for folder in folders]
    values = [nll(path) for path in paths if path.is_file()]
    return format_value(mean(values), "nll") if values else ""


def markdown(table: Mapping[str, Any], rows: Sequence[Row], params: str) -> str:
    """Return one table with the choice of parameters and the signatures of its figures below it."""
    titles = ["system"]
    bleu = any(cell.measure == "bleu" for row in rows for cell in row.cells)
    for column in table["columns"]:
        titles += [f"{column['name']}: paper", "ours", "difference"]
        titles += ["sacreBLEU"] if column.get("measure", "bleu") == "bleu" else []
    with_training = table.get("training", False)
    titles += (
        ["updates, 1e5", "epochs", "hours", "device", "train NLL", "dev NLL"]
        if with_training
        else []
    )
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)]]
    for row in (row for row in rows if not row.reason):
        cells = [text for cell in row.cells for text in _texts(cell)]
        name = row.name.replace("|", "\\|")  # p(f|e) is one cell
        lines.append([name, *cells, *(training_of(row, params) if with_training else [])])
    text = f"## {table['title']}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)
    text = text if len(lines) > 2 else f"## {table['title']}\n\nNone of its systems was run.\n"
    without_figures = [row for row in rows if row.reason]
    text += "".join(f"\n- {missing(row)}" for row in without_figures) + (
        "\n" if without_figures else ""
    )
    signatures = {
        signature: None for row in rows for cell in row.cells for signature in cell.signatures
    }
    was_run = any(not row.reason for row in rows)
    notes = [table.get("note", ""), f"Parameters: {PARAMETERS[params]}." if was_run else ""]
    notes += [_sentences(rows) if bleu else ""]
    notes += (
        ["Signatures: " + ", ".join(f"`{signature}`" for signature in signatures)]
        if signatures
        else []
    )
    return text + "".join(f"\n{note}\n" for note in notes if note)


def missing(row: Row) -> str:
    """Return a row without figures of ours: the published ones, and the reason."""
    figures = [f"{cell.column} {cell.published:g}" for cell in row.cells if cell.published > 0]
    quoted = f" (paper: {', '.join(figures)})" if figures else ""
    return f"left out: {row.name}{quoted}: {row.reason}."


def _texts(cell: Cell) -> list[str]:
    """Return paper, ours with each seed, and difference; for BLEU also sacreBLEU."""
    per_seed = " ".join(format_value(value, cell.measure) for value in cell.ours)
    ours = format_value(cell.value, cell.measure) + (f" ({per_seed})" if len(cell.ours) > 1 else "")
    paper = "" if math.isnan(cell.published) else f"{cell.published:g}"
    texts = [paper, ours or "none", format_value(cell.difference, cell.measure, "+")]
    if cell.measure == "bleu":
        texts.append(format_value(mean(cell.sacrebleu), "bleu") if cell.sacrebleu else "")
    return texts


def _sentences(rows: Sequence[Row]) -> str:
    """Return the number of sentences behind the figures of each column."""
    counts_by_column: dict[str, set[int]] = {}
    for cell in (cell for row in rows for cell in row.cells if cell.sentences is not None):
        counts_by_column.setdefault(cell.column, set()).add(cell.sentences or 0)
    counts = [
        f"{name} {' or '.join(map(str, sorted(some)))}" for name, some in counts_by_column.items()
    ]
    return f"Sentences: {', '.join(counts)}." if counts else ""


def records(tables: Sequence[tuple[str, Sequence[Row]]]) -> Iterator[dict[str, Any]]:
    """Yield every cell for programs; None without a figure."""
    for key, rows in tables:
        for row in rows:
            for cell in row.cells:
                yield {
                    "table": key,
                    "system": row.name,
                    "column": cell.column,
                    "measure": cell.measure,
                    "published": None if math.isnan(cell.published) else cell.published,
                    "ours": cell.value if cell.ours else None,
                    "seeds": list(cell.ours),
                    "difference": cell.difference if cell.difference == cell.difference else None,
                    "sacrebleu": mean(cell.sacrebleu) if cell.sacrebleu else None,
                    "sentences": cell.sentences,
                    "signatures": list(cell.signatures),
                    "reason": row.reason,
                }


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the cells as CSV, lists separated by spaces."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        flat = {k: " ".join(map(str, v)) if isinstance(v, list) else v for k, v in row.items()}
        writer.writerow(flat)
    return text.getvalue()


def write(choice: Choice, output: Path, size: str) -> None:
    """Write tables.md, tables.json and tables.csv, each completely or not at all."""
    rows_by_table = [
        (table, [row_of(table, row, choice) for row in table["rows"]]) for table in published()
    ]
    parts = [f"# The papers' tables, SIZE={size}\n\n{head(size, choice)}"]
    parts += [markdown(table, rows, choice.params) for table, rows in rows_by_table]
    cells = list(records([(table["key"], rows) for table, rows in rows_by_table]))
    output.mkdir(parents=True, exist_ok=True)
    replace(output / "tables.json", json.dumps(cells, ensure_ascii=False, indent=1) + "\n")
    replace(output / "tables.csv", as_csv(cells))
    replace(output / "tables.md", "\n".join(parts))


def one_table(choice: Choice, size: str) -> Iterator[str]:
    """Yield an introduction and the chosen table, or all, in Markdown."""
    yield head(size, choice)
    for table in published(choice.table):
        yield markdown(table, [row_of(table, row, choice) for row in table["rows"]], choice.params)


def head(size: str, choice: Choice) -> str:
    """Return the introduction of the tables."""
    text = (
        "BLEU is cased and of tokenised text, as the papers measured it (multi-bleu); sacreBLEU is "
        "of detokenised text. They cannot be compared with each other.\n"
    )
    if size != "paper":
        text += (
            f"\nThese are models of the size `{size}`, trained for minutes on little data: they "
            "show only that everything runs and must not be compared with the published figures.\n"
        )
    return text


def replace(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def main(arguments: list[str] | None = None) -> int:
    """Run the program.

    :param arguments: Command line; None: sys.argv.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--work", type=Path, required=True, metavar="DIR")
    parser.add_argument("--systems", required=True, metavar="'NAME ...'")
    parser.add_argument("--seeds", default="1", metavar="'N ...'")
    parser.add_argument("--beam", default="10", metavar="K")
    parser.add_argument("--params", default="last", choices=list(PARAMETERS))
    parser.add_argument("--size", default="paper", metavar="SIZE")
    parser.add_argument("--reason", action="append", default=[], metavar="SYSTEM=TEXT")
    keys = [table["key"] for table in published()]
    parser.add_argument("--table", default="", choices=keys, metavar="KEY")
    parser.add_argument("--list", choices=["files", "models"])
    parser.add_argument("--output", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    reasons = dict(reason.split("=", 1) for reason in options.reason)
    systems = frozenset(options.systems.split())
    seeds = tuple(options.seeds.split())
    choice = Choice(
        options.work, systems, seeds, options.beam, options.params, reasons, options.table
    )
    unknown = systems - {row.get("system") for table in published() for row in table["rows"]}
    if unknown:
        print(f"tables.py: error: no table has the system {min(unknown)!r}", file=sys.stderr)
        return 2
    if options.list:
        print(*(files if options.list == "files" else models)(choice), sep="\n")
    elif options.output:
        write(choice, options.output, options.size)
    else:
        print(*one_table(choice, options.size), sep="\n", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
