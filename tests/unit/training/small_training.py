"""A prepared folder of nine pairs, and settings of a small model."""

import json
from pathlib import Path

WORDS = ["alpha", "beta", "gamma"]

SMALL = [
    "model.embedding=4",
    "model.hidden=5",
    "model.align=4",
    "model.maxout=3",
    "model.dropout=0.3",
    "training.max_updates=2",
    "training.validate_every=2",
    "training.dev_bleu=false",
    "training.cooldown=0",
]

TEXT = {"src_language": "en", "tgt_language": "fr", "tokenized": True}


def prepare(folder: Path, shift: int = 0, text=TEXT, words=WORDS) -> Path:
    """Write a prepared folder; its sentences depend on `shift`, its vocabularies do not."""
    folder.mkdir()
    lines = [
        " ".join(words[(i + j + shift) % len(words)] for j in range(i % 3 + 1)) for i in range(9)
    ]
    for split in ("train", "dev"):
        (folder / f"{split}.src").write_text("\n".join(lines) + "\n")
        (folder / f"{split}.tgt").write_text("\n".join(lines).upper() + "\n")
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "text": text}))
    for side, listed in (("src", words), ("tgt", [word.upper() for word in words])):
        lines = [f"{word}\t{shift + 1}\n" for word in ["</s>", "<unk>", *listed]]
        (folder / f"vocab.{side}").write_text("".join(lines))
    return folder
