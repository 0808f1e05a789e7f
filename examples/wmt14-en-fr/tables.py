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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import orders
from cells import (
    TRAINED,
    Cell,
    Choice,
    Row,
    escaped,
    files,
    folders_of,
    members_of,
    models,
    published,
    row_of,
    train_scores,
    trained,
    with_domain,
)

PARAMETERS = {
    "last": "those with which each training ended (params.last)",
    "best": "those of each training's best validation (params.best)",
}
DIGITS = {"bleu": 2, "nll": 1, "perplexity": 2, "updates": 4, "epochs": 2, "hours": 2}

PLUMBING = (
    "**A test of the plumbing.** The models of `SIZE={}` are trained for {}: these tables show that"
    " everything runs, and their figures mean nothing."
)
SIZES = {
    "smoke": PLUMBING.format("smoke", "seconds on sentences of a toy grammar"),
    "mini": PLUMBING.format("mini", "minutes, far too short to translate"),
    "night": (
        "Models of `SIZE=night` have 256 units and are trained for half an hour to an hour each, "
        "with Adam. The published figures are of other text and of hundreds of times the "
        "computation: compare orders of systems, not heights."
    ),
}
"""What the figures of a size are worth."""


def format_value(value: float, measure: str, sign: str = "") -> str:
    """Return a figure as text, empty if there is none."""
    return "" if math.isnan(value) else f"{value:{sign}.{DIGITS[measure]}f}"


TRAINING = ("updates, 1e5", "epochs", "hours", "device", "train NLL", "dev NLL")
"""Columns about the training of a table's models."""


def training_titles(table: Mapping[str, Any]) -> Sequence[str]:
    """Return the columns about training that a table has: all of them, the device, or none."""
    if table.get("training"):
        return TRAINING
    return ("device",) if table.get("device") else ()


def training_of(row: Row, params: str, titles: Sequence[str]) -> list[str]:
    """Return columns of `TRAINING` for a row's models that are trained here.

    For an ensemble, the sum over its members.
    """
    folders = [member for folder in row.folders for member in members_of(folder)]
    having = [folder for folder in folders if (folder / "metrics.jsonl").is_file()]
    trainings = [trained(folder, params) for folder in having]
    if not trainings or len(trainings) < len(folders):
        return [""] * len(titles)
    count = len(row.folders)
    figures = [sum(training[name] for training in trainings) / count for name in TRAINED]
    devices = [Path(f"{folder}.device") for folder in folders]
    names = dict.fromkeys(
        path.read_text(encoding="utf-8").strip() for path in devices if path.is_file()
    )
    numbers = [format_value(value, name) for value, name in zip(figures, TRAINED, strict=True)]
    scores = (train_scores(row.folders[0].name), "dev.scores")
    columns = [*numbers, ", ".join(names), *(_nll(row.folders, name) for name in scores)]
    return [value for title, value in zip(TRAINING, columns, strict=True) if title in titles]


def _nll(folders: Sequence[Path], name: str) -> str:
    from measures import nll

    paths = [folder / name for folder in folders]
    values = [nll(path) for path in paths if path.is_file()]
    return format_value(mean(values), "nll") if values else ""


def titles_of(table: Mapping[str, Any], rows: Sequence[Row]) -> list[str]:
    """Return the titles of all columns with figures.

    With a test set of the domain, whose figures are far from the published ones, there are no
    differences.
    """
    titles = ["system"]
    for at, column in enumerate(table["columns"]):
        domain = has_domain(rows, at)
        titles += [f"{column['name']}: paper", *(["domain"] if domain else [])]
        titles += ["newstest2014"] if domain else ["ours", "difference"]
        titles += ["sacreBLEU"] if column.get("measure", "bleu") == "bleu" else []
    return titles


def has_domain(rows: Sequence[Row], at: int) -> bool:
    """Return whether a column has figures of the domain's test set."""
    return any(row.cells[at].domain_sentences is not None or row.cells[at].domain for row in rows)


def markdown(table: Mapping[str, Any], rows: Sequence[Row], params: str) -> str:
    """Return one table with the choice of parameters and the signatures of its figures below it."""
    titles = titles_of(table, rows)
    bleu = any(cell.measure == "bleu" for row in rows for cell in row.cells)
    of_training = training_titles(table)
    titles += of_training
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)]]
    for row in (row for row in rows if not row.reason):
        cells = [t for at, c in enumerate(row.cells) for t in _texts(c, has_domain(rows, at))]
        lines.append([escaped(row.name), *cells, *training_of(row, params, of_training)])
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
    parameters = PARAMETERS[table.get("params", params)]
    notes = [table.get("note", ""), f"Parameters: {parameters}." if was_run else ""]
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


def format_seeds(values: Sequence[float], measure: str) -> str:
    """Return the mean, and each seed's value behind it; "none" without values."""
    if not values:
        return "none"
    per_seed = " ".join(format_value(value, measure) for value in values)
    return format_value(mean(values), measure) + (f" ({per_seed})" if len(values) > 1 else "")


def _texts(cell: Cell, domain: bool) -> list[str]:
    """Return paper and ours with each seed, for BLEU also sacreBLEU.

    :param domain: with the figure of the domain's test set, without the difference.
    """
    texts = ["" if math.isnan(cell.published) else f"{cell.published:g}"]
    texts += [format_seeds(cell.domain, cell.measure)] if domain else []
    texts += [format_seeds(cell.ours, cell.measure)]
    texts += [] if domain else [format_value(cell.difference, cell.measure, "+")]
    if cell.measure == "bleu":
        texts.append(format_value(mean(cell.sacrebleu), "bleu") if cell.sacrebleu else "")
    return texts


def _sentences(rows: Sequence[Row]) -> str:
    """Return the number of sentences behind the figures of each column."""
    counts_by_column: dict[str, set[int]] = {}
    for cell in (cell for row in rows for cell in row.cells if cell.sentences is not None):
        counts_by_column.setdefault(cell.column, set()).add(cell.sentences or 0)
        if cell.domain_sentences is not None:
            name = f"{cell.column} (domain)"
            counts_by_column.setdefault(name, set()).add(cell.domain_sentences)
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
                    "domain": list(cell.domain),
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
    parts += [orders.markdown(choice)] if choice.orders else []
    parts += [markdown(table, rows, choice.params) for table, rows in rows_by_table]
    cells = list(records([(table["key"], rows) for table, rows in rows_by_table]))
    output.mkdir(parents=True, exist_ok=True)
    replace_file(output / "tables.json", json.dumps(cells, ensure_ascii=False, indent=1) + "\n")
    replace_file(output / "tables.csv", as_csv(cells))
    replace_file(output / "tables.md", "\n".join(parts))


def all_files(choice: Choice) -> list[Path]:
    """Return all files that the tables and the papers' orders need, each once."""
    compared = with_domain(orders.files(choice), choice) if choice.orders else []
    return list(dict.fromkeys([*files(choice), *compared]))


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
    if choice.updates:
        text += f"\n{PLUMBING.format(size, f'{choice.updates} updates each')}\n"
    elif size in SIZES:
        text += f"\n{SIZES[size]}\n"
    if choice.made_up_moses:
        text += (
            "\nThe lists and the phrase table of Moses are made up from the references "
            "(mini/moses.py).\n"
        )
    if choice.domain:
        text += (
            "\nThe main test set, *domain*, was held out of the training text, and nothing equal "
            "to it was trained on. newstest2014 is text of another kind; sacreBLEU is of it alone. "
            "Curves and samples are of *domain*.\n"
        )
    if len(choice.seeds) > 1:
        single = ", ".join(sorted(system for system in choice.systems if has_one(system, choice)))
        but = f"; {single}: one figure" if single else ""
        text += (
            f"\nFigures are means over {len(choice.seeds)} trainings with different seeds, each in "
            f"brackets{but}. Curves and samples are of the first seed where a system is one "
            "model.\n"
        )
    return text


def has_one(system: str, choice: Choice) -> bool:
    """Return whether a system has one figure, whatever the seeds of the others."""
    rows = (row for table in published() for row in table["rows"] if row.get("system") == system)
    return all(len(folders_of(row, choice)) == 1 for row in rows)


def replace_file(path: Path, text: str) -> None:
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
    parser.add_argument("--seeds-of", action="append", default=[], metavar="SYSTEM='N ...'")
    parser.add_argument("--beam", default="10", metavar="K")
    parser.add_argument("--params", default="last", choices=list(PARAMETERS))
    parser.add_argument("--size", default="paper", metavar="SIZE")
    parser.add_argument("--updates", default="", metavar="N", help="trainings were cut to so many")
    parser.add_argument("--domain", metavar="PAIRS", help="a test set of so many was held out")
    parser.add_argument("--made-up-moses", action="store_true", help="no Moses was run")
    parser.add_argument("--reason", action="append", default=[], metavar="SYSTEM=TEXT")
    keys = [table["key"] for table in published()]
    parser.add_argument("--table", default="", choices=keys, metavar="KEY")
    parser.add_argument("--list", choices=["files", "models"])
    parser.add_argument("--output", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    reasons = dict(reason.split("=", 1) for reason in options.reason)
    systems = frozenset(options.systems.split())
    seeds = tuple(options.seeds.split())
    pairs = (one.split("=", 1) for one in options.seeds_of)
    seeds_of = {system: tuple(some.split()) for system, some in pairs}
    choice = Choice(
        options.work,
        systems,
        seeds,
        options.beam,
        options.params,
        reasons,
        options.table,
        domain=bool(options.domain),
        updates=options.updates,
        made_up_moses=options.made_up_moses,
        seeds_of=seeds_of,
        orders=options.size in orders.SIZES and not options.table and not options.updates,
    )
    unknown = systems - {row.get("system") for table in published() for row in table["rows"]}
    if unknown:
        print(f"tables.py: error: no table has the system {min(unknown)!r}", file=sys.stderr)
        return 2
    if options.list:
        print(*(all_files if options.list == "files" else models)(choice), sep="\n")
    elif options.output:
        write(choice, options.output, options.size)
    else:
        print(*one_table(choice, options.size), sep="\n", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
