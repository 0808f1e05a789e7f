"""`nmtkit prepare` through the real command line."""

import gzip
import hashlib
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from click.testing import Result

Nmtkit = Callable[..., Result]


@pytest.fixture
def train(corpus: Path) -> list[object]:
    return ["--train", corpus / "train.en", corpus / "train.fr"]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_all_splits_are_written(nmtkit: Nmtkit, corpus: Path, tmp_path: Path) -> None:
    splits: list[object] = []
    for name, option in (("train", "--train"), ("dev", "--dev")):
        splits += [option, corpus / f"{name}.en", corpus / f"{name}.fr"]
    for name in ("one", "two"):
        splits += ["--test", name, corpus / "test.en", corpus / "test.fr"]
    result = nmtkit(
        "prepare",
        "-s",
        "en",
        "-t",
        "fr",
        *splits,
        "--subword",
        "none",
        "--output",
        tmp_path / "out",
        "--workers",
        1,
    )
    sets = {f"{name}.{side}" for name in ("train", "dev", "one", "two") for side in ("src", "tgt")}
    assert names(tmp_path / "out") == sets | {"manifest.json", "cleaning.html", "dropped.tsv.gz"}
    assert result.stdout == ""
    assert "train: 20 of 20 pairs" in result.stderr
    for name in ("one", "two"):
        assert (tmp_path / "out" / f"{name}.src").read_text() == (corpus / "test.en").read_text()


def test_training_data_alone_suffices(nmtkit: Nmtkit, train: list[object], tmp_path: Path) -> None:
    nmtkit(
        "prepare", "-s", "en", "-t", "fr", *train, "--subword", "none", "--output", tmp_path / "out"
    )
    assert names(tmp_path / "out") == {
        "train.src", "train.tgt", "manifest.json", "cleaning.html", "dropped.tsv.gz",
    }  # fmt: skip


@pytest.mark.parametrize("form", ["xz", "zst", "crlf"])
def test_the_form_of_a_text_does_not_change_what_is_prepared(
    nmtkit: Nmtkit, corpus: Path, tmp_path: Path, form: str
) -> None:
    options = ["-s", "en", "-t", "fr", "--bpe", 20, "--workers", 1]
    data = (corpus / "train.en").read_bytes()
    forms = {
        "xz": lzma.compress(data),
        "zst": zstandard.compress(data),
        "crlf": b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"),
    }
    (tmp_path / "text.gz").write_bytes(forms[form])
    for name, source in (("plain", corpus / "train.en"), ("other", tmp_path / "text.gz")):
        nmtkit("prepare", *options, "--train", source, corpus / "train.fr", "-o", tmp_path / name)
    for name in ("train.src", "train.tgt", "bpe.src"):
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("one two\n".encode("utf-16"), "looks like UTF-16 text; convert it to UTF-8: iconv -f"),
        (b"\x89PNG\r\n\x1a\n", "looks like a PNG picture"),
        (lzma.compress(b"one two\n" * 99)[:-9], "damaged or incomplete xz file"),
    ],
)
def test_what_is_no_text_is_refused_and_nothing_is_written(
    nmtkit: Nmtkit, corpus: Path, tmp_path: Path, data: bytes, problem: str
) -> None:
    source = tmp_path / "train.en"
    source.write_bytes(data)
    train = ["--train", source, corpus / "train.fr", "-s", "en", "-t", "fr"]
    result = nmtkit("prepare", *train, "-o", tmp_path / "out", status=1)
    assert f"error: {source}: {problem}" in result.stderr
    assert names(tmp_path) == {"train.en"}


def test_gzip_and_stdin(nmtkit: Nmtkit, corpus: Path, tmp_path: Path) -> None:
    zipped = tmp_path / "train.fr.gz"
    zipped.write_bytes(gzip.compress((corpus / "train.fr").read_bytes()))
    source = (corpus / "train.en").read_bytes()
    nmtkit(
        "prepare",
        "-s",
        "en",
        "-t",
        "fr",
        "--train",
        "-",
        zipped,
        "--subword",
        "none",
        "--output",
        tmp_path / "out",
        input=source,
    )
    assert (tmp_path / "out" / "train.src").read_bytes() == source
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    sums = {"-": source, str(zipped): zipped.read_bytes()}
    assert manifest["inputs"] == {k: hashlib.sha256(v).hexdigest() for k, v in sums.items()}


def test_every_option_reaches_the_manifest(
    nmtkit: Nmtkit, train: list[object], tmp_path: Path
) -> None:
    options: list[object] = ["-s", "de", "-t", "it", "--hyphens", "--escape", "--max-length", "30"]
    options += ["--max-ratio", "4.5", "--dedup", "--bpe", "7", "--bpe-separate"]
    options += ["--clean", "none", "--rule", "digits=0.25", "--near-dedup", "src"]
    for side in ("de", "it"):
        (tmp_path / f"news.{side}").write_text(f"other text in {side}\n")
    options += [
        "--leakage",
        "drop-any",
        "--test",
        "news",
        tmp_path / "news.de",
        tmp_path / "news.it",
    ]
    options += ["--no-nfc", "--punctuation", "--no-joiners", "--no-copy-names"]
    options += ["--markup", "xml"]
    options += ["--case", "truecase", "--held-out", 3]
    options += ["--glossary", "x+", "--vocabulary-threshold", "2"]
    nmtkit(
        "prepare",
        *train,
        *options,
        "--invalid",
        "drop",
        "--output",
        tmp_path / "out",
    )
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["text"] == {
        "src_language": "de", "tgt_language": "it", "tokenized": False, "hyphens": True,
        "escape": True, "nfc": False, "punctuation": True, "protected": True, "combining": True,
        "joiners": False, "case": "truecase", "copy_names": False, "subwords": "separate",
        "tags": [], "raw": False, "glossaries": ["x+"], "vocabulary_threshold": 2,
        "markup": "xml",
    }  # fmt: skip
    assert manifest["settings"] == {
        "max_length": 30, "max_ratio": 4.5, "dedup": True, "merges": 7, "codes": [],
        "invalid": "drop", "held_out": 3, "rules": {"digits": 0.25}, "near_dedup": "src",
        "leakage": "drop-any",
    }  # fmt: skip


@pytest.mark.parametrize(("files", "kind"), [(1, "joint"), (2, "separate")])
def test_existing_codes(
    nmtkit: Nmtkit, train: list[object], tmp_path: Path, files: int, kind: str
) -> None:
    codes = tmp_path / "codes"
    codes.write_text("#version: 0.2\ne n\n")
    options = ["--bpe-codes", codes] * files
    nmtkit(
        "prepare",
        "-s",
        "en",
        "-t",
        "fr",
        *train,
        "--tokenized",
        *options,
        "--output",
        tmp_path / "out",
    )
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["text"]["subwords"] == kind
    assert manifest["text"]["tokenized"] is True
    assert (tmp_path / "out" / "bpe.tgt").read_text() == "#version: 0.2\ne n\n"


@pytest.mark.parametrize(
    "wrong",
    [
        ["--bpe", "3", "--bpe-codes", "x"],
        ["--bpe-separate", "--bpe-codes", "x"],
        ["--bpe", "3", "--subword-size", "3"],
        ["--tokenized", "--tokenizer", "moses"],
        ["--subword", "letters"],
        ["--bpe-codes", "x", "--bpe-codes", "x", "--bpe-codes", "x"],
        ["--bpe", "0"],
        ["--max-length", "0"],
        ["--test", "a", "x", "y", "--test", "a", "x", "y"],
        ["--invalid", "keep"],
        ["--phrase-table", "x"],
        ["--train", "a", "b", "c", "d"],
        ["--train", "news:two", "a", "b"],
        ["--tag", "nowhere"],
        ["--held-out", "2", "--dev", "x", "y"],
        ["--held-out", "-1"],
    ],
)
def test_wrong_usage(nmtkit: Nmtkit, train: list[object], tmp_path: Path, wrong: list[str]) -> None:
    nmtkit(
        "prepare", "-s", "en", "-t", "fr", *train, *wrong, "--output", tmp_path / "out", status=2
    )
    assert names(tmp_path) == set()


def test_a_dry_run_writes_only_the_report(
    nmtkit: Nmtkit, train: list[object], tmp_path: Path
) -> None:
    options = ["-s", "en", "-t", "fr", "--subword", "none", "--dry-run", "-o", tmp_path / "report"]
    nmtkit("prepare", *train, *options)
    assert names(tmp_path / "report") == {"cleaning.html", "cleaning.json", "dropped.tsv.gz"}


def test_columns_of_tsv_files_are_chosen(nmtkit: Nmtkit, tmp_path: Path) -> None:
    both = tmp_path / "both.tsv"
    both.write_text("1\tchat\tx\tcat\n")
    splits = ["--train", both, "--dev", both, "--test", "news", both, "--columns", 4, 2]
    options = ["-s", "en", "-t", "fr", "--subword", "none", "-o", tmp_path / "out"]
    nmtkit("prepare", *splits, *options)
    for split in ("train", "dev", "news"):
        assert (tmp_path / "out" / f"{split}.src").read_text() == "cat\n"
        assert (tmp_path / "out" / f"{split}.tgt").read_text() == "chat\n"


def test_train_may_be_repeated(nmtkit: Nmtkit, corpus: Path, tmp_path: Path) -> None:
    both = tmp_path / "both.tsv"
    both.write_text("one cat\tun chat\n")
    (tmp_path / "corpora.toml").write_text(f'[more]\nfiles = "{both.name}"\nweight = 0.5\n')
    files = [corpus / "train.en", corpus / "train.fr"]
    languages = ["-s", "en", "-t", "fr"]
    splits = ["--dev", both, "--test", "news", both, "--tag", "web", "<web>"]
    result = nmtkit(
        "prepare", *languages, "--train", "news:2", *files, "--train", "web", corpus / "dev.en",
        corpus / "dev.fr", "--corpora", tmp_path / "corpora.toml", *splits, "-o", tmp_path / "out",
    )  # fmt: skip
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    corpora = [(c["name"], c["weight"], c["tag"], c["range"]) for c in manifest["corpora"]]
    assert corpora == [
        ("news", 2.0, "", [0, 20]),
        ("web", 1.0, "<web>", [20, 26]),
        ("more", 0.5, "", [26, 27]),
    ]
    assert "corpus news: 20 of 20 pairs, weight 2\n" in result.stderr
    assert "corpus web: 6 of 6 pairs, tag <web>\n" in result.stderr
    assert (tmp_path / "out" / "news.tgt").read_text().replace("@@ ", "") == "un chat\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--train", "typo.en", "typo.fr"], "typo.en: cannot be read: No such file or directory"),
        (["--corpora", "nowhere.toml"], "nowhere.toml: cannot be read: No such file or directory"),
    ],
)
def test_a_missing_file_is_named(nmtkit: Nmtkit, options: list[str], message: str) -> None:
    result = nmtkit("prepare", "-s", "en", "-t", "fr", *options, "-o", "out", status=1)
    assert result.stderr == f"nmtkit: error: {message}\n"


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        ([], "--src-language or --like is needed"),
        (["-s", "en"], "--tgt-language or --like is needed"),
    ],
)
def test_languages_are_asked_for(
    nmtkit: Nmtkit, train: list[object], tmp_path: Path, languages: list[str], message: str
) -> None:
    result = nmtkit("prepare", *languages, *train, "--output", tmp_path / "out", status=2)
    assert message in result.stderr


def test_the_name_of_a_language_is_refused_with_its_code(
    nmtkit: Nmtkit, train: list[object], tmp_path: Path
) -> None:
    languages = ["-s", "German", "-t", "fr"]
    result = nmtkit("prepare", *languages, *train, "--output", tmp_path / "out", status=1)
    assert result.stderr == ("nmtkit: error: -s German: not a language code; did you mean -s de?\n")
    assert names(tmp_path) == set()


def test_an_error_is_one_line(nmtkit: Nmtkit, corpus: Path, tmp_path: Path) -> None:
    files = [corpus / "train.en", corpus / "dev.fr", "--held-out", 1]
    result = nmtkit(
        "prepare", "-s", "en", "-t", "fr", "--train", *files, "--output", tmp_path / "out", status=1
    )
    assert result.stderr.startswith("nmtkit: error: the files differ in their number of lines: ")
    assert "train.en has 20, " in result.stderr and "dev.fr has 6;" in result.stderr
    assert result.stderr.count("\n") == 1
    assert names(tmp_path) == set()


def test_force_replaces_the_folder(nmtkit: Nmtkit, train: list[object], tmp_path: Path) -> None:
    run = [
        "prepare",
        "-s",
        "en",
        "-t",
        "fr",
        *train,
        "--subword",
        "none",
        "--output",
        tmp_path / "out",
    ]
    nmtkit(*run)
    result = nmtkit(*run, status=1)
    assert "out: exists already; use --force" in result.stderr
    nmtkit(*run, "--hyphens", "--force")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["text"]["hyphens"] is True


def test_output_does_not_depend_on_the_number_of_workers(corpus: Path, tmp_path: Path) -> None:
    """Prepare more pairs than one worker gets at a time, in a new interpreter."""
    pairs = {language: (corpus / f"train.{language}").read_text() for language in ("en", "fr")}
    for language, text in pairs.items():
        (tmp_path / f"big.{language}").write_text(text * 250)
    code = "from nmtkit.cli.main import main; main()"
    for workers in ("1", "2"):
        command = [
            sys.executable,
            "-c",
            code,
            "prepare",
            "-s",
            "en",
            "-t",
            "fr",
            "--train",
            "big.en",
            "big.fr",
        ]
        completed = subprocess.run(
            [*command, "--bpe", "5", "--output", f"out{workers}", "--workers", workers],
            cwd=tmp_path, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )  # fmt: skip
        assert (completed.returncode, completed.stdout) == (0, ""), completed.stderr
    for path in (tmp_path / "out1").iterdir():
        assert path.read_bytes() == (tmp_path / "out2" / path.name).read_bytes()


@pytest.mark.parametrize("option", ["--hyphens", "--escape"])
@pytest.mark.parametrize(
    "kind", [["--subword", "sentencepiece"], ["--subword", "none", "--tokenizer", "none"]]
)
def test_options_of_words_are_refused_where_no_words_are_found(
    nmtkit: Nmtkit, train: list[object], tmp_path: Path, kind: list[str], option: str
) -> None:
    arguments = ["-s", "en", "-t", "fr", *train, *kind, option, "-o", tmp_path / "out"]
    assert f"text.{option[2:]} " in nmtkit("prepare", *arguments, status=1).stderr
