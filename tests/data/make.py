"""Makes the models of a release and their outputs, which every later version must reproduce.

    python tests/data/make.py

One tiny model of every kind, trained on number words by the present version, goes to a folder of
that version's name, with `expected.json`: lines, their translations with scores, and alignments.
Run it once for each release, before it is tagged, and never again for one that is out: what a
release gave is what `tests/integration/test_released_models.py` holds later ones to.
"""

import json
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the tests are no package that is installed

import torch  # noqa: E402

import nmtkit  # noqa: E402
from nmtkit import Aligner, Scorer, Translator  # noqa: E402
from nmtkit.config import TextConfig  # noqa: E402
from nmtkit.preprocessing.prepare import prepare  # noqa: E402
from nmtkit.preprocessing.settings import PrepareSettings  # noqa: E402
from nmtkit.preprocessing.shortlists import write_shortlists  # noqa: E402
from nmtkit.training.train import train  # noqa: E402

HERE = Path(__file__).parent
ENGLISH = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
FRENCH = ["un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix"]

SMALL = ["embedding=6", "hidden=8"]
KINDS: dict[str, tuple[str, list[str]]] = {
    "rnnsearch": ("toy", [*SMALL, "align=5", "maxout=4", "dropout=0.0"]),
    "rnnsearch-v1": ("rnnsearch-30", [*SMALL, "align=5", "maxout=4", "decoder_variant='paper-v1'"]),
    "rnnenc": ("rnnenc-30", [*SMALL, "maxout=4"]),
    "phrase-rnn": ("phrase-rnn", [*SMALL, "maxout=4", "softmax_rank=3"]),
    "grconv": ("grconv", [*SMALL, "maxout=4", "units=6"]),
    "deep-lstm": ("seq2seq-lstm", [*SMALL, "layers=2"]),
    "cslm": ("cslm", [*SMALL, "second=6"]),
}
"""Name of a folder -> the recipe and the sizes of its model."""

TRAINING = [
    "data.batch_size=20",
    "data.batch_unit='sentences'",
    "training.optimizer='adam'",
    "training.learning_rate=0.02",
    "training.warmup=0",
    "training.cooldown=0",
    "training.max_epochs=0.0",
    "training.max_updates=300",
    "training.validate_epochs=0.0",
    "training.validate_every=150",
    "training.average_checkpoints=1",
    "training.dev_bleu=false",
    "training.early_stopping_metric='cost'",
]
LINES = [
    "One two three.",
    "Nine, eight!",
    "",
    "ten ten seven",
    "four zebra six five",
    "Two. One three.",
    "six",
    "five “six” seven … &amp; |||",
]
TARGETS = ["Un deux trois.", "Neuf, huit!", "", "dix dix", "quatre zèbre", "Deux.", "six", "|||"]
N_BEST = 3
SEARCH: dict[str, Any] = {"beam": 5, "beam_mode": "shrinking", "length_penalty": 1.0}
MARGIN = 1e-4
"""By so much neighbours of a list differ at least: rounding on other machines is far below."""


def sentences(words: list[str], seed: int, count: int) -> list[str]:
    """Random number words, some with a capital and a full stop."""
    draw = random.Random(seed)
    lines = []
    for _ in range(count):
        line = " ".join(words[draw.randrange(10)] for _ in range(draw.randint(1, 4)))
        lines.append(line.capitalize() + draw.choice([".", "!", ", " + words[0]]))
    return lines


def prepared(work: Path) -> Path:
    """Make a prepared folder with joint BPE and shortlists."""
    files = {}
    for split, count in (("train", 400), ("dev", 20)):
        for language, words in (("en", ENGLISH), ("fr", FRENCH)):
            path = files[split, language] = work / f"{split}.{language}"
            text = "".join(f"{line}\n" for line in sentences(words, count, count))
            path.write_text(text, encoding="utf-8")
    settings = PrepareSettings(TextConfig("en", "fr", subwords="joint"), merges=12)
    train_files, dev_files = (
        (files[split, "en"], files[split, "fr"]) for split in ("train", "dev")
    )
    prepare(settings, work / "prepared", train_files, dev=dev_files)
    write_shortlists(work / "prepared", 30, 30)
    return work / "prepared"


def outputs(folder: Path, kind: str) -> dict[str, Any]:
    """Return the inputs and outputs of a model, to compare later versions with."""
    inputs: dict[str, Any] = {"command": "python tests/data/make.py", "torch": torch.__version__}
    inputs |= {"nmtkit": nmtkit.__version__, "lines": LINES, "targets": TARGETS, "search": SEARCH}
    scorer = Scorer.load(folder, device="cpu")
    if kind == "cslm":
        scores = list(scorer.score_text(TARGETS))
        return {**inputs, "scores": [score.log_prob for score in scores]}
    translator = Translator.load(folder, device="cpu").with_search(**SEARCH)
    translations = list(translator.translate(LINES, n_best=N_BEST))
    lists = [[[t.text, t.score, t.ranking_score] for t in n_best] for n_best in translations]
    scores = list(scorer.score(zip(LINES, TARGETS, strict=True)))
    record = {**inputs, "translations": lists, "scores": [score.log_prob for score in scores]}
    if kind.startswith("rnnsearch"):
        aligner = Aligner(scorer)
        pairs = zip(LINES, TARGETS, strict=True)
        record["links"] = [a.moses() for a in aligner.align(pairs, rounds=0)]
    return record


def margin(record: dict[str, Any]) -> float:
    """Return the smallest difference of ranking scores between neighbours of an n-best list."""
    ranked = [[entry[2] for entry in entries] for entries in record.get("translations", [])]
    return min((a - b for row in ranked for a, b in zip(row, row[1:], strict=False)), default=1.0)


def train_with_margin(
    data: Path, work: Path, recipe: str, overrides: list[str]
) -> tuple[Path, dict[str, Any]]:
    """Train with one seed after the other until neighbours of all lists differ by MARGIN.

    :return: the model folder and its outputs.
    """
    for seed in range(1, 10):
        folder = Path(f"{work}-{seed}")
        seeded = [*overrides, f"training.seed={seed}"]
        train(data, folder, recipe, overrides=seeded, device="cpu")
        told = outputs(folder, work.name)
        if margin(told) > MARGIN:
            return folder, told
    sys.exit(f"{work.name}: neighbours of a list are too near each other with every seed")


def main() -> None:
    release = HERE / nmtkit.__version__
    if release.exists():
        sys.exit(f"{release}: exists already; what a release gave is not made again")
    with tempfile.TemporaryDirectory() as work:
        data = prepared(Path(work))
        for kind, (recipe, sizes) in KINDS.items():
            overrides = [*(f"model.{size}" for size in sizes), *TRAINING]
            folder, told = train_with_margin(data, Path(work) / kind, recipe, overrides)
            kept = ["config.toml", "vocab.src", "vocab.tgt", "bpe.src", "bpe.tgt"]
            (release / kind).mkdir(parents=True)
            for name in [*kept, "params.best.safetensors"]:
                shutil.copyfile(folder / name, release / kind / name)
            text = json.dumps(told, ensure_ascii=False, indent=1)
            (release / kind / "expected.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
