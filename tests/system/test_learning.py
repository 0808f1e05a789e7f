"""Trained models translate unseen lines, from raw text to translations."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
import torch

from nmtkit import MarkupTranslator, Translator, adapt, train
from nmtkit.evaluation.metrics import tokenized_bleu

TOY = Path(__file__).resolve().parents[2] / "examples" / "toy-en-fr" / "generate.py"
SMALL = ["model.embedding=64", "model.hidden=64", "model.align=64", "model.maxout=64"]


def nmtkit(*arguments):
    """Run the command in its own process, and return its stdout."""
    code = "from nmtkit.cli.main import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    completed = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def prepare(raw, endings, size, *options):
    """Prepare train and dev of the folder `raw` with shortlists, and return the prepared folder."""
    folder = raw / "prepared"
    sides = [
        argument
        for split in ("train", "dev")
        for argument in (f"--{split}", *(raw / f"{split}.{ending}" for ending in endings))
    ]
    nmtkit(
        "prepare", *sides, "-s", "en", "-t", "fr", "--subword", "none", "--output", folder, *options
    )
    nmtkit("shortlist", folder, "--size", size)
    return folder


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def translate(model, sources):
    return [best[0].text for best in Translator.load(model, device="cpu").translate(sources)]


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """Return a folder with the toy corpus, and a model trained on 5,000 short pairs of it."""
    folder = tmp_path_factory.mktemp("toy")
    sizes = ["--train", "5000", "--dev", "100", "--test", "900", "--max-words", "12"]
    subprocess.run([sys.executable, TOY, "--output", folder, *sizes], check=True)
    prepared = prepare(folder, ("en", "fr"), 3000)
    settings = [
        *SMALL, "model.dropout=0.1", "data.batch_size=500", "data.max_length=20",
        "training.max_updates=400", "training.validate_every=200", "training.warmup=30",
        "training.cooldown=280", "training.learning_rate=0.01", "training.average_checkpoints=1",
        "training.dev_beam=1",
    ]  # fmt: skip
    train(prepared, folder / "model", recipe="toy", overrides=settings, device="cpu")
    return folder


def test_toy_english_is_translated_to_toy_french(toy):
    """Seeds 1 and 2 gave 77.2 and 73.7 on unseen sentences."""
    sources, references = lines(toy / "test.en")[:300], lines(toy / "test.fr")[:300]
    assert not set(sources) & set(lines(toy / "train.en"))
    translations = translate(toy / "model", sources)
    assert tokenized_bleu(translations, references).value >= 65
    assert sum(a == b for a, b in zip(translations, references, strict=True)) >= 100


def test_a_corrected_term_comes_out_and_nothing_else_suffers(toy):
    """A grandmother becomes a sister in 25 corrections, and then in unseen sentences."""
    old, new = "grand-mère", "sœur"
    train_pairs, dev_pairs, tests = (
        list(zip(lines(toy / f"{name}.en"), lines(toy / f"{name}.fr"), strict=True))
        for name in ("train", "dev", "test")
    )
    corrections = [(src, tgt.replace(old, new)) for src, tgt in train_pairs if old in tgt][:25]
    guard = [(src, tgt) for src, tgt in dev_pairs if old not in tgt]
    for name, pairs in (("corrections", corrections), ("guard", guard)):
        (toy / f"{name}.tsv").write_text("".join(f"{src}\t{tgt}\n" for src, tgt in pairs))
    result = adapt(
        toy / "model", toy / "corrections.tsv", toy / "adapted", [[toy / "guard.tsv"]],
        time="2m", device="cpu",
    )  # fmt: skip
    before, after = result.report.right_before, result.report.right_after
    assert before is not None and after is not None and after >= 23 > 5 > before
    of_term = [src for src, tgt in tests if old in tgt]
    translations = translate(toy / "adapted", of_term)
    assert len(of_term) >= 10
    assert sum(new in line and old not in line for line in translations) >= 0.8 * len(of_term)
    sources, references = zip(*[pair for pair in tests if old not in pair[1]][:300], strict=True)
    bleus = [
        tokenized_bleu(translate(toy / name, sources), references).value
        for name in ("model", "adapted")
    ]
    assert bleus[1] >= bleus[0] - 1


ENGLISH = "zero one two three four five six seven eight nine".split()
FRENCH = "zéro un deux trois quatre cinq six sept huit neuf".split()


def marked_pair(random):
    """Return number words in English and French; what comes after `<b>` in French is capital."""
    numbers = [random.randrange(10) for _ in range(random.randint(3, 7))]
    first = random.randrange(len(numbers))
    stop = random.randint(first + 1, len(numbers))
    sides = []
    for words in (ENGLISH, FRENCH):
        text = [words[number] for number in numbers]
        if words is FRENCH:
            text[first:stop] = [word.upper() for word in text[first:stop]]
        text[first:stop] = [f"<b>{' '.join(text[first:stop])}</b>"]
        sides.append(" ".join(text))
    return sides


def test_a_model_that_reads_markup_knows_what_is_marked(tmp_path):
    """Only a model that reads `<b>` can tell which words have capitals in French."""
    random = Random(1)
    pairs = [marked_pair(random) for _ in range(3200)]
    for name, part in (("train", pairs[:3000]), ("dev", pairs[3000:3100])):
        for ending, side in zip(("en", "fr"), zip(*part, strict=True), strict=True):
            (tmp_path / f"{name}.{ending}").write_text("".join(f"{line}\n" for line in side))
    prepared = prepare(tmp_path, ("en", "fr"), 100, "--markup", "html", "--clean", "none")
    assert "<b>" not in (prepared / "train.src").read_text(encoding="utf-8")
    settings = [
        *SMALL, "data.batch_size=500", "training.max_updates=250", "training.validate_every=125",
        "training.warmup=30", "training.cooldown=170", "training.learning_rate=0.01",
        "training.average_checkpoints=1", "training.dev_beam=1",
    ]  # fmt: skip
    train(prepared, tmp_path / "model", recipe="toy", overrides=settings, device="cpu")
    keeper = MarkupTranslator(Translator.load(tmp_path / "model", device="cpu"), "html")
    sources, targets = zip(*pairs[3100:], strict=True)
    found = [best.text for best, *_ in keeper.translate(sources)]
    assert all(line.count("<b>") == line.count("</b>") == 1 for line in found)
    assert sum(a == b for a, b in zip(found, targets, strict=True)) >= 90


def digits(count, longest, seed):
    """Return `count` different lines of 3 to `longest` digits separated by spaces."""
    random = torch.Generator().manual_seed(seed)
    unique: dict[str, None] = {}
    while len(unique) < count:
        length = int(torch.randint(3, longest + 1, (1,), generator=random))
        word = torch.randint(0, 10, (length,), generator=random)
        unique[" ".join(str(digit) for digit in word.tolist())] = None
    return list(unique)


@pytest.mark.slow
@pytest.mark.parametrize("decoder_variant", ["paper-v1", "paper-v2", "groundhog"])
@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_digits_are_copied_and_reversed(tmp_path, task, decoder_variant):
    """The BLEU of unseen lines is at least 98."""
    all_lines = digits(6300, 12, seed=1)
    parts = {"test": all_lines[:200], "dev": all_lines[200:300], "train": all_lines[300:]}
    for name, sources in parts.items():
        targets = [line[::-1] if task == "reverse" else line for line in sources]
        for side, text in (("src", sources), ("tgt", targets)):
            (tmp_path / f"{name}.{side}").write_text("".join(f"{line}\n" for line in text))
    folder = prepare(tmp_path, ("src", "tgt"), 12, "--tokenized")
    settings = [
        *SMALL, f"model.decoder_variant={decoder_variant}", "model.dropout=0.1",
        "data.batch_size=800",
        "training.max_updates=1200", "training.validate_every=300", "training.warmup=50",
        "training.cooldown=600", "training.learning_rate=0.004", "training.average_checkpoints=1",
        "training.dev_beam=1",
    ]  # fmt: skip
    train(folder, tmp_path / "model", recipe="toy", overrides=settings, device="cpu")
    translations = translate(tmp_path / "model", parts["test"])
    assert tokenized_bleu(translations, lines(tmp_path / "test.tgt")).value >= 98
