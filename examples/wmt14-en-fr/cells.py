"""Read the cells of the papers' tables: the published figures, and ours from the working folder.

published.toml has the published figures and the file of each of ours.
"""

import json
import math
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "papers"))

PUBLISHED = Path(__file__).resolve().with_name("published.toml")
MULTI_BLEU, SACREBLEU = "BLEU (multi-bleu)", "BLEU (sacreBLEU)"
TRAINED = ("updates", "epochs", "hours")


@dataclass(frozen=True)
class Choice:
    """The systems that were run, and their settings.

    params: the parameters that translated, "last" or "best".
    domain: a second test set was held out of the training text; its files are called domain.*.
    orders: compare systems as the papers do; only where figures mean something.
    seeds_of: the seeds of systems that have others than `seeds`.
    updates: to which all trainings were cut, for a test; empty: they were not.
    reasons: why a system was not run; a system without a reason was deselected by the user.
    table: key of the only table to make; empty: all.
    made_up_moses: the output of Moses was not made by Moses.
    """

    work: Path
    systems: frozenset[str]
    seeds: tuple[str, ...]
    beam: str
    params: str
    reasons: Mapping[str, str] = field(default_factory=dict)
    table: str = ""
    domain: bool = False
    orders: bool = False
    updates: str = ""
    seeds_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    made_up_moses: bool = False


@dataclass(frozen=True)
class Cell:
    """A figure beside the published one; `ours` has a value per seed, none without a run.

    domain, domain_sentences: the same of the test set that was held out of the training text.
    """

    column: str
    published: float
    measure: str
    ours: tuple[float, ...] = ()
    sacrebleu: tuple[float, ...] = ()
    sentences: int | None = None
    signatures: tuple[str, ...] = ()
    domain: tuple[float, ...] = ()
    domain_sentences: int | None = None

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
    """Return one folder per seed of the row's system, or one folder if seeds do not matter."""
    name = str(row.get("folder", ""))
    seeds = choice.seeds_of.get(row["system"], choice.seeds)
    names = dict.fromkeys(name.replace("{seed}", seed) for seed in seeds)
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


def domain_file(path: Path) -> Path | None:
    """Return the file with the figure of the domain's test set; None for one of another set."""
    is_test = path.name.startswith("test") and path.parent.parent.name != "smt"
    return path.with_name("domain" + path.name.removeprefix("test")) if is_test else None


def with_domain(paths: Iterable[Path], choice: Choice) -> list[Path]:
    """Return files, each followed by that of the domain's test set."""
    both = [(path, domain_file(path) if choice.domain else None) for path in paths]
    return [path for pair in both for path in pair if path]


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
                paths = [folder / name for folder in folders_of(row, choice)]
                needed.update((path, None) for path in with_domain(paths, choice))
            if table.get("training") and "{seed}" in row["folder"]:
                names = [train_scores(Path(row["folder"]).name), "dev.scores"]
                needed.update((f / name, None) for f in folders_of(row, choice) for name in names)
    return list(needed)


def models(choice: Choice) -> list[Path]:
    """Return the model folders behind the tables, each once."""
    folders: dict[Path, None] = {}
    for row in (row for table in published(choice.table) for row in table["rows"]):
        for name in [row.get("folder", ""), *row.get("needs", [])]:
            if name.startswith("smt/") or reason_of(row, choice):
                continue
            for folder in folders_of({**row, "folder": name}, choice):
                folders.update((member, None) for member in members_of(folder))
    return list(folders)


def train_scores(folder: str) -> str:
    """Return the file with log p of training pairs up to the model's maximum length.

    :param folder: name of the model's folder, without those above it.
    """
    if folder.startswith("seq2seq-lstm"):
        return "train100.scores"
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


def figures_of(measure: str, paths: Iterable[Path]) -> tuple[float, ...]:
    """Return the figure of each file; for BLEU only of those with sentences."""
    if measure == "bleu":
        found = [evaluated(path)[0] for path in paths]
        return tuple(values[MULTI_BLEU] for values in found if MULTI_BLEU in values)
    from measures import nll, perplexity  # slow to import, and not needed for --list

    measure_file = nll if measure == "nll" else perplexity
    return tuple(measure_file(path) for path in paths)


def cell_of(table: Mapping[str, Any], row: Mapping[str, Any], at: int, choice: Choice) -> Cell:
    """Return a cell with our figures."""
    measure, name = result_of(table, row, at, choice)
    column, figure = str(table["columns"][at]["name"]), float(row["published"][at])
    paths = [folder / name for folder in folders_of(row, choice)]
    if measure in TRAINED:
        return Cell(
            column, figure, measure, tuple(trained(p.parent, choice.params)[measure] for p in paths)
        )
    domain = [path for path in map(domain_file, paths) if path and choice.domain]
    values, domain_values = figures_of(measure, paths), figures_of(measure, domain)
    if measure != "bleu":
        return Cell(column, figure, measure, values, domain=domain_values)
    evaluations = [evaluated(path) for path in paths]
    sacre = tuple(found[SACREBLEU] for found, _, _ in evaluations if SACREBLEU in found)
    cell = Cell(column, figure, measure, values, sacre, evaluations[0][1], evaluations[0][2])
    sentences = evaluated(domain[0])[1] if domain else None
    return replace(cell, domain=domain_values, domain_sentences=sentences)


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


def escaped(text: str) -> str:
    """Return a text for one cell of a Markdown table, such as p(f|e), whose bar is no border."""
    return text.replace("|", "\\|")


def members_of(folder: Path) -> list[Path]:
    """Return the model folders behind MODEL.1+2; for other names the folder itself."""
    name, _, seeds = folder.name.rpartition(".")
    return [folder.with_name(f"{name}.{seed}") for seed in seeds.split("+")] if name else [folder]
