"""Write a folder with one small valid file of every kind that nmtkit reads.

model/  lm/                 model folders: an RNNsearch with BPE, and a language model
prepared/                   a prepared folder with its binarised corpus
training/checkpoints/       a checkpoint
text.src text.tgt           lines; also lists, tables, weights, links, settings
text.gz ... bitext.zip      lines in each compression, bitexts in each form
"""

import bz2
import gzip
import hashlib
import json
import lzma
import zipfile
from dataclasses import replace
from pathlib import Path

import torch
import zstandard
from torch import nn

from nmtkit.config import Config, SearchConfig, TextConfig
from nmtkit.data.corpus import Corpus
from nmtkit.io.parameters import parameters_of, write_parameters
from nmtkit.model_folder import build_model, read_vocabularies
from nmtkit.models.cslm import CSLMConfig
from nmtkit.models.rnnsearch import RNNsearchConfig
from nmtkit.new_model_folder import new_model_folder
from nmtkit.text.subword.bpe import BPE
from nmtkit.text.subword.sentence_piece import SentencePiece
from nmtkit.training.checkpoint import save_checkpoint
from nmtkit.training.optimizers import make_optimizer
from nmtkit.training.progress import Progress

TEXT = TextConfig("en", "fr", tokenized=True, subwords="joint")
CONFIG = Config(
    RNNsearchConfig(embedding=4, hidden=4, align=3, maxout=2),
    search=SearchConfig(beam=2),
    text=TEXT,
)
LM_CONFIG = Config(
    CSLMConfig(embedding=4, context=3, hidden=4), text=replace(TEXT, subwords="none")
)
LINES = ["a b", "", "ab b a", "b <unk> a", "a"]
CODES = [("a", "b</w>"), ("b", "b</w>")]
WORDS = ["a@@", "b@@", "a", "b", "ab", "bb"]

VOCABULARY_KEY = hashlib.sha256("\n".join(["</s>", "<unk>", *WORDS]).encode()).hexdigest()[:8]
"""Part of the file names of the binarised corpus: it depends on the vocabulary."""

FILES = {
    "list": "0 ||| a b ||| LM0= -1.5 TM0= -2 -3 ||| -4.5\n0 ||| b ||| LM0= -1 TM0= -2.5 -3 |||"
    " -4.25\n2 ||| ab b ||| LM0= -0.5 TM0= -1 -1e-05 ||| -1.25 ||| 0=0\n",
    "weights": "[feature]\nLM0\n\n[weight]\nUnknownWordPenalty0= 1\nLM0= 0.5\nTM0= 0.25 0.25\n",
    "table": "a ||| b ||| 0.5 0.1 0.25 0.2 ||| 0-0 ||| 4 4 2\na ||| ab ||| 0.1 1e-05 1 0.5 |||"
    " ||| 1 4 1\nb a ||| b b ||| 1 1 1 1 ||| 0-0 1-1 ||| 2 2 2\nb a ||| b ||| 0.5 1 0.5 1 ||| 0-0"
    " ||| 2 2 1\n",
    "lexicon": "b a 0.75\na a 0.25\na b 1.0\nab NULL 0.5\n",
    "lexicon.log": "a b -0.25\nb b -0.5\n<eps> a 0\n",
    "glossary": "# terms\nab\tcd|d\n",
    "patterns": "# what stays\nab\n[a-z]b+\n",
    "gold": "0-0 1-1\n\n0-0 1?2 2p1\n0-0\n0-0\n",
    "gold.naacl": "0001 1 1 S\n1 2 2 P 0.5\n3 1 1\n5 0 1\n",
    "segments": '[{"source": "a b", "target": "b", "score": -1.5}, {"source": "a", "target": "b"}]'
    "\n[]\n",
    "settings.toml": 'base = "toy"\n\n[model]\nhidden = 8\n\n[training]\nlearning_rate = 0.5\n'
    'optimizer = "sgd"\n',
    "bitext.tsv": "a b\tb a\n\tb\nab\ta\n",
    "bitext.tmx": '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx>'
    '<body>\n<tu><tuv xml:lang="en-US"><seg>a <hi>b</hi></seg></tuv>\n<tuv xml:lang="fr"><seg>b'
    '<ph x="1">a</ph></seg></tuv></tu>\n<tu><tuv lang="fr"><seg>a</seg></tuv></tu></body></tmx>\n',
    "words": "</s>\t3\n<unk>\t0\na\t3\nb\t2\n",
    "plain-words": "a\nb\né\n",
    "codes": "#version: 0.2\na b</w>\na b\nab b</w>\n",
    "pieces": "a@@ 3\nb 2\n",
    "metrics.jsonl": '{"kind": "training", "update": 2, "epoch": 0.5, "words_per_second": 9,'
    ' "cost_per_token": 1.5, "seconds": 0.1}\n{"kind": "validation", "update": 5, "epoch": 1.0,'
    ' "dev_cost_per_token": 1.25, "dev_cost_per_sentence": 5, "dev_bleu": null, "best": true,'
    ' "seconds": 0.25}\n',
    "vectors": "a b\t0.5\t-1e-05\nb\t1\t2\n",
    "origin.json": '{"format": 1, "command": "nmtkit train a", "versions": {"torch": "2"},'
    ' "device": "cpu", "threads": 2, "pairs": {"train": 3}, "inputs": {"-": null}, "data": {}}\n',
}


def write_sample_files(folder: Path) -> Path:
    """Fill an empty folder with the files listed at the top of this module, and return it."""
    torch.manual_seed(1)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    for side in ("src", "tgt"):
        (folder / f"text.{side}").write_text("".join(f"{line}\n" for line in LINES))
    _write_formats(folder, (folder / "text.src").read_bytes())
    SentencePiece.learn({"ab": 3, "é": 1}, 300).save(folder / "sentencepiece")
    _write_prepared(folder / "prepared")
    model = _write_model(folder / "model", CONFIG, folder / "prepared")
    _write_model(folder / "lm", LM_CONFIG, folder / "prepared")
    save_checkpoint(folder / "training", *_after_one_update(model), Progress(updates=3))
    return folder


def _write_formats(folder: Path, text: bytes) -> None:
    """Write lines in each compression, and a bitext as a zip file."""
    (folder / "text.gz").write_bytes(gzip.compress(text, mtime=0))
    (folder / "text.bz2").write_bytes(bz2.compress(text))
    (folder / "text.xz").write_bytes(lzma.compress(text))
    (folder / "text.zst").write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(text))
    with zipfile.ZipFile(folder / "bitext.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("README", "T.en-fr.en", "T.en-fr.fr"):
            archive.writestr(zipfile.ZipInfo(name), text)


def _write_prepared(folder: Path) -> None:
    """Write the files of 'nmtkit prepare' and 'nmtkit shortlist' that training needs."""
    folder.mkdir()
    text = {"src_language": "en", "tgt_language": "fr", "tokenized": True, "bpe": "joint"}
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "text": text}, indent=1))
    for side in ("src", "tgt"):
        BPE(CODES).save(folder / f"bpe.{side}")
        rows = "".join(f"{word}\t2\n" for word in ["</s>", "<unk>", *WORDS])
        (folder / f"vocab.{side}").write_text(rows)
        for split in ("train", "dev"):
            (folder / f"{split}.{side}").write_text("a b\na@@ b@@ ab\nb\nbb a ?\n")
    Corpus.open(folder, "train", read_vocabularies(folder))


def _write_model(folder: Path, config: Config, prepared: Path) -> nn.Module:
    with new_model_folder(folder, config, prepared):
        pass
    model = build_model(config, *map(len, read_vocabularies(prepared)))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-1, 1)
        if config is CONFIG:
            model.b_y[0] += 6  # so that every translation ends
    write_parameters(folder / "params.best.safetensors", parameters_of(model))
    return model


def _after_one_update(model: nn.Module) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Make one update; return the model, and its optimizer with the state of that update."""
    optimizer = new_optimizer(model)
    torch.stack([parameter.sum() for parameter in model.parameters()]).sum().backward()
    optimizer.step()
    return model, optimizer


def new_optimizer(model: nn.Module) -> torch.optim.Optimizer:
    """Return an optimizer of the checkpoint's kind without a state."""
    return make_optimizer(model, replace(CONFIG.training, optimizer="adadelta"))
