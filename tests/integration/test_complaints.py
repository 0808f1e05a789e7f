"""Problems that users reported with similar tools; each test names the public issues."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from nmtkit.text.subword.bpe import BPE, undo_bpe

Nmtkit = Callable[..., Result]

NOISY = [
    "one two", "", "   ", "three\u2028four", "\x85five", "six\r", "\x00seven\x00", "eight\x0cnine",
    "zero  one", "\ufeffnine", "two\x1cthree", "\u00a0", "one",
]  # fmt: skip
"""Lines that other programs split, drop or misread."""


@pytest.fixture
def noisy(tmp_path: Path) -> Path:
    """Write NOISY to `noisy.en` and `noisy.fr`, and return their folder."""
    for language in ("en", "fr"):
        text = "".join(f"{line}\n" for line in NOISY)
        (tmp_path / f"noisy.{language}").write_bytes(text.encode())
    return tmp_path


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")[:-1]


def test_output_has_as_many_lines_as_wc_counts(nmtkit: Nmtkit, model: Path, noisy: Path) -> None:
    """facebookresearch/fairseq#591, awslabs/sockeye#477, OpenNMT/OpenNMT#383."""
    texts = set()
    for size in (1, 2, 64):
        out = noisy / f"out.{size}"
        nmtkit("translate", "-m", model, noisy / "noisy.en", "-o", out, "--batch-size", size)
        assert len(lines(out)) == len(NOISY)
        texts.add(out.read_bytes())
    assert len(texts) == 1
    for command in ("score", "align"):
        out = noisy / command
        nmtkit(command, "-m", model, noisy / "noisy.en", noisy / "noisy.fr", "-o", out)
        assert len(lines(out)) == len(NOISY)


def test_an_empty_line_has_an_empty_translation(nmtkit: Nmtkit, model: Path) -> None:
    """OpenNMT/OpenNMT-py#252, OpenNMT/OpenNMT#77, sillsdev/silnlp#136."""
    translations = nmtkit("translate", "-m", model, input="\none\n\n \n").stdout.split("\n")[:-1]
    assert len(translations) == 4 and [translations[0], translations[2], translations[3]] == [
        "",
        "",
        "",
    ]


def test_a_noisy_pair_does_not_shift_others(nmtkit: Nmtkit, tmp_path: Path) -> None:
    """marian-nmt/marian-dev#808, stanfordnlp/CoreNLP#619: all pairs after it were shifted."""
    for language in ("en", "fr"):
        text = "".join(f"a {n} {NOISY[n % len(NOISY)]}\n" for n in range(60))
        (tmp_path / f"raw.{language}").write_bytes(text.encode())
    out = tmp_path / "prepared"
    files = [tmp_path / "raw.en", tmp_path / "raw.fr"]
    nmtkit(
        "prepare",
        "-s",
        "en",
        "-t",
        "fr",
        "--subword",
        "none",
        "--train",
        *files,
        "--dev",
        *files,
        "--output",
        out,
    )
    for split in ("train", "dev"):
        pairs = list(zip(lines(out / f"{split}.src"), lines(out / f"{split}.tgt"), strict=True))
        assert len(pairs) == 60
        assert [pair[0].split(b" ")[1] for pair in pairs] == [b"%d" % n for n in range(60)]
        assert [pair[1].split(b" ")[1] for pair in pairs] == [b"%d" % n for n in range(60)]


def test_unicode_separators_break_neither_codes_nor_text(nmtkit: Nmtkit, tmp_path: Path) -> None:
    """rsennrich/subword-nmt#29, #41, #48, #92, #55; facebookresearch/fairseq#132."""
    for language in ("en", "fr"):
        text = "".join(f"{a} x\u2028y {b}\n" for a, b in itertools.permutations(NOISY, 2))
        (tmp_path / f"raw.{language}").write_bytes(text.encode())
    out = tmp_path / "prepared"
    files = [tmp_path / "raw.en", tmp_path / "raw.fr"]
    nmtkit(
        "prepare",
        "-s",
        "en",
        "-t",
        "fr",
        "--train",
        *files,
        "--dev",
        *files,
        "--output",
        out,
        "--bpe",
        30,
    )
    nmtkit("shortlist", out, "--size", 40)
    count = len(NOISY) * (len(NOISY) - 1)
    assert len(lines(out / "dev.src")) == len(lines(out / "dev.tgt")) == count
    codes = BPE.load(out / "bpe.src")
    for word in ("a\u2028b", "\x85", "x\u00a0y", "\u2028\u2028"):
        assert undo_bpe(codes.apply([word])) == [word]
    bpe = BPE([("a", "\u2028"), ("a\u2028", "b</w>")])
    bpe.save(tmp_path / "codes")
    assert BPE.load(tmp_path / "codes").merges == bpe.merges


@pytest.mark.parametrize("command", ["translate", "score", "align"])
def test_a_path_that_is_not_a_model_is_reported(
    nmtkit: Nmtkit, corpus: Path, prepared: Path, command: str
) -> None:
    """EdinburghNLP/nematus#79: a KeyError 'n_words_src'."""
    files = [corpus / "test.en", corpus / "test.fr"][: 1 + (command != "translate")]
    reasons = {
        corpus / "test.en": "is no folder; give the folder of a model",
        prepared: f"is a prepared folder, not a model; first train one: nmtkit train {prepared}",
        corpus / "nothing": "no such folder; give the folder of a model",
    }
    for wrong, reason in reasons.items():
        result = nmtkit(command, "-m", wrong, *files, status=1)
        assert result.stderr.startswith(f"nmtkit: error: {wrong}: {reason}")
        assert result.stderr.count("\n") == 1


def test_an_unknown_setting_suggests_a_near_one(nmtkit: Nmtkit, prepared: Path) -> None:
    """marian-nmt/marian-dev#402: resuming was refused because of a key that was not named."""
    words = ["train", prepared, "--output", prepared / "no", "--set", "training.max_update=3"]
    result = nmtkit(*words, status=1)
    assert "there is no setting 'max_update'; did you mean 'max_updates'?" in result.stderr


def test_a_table_of_the_other_direction_is_refused(
    nmtkit: Nmtkit, model: Path, tmp_path: Path
) -> None:
    """OpenNMT/OpenNMT-py#1846: --replace_unk with a table that did not fit did nothing."""
    (tmp_path / "right").write_text("un one 1\ndeux two 1\ntrois three 1\n")
    (tmp_path / "wrong").write_text("one un 1\ntwo deux 1\nthree trois 1\n")
    (tmp_path / "names").write_text("Jean John 1\nLondres London 1\n")
    for table, status in (("right", 0), ("wrong", 1), ("names", 0)):
        words = ["translate", "-m", model, "--replace-unk", tmp_path / table]
        result = nmtkit(*words, input="one two\n", status=status)
        assert ("wrong: the target words of this table are the model's" in result.stderr) == status


def test_gold_links_beyond_the_sentence_count_as_missed(
    nmtkit: Nmtkit, model: Path, corpus: Path, tmp_path: Path
) -> None:
    """mozilla/translations#450: an alignment out of range was a segmentation fault."""
    (tmp_path / "gold").write_text("0-0 900-900\n" * 4)
    files = [corpus / "test.en", corpus / "test.fr"]
    result = nmtkit("align", "-m", model, *files, "--gold", tmp_path / "gold")
    assert result.stdout.startswith("AER 0.") or result.stdout.startswith("AER 1.")
    assert "sure 8" in result.stdout
    assert "gold: 4 links of words that are not there, first 900-900 (from 0) of pair 1" in (
        result.stderr
    )


def test_a_pipe_gives_the_output_of_a_file(nmtkit: Nmtkit, model: Path, noisy: Path) -> None:
    """marian-nmt/marian-dev#425 (a pipe gave garbage), joeynmt/joeynmt#143."""
    nmtkit("translate", "-m", model, noisy / "noisy.en", "-o", noisy / "out")
    program = "from nmtkit.cli.main import main; main()"
    command = [sys.executable, "-c", program, "translate", "-m", str(model), "--threads", "1"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    output, _ = process.communicate((noisy / "noisy.en").read_bytes())
    assert output == (noisy / "out").read_bytes()


def test_translate_and_score_give_the_same_scores(
    nmtkit: Nmtkit, model: Path, corpus: Path, tmp_path: Path
) -> None:
    """OpenNMT/OpenNMT-py#155 and #1383: scores of search and of scoring differed."""
    translations = nmtkit(
        "translate", "-m", model, corpus / "test.en", "--scores", "--tokenized"
    ).stdout
    rows = [line.split("\t") for line in translations.splitlines()]
    rows = [row for row in rows if len(row) == 2 and "<unk>" not in row[1]]
    assert rows
    sources = (corpus / "test.en").read_text().splitlines()
    numbers = [n for n, line in enumerate(translations.splitlines()) if line.split("\t") in rows]
    for number, row in zip(numbers, rows, strict=True):
        (tmp_path / "one.en").write_text(f"{sources[number]}\n")
        words = ["score", "-m", model, "--tokenized", tmp_path / "one.en", "-"]
        score = float(nmtkit(*words, input=f"{row[1]}\n").stdout)
        assert score == pytest.approx(float(row[0]), abs=2e-5)


def test_score_adds_the_end_of_a_sentence_to_an_unfinished_translation(
    nmtkit: Nmtkit, model: Path, tmp_path: Path
) -> None:
    """The two scores differ by it, as the translation has no `</s>`."""
    source = tmp_path / "source"
    source.write_text("one two three four five six seven\nnine zero\n")
    ratios = ["--min-length-ratio", 3, "--max-length-ratio", 3]  # no </s> before the limit
    rows = nmtkit("translate", "-m", model, source, "--json", "--tokenized", "--no-unk", *ratios)
    translations = [json.loads(line)["translations"][0] for line in rows.stdout.splitlines()]
    assert not all(translation["finished"] for translation in translations)
    text = "".join(f"{translation['text']}\n" for translation in translations)
    words = ["score", "-m", model, "--tokenized", source, "-"]
    totals = [float(line) for line in nmtkit(*words, input=text).stdout.split()]
    each = nmtkit(*words, "--per-word", input=text).stdout.splitlines()
    for translation, total, line in zip(translations, totals, each, strict=True):
        scores = [float(score) for score in line.split()]
        end = 0.0 if translation["finished"] else scores.pop()
        assert scores == pytest.approx(translation["word_scores"], abs=2e-5)
        assert total == pytest.approx(translation["score"] + end, abs=2e-5)
        assert end < 0 or translation["finished"]
