"""Every code block of the documents runs, or says why a test does not run it.

A fenced block of language `sh` or `python` is run, the blocks of a page one after another in one
folder. Comments before a block, invisible on the page, direct this:

    <!-- needs: corpus model -->        put these into the folder first (see `PROVISIONS`)
    <!-- not run: takes half an hour --> leave the block out, for this reason
"""

import gzip
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.document_blocks import ROOT, Block, blocks_of

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


Provide = Callable[[Path, str], None]


@pytest.fixture
def provide(corpus: Path, prepared: Path, model: Path, language_model: Path) -> Provide:
    """`provide(folder, name)`: put something that a page needs into a folder."""

    def texts(folder: Path) -> None:
        for name, source in (("train", "train"), ("dev", "dev"), ("news", "test")):
            for side in ("en", "fr"):
                shutil.copy(corpus / f"{source}.{side}", folder / f"{name}.{side}")

    def put(folder: Path, name: str) -> None:
        provisions: dict[str, Callable[[], object]] = {
            "corpus": lambda: texts(folder),
            "prepared": lambda: shutil.copytree(prepared, folder / "prepared"),
            "model": lambda: shutil.copytree(model, folder / "model"),
            "model-2": lambda: shutil.copytree(model, folder / "model-2"),
            "models": lambda: [shutil.copytree(model, folder / m) for m in ("rnnsearch", "rnnenc")],
            "cslm": lambda: shutil.copytree(language_model, folder / "cslm"),
            "pools": lambda: write_pools(corpus, folder),
            "systems": lambda: write_systems(folder),
            "list": lambda: write_list(folder),
            "tmx": lambda: write_tmx(folder),
            "phrase-table": lambda: write_phrase_table(folder),
        }
        provisions[name]()

    return put


def write_tmx(folder: Path) -> None:
    """Write two TMX files of English and Japanese, and a test set."""
    rows = [
        (f"{subject} is {state}.", f"{kanji}は{adjective}です。")
        for subject, kanji in [
            ("The file", "ファイル"),
            ("This button", "このボタン"),
            ("It", "それ"),
        ]
        for state, adjective in [("new", "新しい"), ("large", "大きい"), ("not saved", "未保存")]
        for _ in range(20)
    ]
    units = "".join(
        f'<tu><tuv xml:lang="en-US"><seg>{english}</seg></tuv>'
        f'<tuv xml:lang="ja"><seg>{japanese}</seg></tuv></tu>\n'
        for english, japanese in (
            (f"{e} Page {n}.", f"{j}{n}ページ。") for n, (e, j) in enumerate(rows)
        )
    )
    for name in ("help", "interface"):
        text = f'<?xml version="1.0"?>\n<tmx version="1.4"><header/><body>\n{units}</body></tmx>\n'
        (folder / f"{name}.tmx").write_text(text, encoding="utf-8")
    for side, language in enumerate(("en", "ja")):
        lines = "".join(f"{row[side]}\n" for row in rows[:40])
        (folder / f"news.{language}").write_text(lines, encoding="utf-8")


def write_list(folder: Path) -> None:
    """Write Moses's n-best lists with their sources, references and weights (moses.ini)."""
    for name in ("dev", "test"):
        rows = [
            f"{n} ||| {words} ||| LM0= {-n - i / 2} TM0= {-i} ||| {-n - i}"
            for n in range(4)
            for i, words in enumerate(["un deux", "un trois deux", "quatre"])
        ]
        for length in (100, 1000):
            (folder / f"{name}.{length}best").write_text("\n".join(rows) + "\n")
        (folder / f"{name}.tok.en").write_text("one two\n" * 4)
        (folder / f"{name}.tok.fr").write_text("un deux\nquatre\nun trois deux\nun deux\n")
    (folder / "moses.ini").write_text("[weight]\nLM0= 0.5\nTM0= 0.5\n")


def write_pools(corpus: Path, folder: Path) -> None:
    """Write the domain news, the pools crawl (compressed) and un, and dev."""
    for side in ("en", "fr"):
        shutil.copy(corpus / f"test.{side}", folder / f"news.{side}")
        shutil.copy(corpus / f"dev.{side}", folder / f"dev.{side}")
        shutil.copy(corpus / f"train.{side}", folder / f"un.{side}")
        packed = gzip.compress((corpus / f"train.{side}").read_bytes())
        (folder / f"crawl.{side}.gz").write_bytes(packed)


def write_systems(folder: Path) -> None:
    """Write a tokenised test set, its vocabularies and the output of two systems."""
    words = ["one", "two", "three", "four"]
    numbers = range(60)
    lines = {
        "test.en": [" ".join(words[: 1 + n % 4]) for n in numbers],
        "test.fr": [" ".join(words[: 1 + n % 4]).upper() for n in numbers],
        "moses.fr": [" ".join(words[: 1 + n % 3]).upper() for n in numbers],
        "rnn.fr": [" ".join(words[: 2 + n % 3]).upper() for n in numbers],
        "vocab.src": words[:3],
        "vocab.tgt": [word.upper() for word in words[:3]],
    }
    for name, rows in lines.items():
        (folder / name).write_text("\n".join(rows) + "\n")


def write_phrase_table(folder: Path) -> None:
    """Write a small phrase table of Moses, phrase-table."""
    pairs = [("one", "un"), ("two", "deux"), ("one two", "un deux"), ("three", "trois")]
    rows = [f"{s} ||| {t} ||| 0.5 0.4 0.3 0.2 ||| 0-0 ||| 4 4 3" for s, t in sorted(pairs)]
    (folder / "phrase-table").write_text("\n".join(rows) + "\n")


@pytest.fixture(scope="module")
def environment(preloaded: Path) -> dict[str, str]:
    """Return an environment whose `nmtkit` and `python` are those of this test."""
    path = os.pathsep.join([str(preloaded), os.environ["PATH"]])
    python_path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    outside = {k: v for k, v in os.environ.items() if not k.startswith("COV")}  # not measured
    return {**outside, "PATH": path, "PYTHONPATH": python_path, "OMP_NUM_THREADS": "1"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


RUNNABLE = [page for page in PAGES if any(not b.reason for b in blocks_of(page.read_text("utf-8")))]


@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_the_code_of_a_page_runs(
    page: Path, provide: Provide, environment: dict[str, str], tmp_path: Path
) -> None:
    for block in blocks_of(page.read_text("utf-8")):
        for name in block.needs:
            provide(tmp_path, name)
        if block.reason:
            continue
        shell = ["bash", "-euo", "pipefail", "-c"]
        command = [*(shell if block.language == "sh" else ["python", "-c"]), block.code]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        said = f"{name_of(page)}:{block.line}:\n{block.code}\n{done.stderr[-2000:]}"
        assert done.returncode == 0, said
        assert " is now " not in done.stderr and "is the default now" not in done.stderr, said


def test_blocks_and_their_comments_are_found() -> None:
    text = "\n".join(
        ["<!-- needs: a b -->", "<!-- not run: long -->", "```sh", "ls", "```", "", "```python"]
        + ["import os", "```", "```text", "not code", "```", ""]
    )
    assert blocks_of(text) == [
        Block("sh", "ls\n", ("a", "b"), "long", 3),
        Block("python", "import os\n", (), "", 7),
    ]
    assert len(RUNNABLE) > 5
