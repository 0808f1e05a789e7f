"""Trainings of a toy model on 30 pairs: their text, settings and comparison."""

import json
from pathlib import Path

from tests.training_metrics import metrics

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon"]
TEXT = {"src_language": "en", "tgt_language": "fr", "tokenized": True}
SMALL = [
    "model.embedding=4",
    "model.hidden=5",
    "model.align=4",
    "model.maxout=3",
    "model.dropout=0.3",
    "data.batch_size=20",
    "training.max_updates=6",
    "training.validate_every=2",
    "training.dev_beam=2",
]

EARLY = [
    "training.init_output_bias=true",
    "training.init_source_embeddings=true",
    "training.guided_alignment=0.2",
    "training.guided_updates=5",
    "training.curriculum_updates=4",
]
"""Settings that matter at the start of a training."""


def lines(count, step):
    return [
        " ".join(WORDS[(number * step + place) % 5] for place in range(1 + number % 4))
        for number in range(count)
    ]


def write(path: Path, text_lines) -> None:
    path.write_text("".join(f"{line}\n" for line in text_lines), encoding="utf-8")


def write_prepared(folder: Path) -> Path:
    """Write the files of `nmtkit prepare` and `nmtkit shortlist` that training needs."""
    folder.mkdir()
    for split, count in (("train", 30), ("dev", 5)):
        write(folder / f"{split}.src", lines(count, 2))
        write(folder / f"{split}.tgt", [line.upper() for line in lines(count, 2)])
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "text": TEXT}))
    for side, words in (("src", WORDS), ("tgt", [word.upper() for word in WORDS])):
        write(folder / f"vocab.{side}", [f"{word}\t1" for word in ["</s>", "<unk>", *words]])
    return folder


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def assert_same_training(expected, actual):
    """Assert that two model folders are equal except for times and limits."""
    expected_files, actual_files = (
        {p.relative_to(f): p for p in contents(f)} for f in (expected, actual)
    )
    assert expected_files.keys() == actual_files.keys()
    for name, path in expected_files.items():
        if name.suffix not in (".jsonl", ".toml", ".json") and name.name != "SHA256SUMS":
            assert path.read_bytes() == actual_files[name].read_bytes(), name
        if name.name == "state.json":
            states = [json.loads(p.read_text()) for p in (path, actual_files[name])]
            for state in states:
                del state["progress"]["seconds"], state["sha256"]
            assert states[0] == states[1]
    assert metrics(expected) == metrics(actual)
