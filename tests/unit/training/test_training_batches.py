"""Training with BPE-dropout: refused without BPE, exact when it resumes."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nmtkit.config import Config, TextConfig, parse_config
from nmtkit.data.batching import Batches
from nmtkit.data.corpus import Corpus, Side
from nmtkit.errors import ConfigError
from nmtkit.text.subword.bpe import BPE
from nmtkit.text.subword.bpe_dropout import Sentences
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.informed_start import learn_word_pairs
from nmtkit.training.training_batches import build_batches

WORDS = Vocabulary(["</s>", "<unk>", "ab", "a@@", "b"])
CORPUS = Corpus(*[Side(*Sentences.of([[2, 2, 2, 0]] * 40))] * 2)


def config(**text: Any) -> Config:
    settings = parse_config({"data": {"bpe_dropout": 0.5, "batch_size": 8}}, "test")
    return dataclasses.replace(settings, text=TextConfig(**text))


def batches_of(
    folder: Path, settings: Config, src: Vocabulary = WORDS, corpus: Corpus = CORPUS
) -> Batches:
    pairs = partial(learn_word_pairs, corpus, (src, WORDS))
    return build_batches(folder, settings, corpus, (src, WORDS), (0, 1), pairs)


def test_bpe_dropout_without_bpe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="bpe_dropout: the text is not split by BPE"):
        batches_of(tmp_path, config())


def test_words_are_split_at_random_in_another_process(tmp_path: Path) -> None:
    for side in ("src", "tgt"):
        BPE([("a", "b</w>")]).save(tmp_path / f"bpe.{side}")
    batch = next(iter(batches_of(tmp_path, config(subwords="joint"))))
    assert {2, 3, 4} == set(batch.src[batch.src_mask].tolist()) - {0}


def test_what_a_glossary_matches_is_never_split(tmp_path: Path) -> None:
    for side in ("src", "tgt"):
        BPE([("a", "b</w>")]).save(tmp_path / f"bpe.{side}")
    text = config(subwords="joint", glossaries=("ab",))
    batch = next(iter(batches_of(tmp_path, text)))
    assert set(batch.src[batch.src_mask].tolist()) == {0, 2}
