"""What can be said of a system: what model it is, what it was made of, how its training went."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmtkit.config import SearchConfig
from nmtkit.config_io import write_toml
from nmtkit.errors import ModelError
from nmtkit.io.lines import file_sha256
from nmtkit.model_folder import LoadedModel
from nmtkit.models import model_name
from nmtkit.training.learning_curve import Curve, TrainingPoint, ValidationPoint, read_curve
from nmtkit.training.provenance import read_provenance

PARAMETERS = "params.best.safetensors"
NOT_RECORDED = (
    "command, data and versions are not recorded: training began before nmtkit noted them"
)


@dataclass(frozen=True)
class ModelCard:
    """One system.

    name: what it is called.
    source: its model folder, or the file of its translations.
    facts: what is known, by what it is called, in the order of telling.
    checksums: the SHA-256 of files that went into it, by file.
    settings: as TOML; empty where there is no model.
    curve: of its training, or None.
    aligns: whether its translations have alignments.
    """

    name: str
    source: str
    facts: Mapping[str, str]
    checksums: Mapping[str, str]
    settings: str = ""
    curve: Curve | None = None
    aligns: bool = False


def card_of_file(name: str, path: str | Path) -> ModelCard:
    """Of a system of which nothing is known but its translations."""
    facts = {"What": "translations made elsewhere", "File": str(path)}
    return ModelCard(name, str(path), facts, {str(path): file_sha256(path)})


def card_of_model(
    name: str, folder: str | Path, model: LoadedModel, search: SearchConfig, aligns: bool
) -> ModelCard:
    """Of a model folder.

    :param search: how it looked for translations.
    :raises ModelError: a file of the folder is damaged.
    """
    folder = Path(folder)
    origin = read_provenance(folder)
    try:
        curve = read_curve(folder)
    except ModelError:  # a folder that was handed on without it
        curve = None
    facts = {
        **dict(_what(model)),
        **_how(origin),
        **dict(_course(curve)),
        "Search": _search(search),
        "Folder": str(folder),
    }
    sums = {name: file_sha256(folder / name) for name in (PARAMETERS, "vocab.src", "vocab.tgt")}
    data = {} if origin is None else {**origin["inputs"], **origin["data"]}
    checksums = {**sums, **{name: of or "read from stdin" for name, of in data.items()}}
    settings = write_toml(model.config)
    return ModelCard(name, str(folder), facts, checksums, settings, curve, aligns)


def _what(model: LoadedModel) -> Iterator[tuple[str, str]]:
    size = sum(parameter.numel() for parameter in model.model.parameters())  # type: ignore[attr-defined]
    text = model.config.text
    yield "Model", f"{model_name(model.config.model)}, {size:,} parameters"
    yield "Languages", f"{text.src_language} to {text.tgt_language}"
    words = f"{len(model.src_vocab):,} source, {len(model.tgt_vocab):,} target"
    yield "Shortlists", f"{words} {'words' if text.bpe == 'none' else 'pieces of words (BPE)'}"
    yield "Text", "tokenised before" if text.tokenized else "tokenised by Moses's rules"


def _how(origin: dict[str, Any] | None) -> dict[str, str]:
    if origin is None:
        return {"Origin": NOT_RECORDED}
    pairs = [f"{count:,} {name} pairs" for name, count in origin["pairs"].items()]
    versions = ", ".join(f"{name} {version}" for name, version in origin["versions"].items())
    return {
        "Command": origin["command"],
        "Data": ", ".join(pairs) or "the prepared folder tells no sizes",
        "Versions": f"{versions}; {origin['device']}, threads: {origin['threads']}",
    }


def _course(curve: Curve | None) -> Iterator[tuple[str, str]]:
    points: list[TrainingPoint | ValidationPoint] = []
    if curve is not None:
        points = [*curve.training[-1:], *curve.validation[-1:]]
    if curve is None or not points:
        yield "Training", "no metrics.jsonl tells of it"
        return
    last = max(points, key=lambda point: point.update)
    yield (
        "Training",
        f"{last.update:,} updates, {last.epoch:.2f} epochs, {_duration(last.seconds)}",
    )
    best = next((point for point in reversed(curve.validation) if point.best), None)
    if best:
        bleu = "" if best.bleu is None else f", dev BLEU {best.bleu:.2f}"
        cost = f"dev cost {best.cost_per_token:.4f} per token"
        yield "Best validation", f"update {best.update:,}: {cost}{bleu}"


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    return f"{minutes:.1f} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"


def _search(search: SearchConfig) -> str:
    penalty = f"length penalty {search.length_penalty:g}"
    coverage = f", coverage penalty {search.coverage_penalty:g}" if search.coverage_penalty else ""
    return f"beam {search.beam}, {search.beam_mode}, {penalty}{coverage}"
