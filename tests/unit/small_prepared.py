"""A prepared folder of a few words without data, and the settings of a small model for it."""

from pathlib import Path

from nmtkit.config import Config, TextConfig
from nmtkit.models.rnnsearch import RNNsearchConfig

CONFIG = Config(model=RNNsearchConfig(3, 4, 3, 2, dropout=0.5), text=TextConfig(tokenized=True))


def write_prepared(folder: Path) -> Path:
    """Write the vocabularies of four source words and three target words."""
    folder.mkdir()
    (folder / "vocab.src").write_text("</s>\t9\n<unk>\t0\na\t5\nb\t4\n", encoding="utf-8")
    (folder / "vocab.tgt").write_text("</s>\t9\n<unk>\t0\nc\t5\n", encoding="utf-8")
    return folder
