"""A SentencePiece model that a user has, with its normalisation, through the real command line."""

import json
from pathlib import Path

import pytest
import sentencepiece

from .conftest import Nmtkit

WIDE = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(ord("!"), ord("~") + 1)})
"""Full-width letters, which the rules of the library's defaults write as plain ones."""


@pytest.fixture(scope="module")
def spm(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model of `spm_train` with its default options but the size."""
    prefix = tmp_path_factory.mktemp("spm") / "own"
    sentencepiece.SentencePieceTrainer.train(
        input=[str(corpus / f"train.{side}") for side in ("en", "fr")], model_prefix=str(prefix),
        vocab_size=90, hard_vocab_limit=False, num_threads=1, minloglevel=3
    )  # fmt: skip
    return prefix.with_suffix(".model")


def options(folder: Path, spm: Path) -> list[object]:
    files = [[folder / f"{split}.{side}" for side in ("en", "fr")] for split in ("train", "dev")]
    given = ["--subword", "sentencepiece", "--bpe-codes", spm]
    return ["prepare", "--train", *files[0], "--dev", *files[1], "-s", "en", "-t", "fr", *given]


def texts(folder: Path) -> list[bytes]:
    return [
        (folder / f"{split}.{side}").read_bytes()
        for split in ("train", "dev")
        for side in ("src", "tgt")
    ]


@pytest.fixture
def wide(corpus: Path, tmp_path: Path) -> Path:
    """Return the corpus in full-width letters, and with blanks that the rules remove."""
    for file in corpus.iterdir():
        lines = file.read_text(encoding="utf-8").splitlines()
        text = "".join(f" {line.translate(WIDE)}\u200b\u3000\n" for line in lines)
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "more", [[], ["--vocabulary-threshold", 1], ["--held-out", 3], ["--tokenizer", "moses"]]
)
def test_text_is_prepared_as_the_model_writes_it(
    corpus: Path, wide: Path, spm: Path, nmtkit: Nmtkit, tmp_path: Path, more: list[object]
) -> None:
    folders = [tmp_path / "plain", tmp_path / "wide"]
    for source, folder in zip((corpus, wide), folders, strict=True):
        arguments = options(source, spm)
        if "--held-out" in more:
            arguments[4:7] = []
        nmtkit(*arguments, *more, "-o", folder)
        assert (folder / "sentencepiece.tgt").read_bytes() == spm.read_bytes()
    assert texts(folders[0]) == texts(folders[1])
    nmtkit("check", folders[1])


def test_a_dry_run_counts_lines_as_the_model_writes_them(
    wide: Path, spm: Path, nmtkit: Nmtkit, tmp_path: Path
) -> None:
    (wide / "train.en").write_text("\u200b\n" + 19 * "one\n", encoding="utf-8")
    for name in ("report", "prepared"):
        folder = tmp_path / name
        nmtkit(*options(wide, spm), "-o", folder, *(["--dry-run"] if name == "report" else []))
        manifest = folder / ("cleaning.json" if name == "report" else "manifest.json")
        train = json.loads(manifest.read_text(encoding="utf-8"))["splits"]["train"]
        assert (train["pairs"], train["dropped"]["empty"]) == (19, 1)
    assert not list((tmp_path / "report").glob("sentencepiece*"))


def test_a_model_treats_text_alike_that_its_rules_write_alike(
    corpus: Path, spm: Path, small: list[str], nmtkit: Nmtkit, tmp_path: Path
) -> None:
    data, model = tmp_path / "prepared", tmp_path / "model"
    nmtkit(*options(corpus, spm), "-o", data)
    nmtkit("shortlist", data)
    nmtkit("train", data, "-o", model, "-r", "toy", "--device", "cpu", *small)
    nmtkit("prepare", "--like", model, *options(corpus, spm)[1:7], "-o", tmp_path / "like")
    assert texts(tmp_path / "like") == texts(data)

    def run(command: str, *arguments: object, wide: bool = True, lines: str = "") -> str:
        text = lines.translate(WIDE) if wide else lines
        return nmtkit(command, "-m", model, *arguments, input=text).stdout

    lines = "one two three\n\nseven nine\n"
    translated = run("translate", "--json", lines=lines)
    assert translated == run("translate", "--json", lines=lines, wide=False)
    assert run("translate", lines="\u200b\n", wide=False) == "\n"

    (tmp_path / "terms.tsv").write_text("ｎｉｎｅ\tｎｅｕｆ\nTWO\tdeux\n", encoding="utf-8")
    with_terms = run("translate", "--terms", tmp_path / "terms.tsv", lines=lines).splitlines()
    assert "deux" in with_terms[0] and "neuf" in with_terms[2]

    (tmp_path / "prefixes").write_text("ｕｎ ﬁ\n\nsept ne\n", encoding="utf-8")
    begun = run("translate", "--prefix", tmp_path / "prefixes", lines=lines).splitlines()
    assert begun[0].startswith("ｕｎ ﬁ") and begun[2].startswith("sept ne")

    marked = "<b>ｏｎｅ</b> two <i>three</i>\n"
    plain = run("translate", "--markup", "html", lines="<b>one</b> two <i>three</i>\n", wide=False)
    assert run("translate", "--markup", "html", lines=marked, wide=False) == plain

    for name, change in (("plain", str), ("wide", lambda text: text.translate(WIDE))):
        for side in ("en", "fr"):
            text = (corpus / f"test.{side}").read_text(encoding="utf-8")
            (tmp_path / f"{name}.{side}").write_text(change(text), encoding="utf-8")
    for command in ("score", "align"):
        outputs = [
            run(command, tmp_path / f"{name}.en", tmp_path / f"{name}.fr")
            for name in ("plain", "wide")
        ]
        assert outputs[0] == outputs[1] != ""
