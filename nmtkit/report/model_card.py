"""Model cards: model, data, provenance and training of a system in a report."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmtkit.config import SearchConfig, TextConfig
from nmtkit.config_io import write_toml
from nmtkit.errors import counted
from nmtkit.io.lines import file_sha256
from nmtkit.model_folder import BEST_PARAMETERS, LoadedModel
from nmtkit.models import model_name
from nmtkit.text.subword import method_of
from nmtkit.training.learning_curve import (
    METRICS_FILE,
    Curve,
    TrainingPoint,
    ValidationPoint,
    read_curve,
)
from nmtkit.training.provenance import INITIAL_KEY, read_provenance

SUBWORD_TITLES = {"bpe": "BPE", "sentencepiece": "SentencePiece"}
"""Names of subword methods in the field."""

NOT_RECORDED = (
    "command, data and versions are not recorded: training began before nmtkit recorded them"
)


@dataclass(frozen=True)
class ModelCard:
    """Description of one system.

    source: model folder, or file of translations.
    facts: values by label, in the order of display.
    checksums: SHA-256 of the files that the system was made from, by file name.
    settings: TOML; empty for a system without a model.
    curve: learning curve, or None.
    aligns: True if the system's translations have alignments.
    """

    name: str
    source: str
    facts: Mapping[str, str]
    checksums: Mapping[str, str]
    settings: str = ""
    curve: Curve | None = None
    aligns: bool = False


def describe_file(name: str, path: str | Path, checksum: str) -> ModelCard:
    """Describe a system from its translations alone.

    :param checksum: SHA-256 of the file.
    """
    facts = {"Type": "translations from a file", "File": str(path)}
    return ModelCard(name, str(path), facts, {str(path): checksum})


def describe_model(
    name: str, folder: str | Path, model: LoadedModel, search: SearchConfig, aligns: bool
) -> ModelCard:
    """Describe a model folder.

    :param search: Search settings of the translations.
    :raises ModelError: A file of the folder is damaged.
    """
    folder = Path(folder)
    provenance = read_provenance(folder)
    has_metrics = os.path.lexists(folder / METRICS_FILE)  # a folder may be copied without
    curve = read_curve(folder) if has_metrics else None
    facts = {
        **dict(_model_facts(model, folder)),
        **_provenance_facts(provenance),
        **dict(_training_facts(curve)),
        "Search": _search_fact(search),
        "Folder": str(folder),
    }
    parameters = _parameters(model, folder)
    files = {parameters: folder / parameters}  # a file elsewhere has an absolute path
    files |= {name: folder / name for name in ("vocab.src", "vocab.tgt")}
    sums = {name: file_sha256(path) for name, path in files.items()}
    data = {} if provenance is None else {**provenance["inputs"], **provenance["data"]}
    checksums = {**sums, **{name: sha256 or "read from stdin" for name, sha256 in data.items()}}
    settings = write_toml(model.config)
    return ModelCard(name, str(folder), facts, checksums, settings, curve, aligns)


def _parameters(model: LoadedModel, folder: Path) -> str:
    """Return the name of the model's parameter file in its folder, or its absolute path."""
    path = model.path or folder / BEST_PARAMETERS
    return path.name if path.parent == folder else str(path.absolute())


def _model_facts(model: LoadedModel, folder: Path) -> Iterator[tuple[str, str]]:
    size = sum(parameter.numel() for parameter in model.model.parameters())  # type: ignore[attr-defined]
    text = model.config.text
    yield "Model", f"{model_name(model.config.model)}, {size:,} parameters"
    yield "Parameters", _parameters(model, folder)
    yield "Languages", f"{text.src_language} to {text.tgt_language}"
    words = f"{len(model.src_vocab):,} source, {len(model.tgt_vocab):,} target"
    yield "Shortlists", f"{words} {_units(text, folder)}"
    yield "Text", _text_fact(text)


def _units(text: TextConfig, folder: Path) -> str:
    """Return what the entries of the shortlists are."""
    if text.subwords == "none":
        return "words"
    method = method_of(folder, "src")
    return f"subwords ({SUBWORD_TITLES.get(method, method)})"


def _text_fact(text: TextConfig) -> str:
    if text.raw:
        return "not tokenised"
    return "already tokenised" if text.tokenized else "tokenised by Moses's rules"


def _provenance_facts(provenance: dict[str, Any] | None) -> dict[str, str]:
    if provenance is None:
        return {"Provenance": NOT_RECORDED}
    pairs = [counted(count, f"{name} pair") for name, count in provenance["pairs"].items()]
    start = provenance.get(INITIAL_KEY)
    origin = {"Started from": f"{start['path']}, update {start['update']:,}"} if start else {}
    versions = ", ".join(f"{name} {version}" for name, version in provenance["versions"].items())
    return {
        "Command": provenance["command"],
        **origin,
        "Data": ", ".join(pairs) or "the prepared folder does not record its size",
        "Versions": f"{versions}; {provenance['device']}, threads: {provenance['threads']}",
    }


def _training_facts(curve: Curve | None) -> Iterator[tuple[str, str]]:
    points: list[TrainingPoint | ValidationPoint] = []
    if curve is not None:
        points = [*curve.training[-1:], *curve.validation[-1:]]
    if curve is None or not points:
        yield "Training", "not recorded (no metrics.jsonl)"
        return
    last = max(points, key=lambda point: point.update)
    yield (
        "Training",
        f"{last.update:,} updates, {last.epoch:.2f} epochs, {_duration(last.seconds)}",
    )
    best = next((point for point in reversed(curve.validation) if point.best), None)
    if best:
        bleu = "" if best.chrf is None else f", dev chrF {best.chrf:.2f}"
        bleu += "" if best.bleu is None else f", dev BLEU {best.bleu:.2f}"
        cost = f"dev cost {best.cost_per_token:.4f} per token"
        yield "Best validation", f"update {best.update:,}: {cost}{bleu}"


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    return f"{minutes:.1f} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"


def _search_fact(search: SearchConfig) -> str:
    penalty = f"length penalty {search.length_penalty:g}"
    coverage = f", coverage penalty {search.coverage_penalty:g}" if search.coverage_penalty else ""
    size = search.no_repeat_ngram
    repeats = f", no {size} tokens twice" if size else ""
    return f"beam {search.beam}, {search.beam_mode}, {penalty}{coverage}{repeats}"
