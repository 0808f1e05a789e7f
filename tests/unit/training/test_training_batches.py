"""Training with BPE-dropout: refused without BPE, exact when it resumes."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from nmtkit.config import Config, TextConfig, parse_config
from nmtkit.data.corpus import Corpus, Side
from nmtkit.errors import ConfigError
from nmtkit.text.subword.bpe import BPE
from nmtkit.text.subword.bpe_dropout import Sentences
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.training_batches import build_batches

WORDS = Vocabulary(["</s>", "<unk>", "ab", "a@@", "b"])
CORPUS = Corpus(*[Side(*Sentences.of([[2, 2, 2, 0]] * 40))] * 2)


def config(**text: Any) -> Config:
    settings = parse_config({"data": {"bpe_dropout": 0.5, "batch_size": 8}}, "test")
    return dataclasses.replace(settings, text=TextConfig(**text))


def test_bpe_dropout_without_bpe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="bpe_dropout: the text is not split by BPE"):
        build_batches(tmp_path, config(), CORPUS, (WORDS, WORDS), (0, 1))


def test_words_are_split_at_random_in_another_process(tmp_path: Path) -> None:
    for side in ("src", "tgt"):
        BPE([("a", "b</w>")]).save(tmp_path / f"bpe.{side}")
    batches = build_batches(tmp_path, config(subwords="joint"), CORPUS, (WORDS, WORDS), (0, 1))
    batch = next(iter(batches))
    assert {2, 3, 4} == set(batch.src[batch.src_mask].tolist()) - {0}


def test_what_a_glossary_matches_is_never_split(tmp_path: Path) -> None:
    for side in ("src", "tgt"):
        BPE([("a", "b</w>")]).save(tmp_path / f"bpe.{side}")
    text = config(subwords="joint", glossaries=("ab",))
    batch = next(iter(build_batches(tmp_path, text, CORPUS, (WORDS, WORDS), (0, 1))))
    assert set(batch.src[batch.src_mask].tolist()) == {0, 2}
