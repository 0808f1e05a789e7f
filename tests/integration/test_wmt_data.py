"""The data targets of the WMT'14 example: make downloads from a small mirror with faults."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mirror_server
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: Any) -> Iterator[Any]:
    """Serve the mirror that SIZE=smoke creates."""
    folder = tmp_path_factory.mktemp("smoke")
    words = ["make", "-s", "-f", str(EXAMPLES / "wmt14-en-fr" / "data.mk"), "SIZE=smoke"]
    target = f"{folder}/mirror/mirror.json"
    subprocess.run([*words, f"WORK={folder}", f"PYTHON={sys.executable}", target], check=True)
    with mirror_server.Mirror(folder / "mirror") as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Recipe:
    """The example's Makefile, run in its own folder."""

    def __init__(self, work: Path, url: str) -> None:
        self.work = work
        command = work / "nmtkit"
        work.mkdir()
        command.write_text(
            f"#!{sys.executable}\nfrom nmtkit.cli.main import main\n\nmain()\n", encoding="utf-8"
        )
        command.chmod(0o755)
        self.words = ["make", "-f", str(EXAMPLES / "wmt14-en-fr" / "data.mk"), "SIZE=smoke"]
        self.words += [f"WORK={work}", f"WMT_MIRROR={url}", f"NMTKIT={command}", "WORKERS=1"]
        self.words += [f"PYTHON={sys.executable}", "SELECT_WORDS=20000"]

    def make(self, *arguments: str, status: int = 0) -> str:
        """Run make and return its output."""
        root = str(EXAMPLES.parent)
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
        }
        completed = subprocess.run(
            [*self.words, *arguments], capture_output=True, text=True, env=environment
        )
        assert completed.returncode == status, completed.stderr
        return completed.stdout + completed.stderr

    def lines(self, name: str) -> list[str]:
        text = (self.work / "bitext" / name).read_text(encoding="utf-8")
        assert text.endswith("\n") and len(text.splitlines()) == text.count("\n")
        return text.splitlines()


def test_texts_are_complete_despite_every_fault(tmp_path: Path, mirror: Any) -> None:
    recipe = Recipe(tmp_path / "work", mirror.url)
    mirror.faults.cut["training-parallel-un.tgz"] = 5_000
    mirror.faults.damage.add("training-giga-fren.tar")
    mirror.faults.moved["dev.tgz"] = f"{mirror.url}/nowhere"

    output = recipe.make("download", "-k", status=2)
    assert (
        "resuming after 5.0 kB" in output and "renamed to training-giga-fren.tar.damaged" in output
    )
    assert (
        "dev.tgz: not downloaded: " in output and f"put dev.tgz into {tmp_path}/work/data" in output
    )
    archives = tmp_path / "work" / "data" / "archives"
    shutil.copy(mirror.folder / "wmt19" / "translation-task" / "dev.tgz", archives)  # by hand
    requests = len(mirror.requests)
    recipe.make("download")
    assert [name for name, _ in mirror.requests[requests:]] == ["mirror.json"]

    mirror.faults.moved.clear()
    recipe.make("-j2", "select")
    assert recipe.make("select").strip() == "make: Nothing to be done for 'select'."
    assert "Nothing" in recipe.make("-n", "download", "unpack")

    train, dev, test = (
        list(zip(recipe.lines(f"{name}.en"), recipe.lines(f"{name}.fr"), strict=True))
        for name in ("train", "dev", "test")
    )
    assert (len(dev), len(test)) == (200, 100)
    assert 1_000 < len(train) < 3_000
    assert all(en.strip() and fr.strip() for en, fr in train)
    assert sum(len(fr.split()) for _, fr in train) <= 20_000
    expected = (mirror.folder.parent / "toy" / "test.fr").read_text(encoding="utf-8")
    assert (recipe.work / "bitext" / "raw" / "test.fr").read_text(encoding="utf-8") == expected

    (recipe.work / "bitext" / "train.fr").unlink()
    leftover = recipe.work / "bitext" / ".select"
    leftover.mkdir()
    (leftover / "left by a killed one").touch()
    output = recipe.make("select", "SELECT_WORDS=15000")
    assert "fetch.py" not in output and "unpack.py" not in output
    assert len(recipe.lines("train.fr")) < len(train) and not leftover.exists()


def test_a_data_folder_belongs_to_one_size(tmp_path: Path, mirror: Any) -> None:
    recipe = Recipe(tmp_path / "work", str(mirror.folder))
    checked = f"{recipe.work}/data/archives/training-parallel-nc-v9.tgz.checked"
    recipe.make(checked)
    assert "is up to date" in recipe.make("-n", checked)
    for _ in range(2):
        assert "fetch.py" in recipe.make("-n", checked, "SIZE=mini")
    recipe.make(checked, "SIZE=mini")
    assert "is up to date" in recipe.make("-n", checked, "SIZE=mini")


def test_a_test_set_of_another_length_is_refused(tmp_path: Path, mirror: Any) -> None:
    recipe = Recipe(tmp_path / "work", str(mirror.folder))
    test = recipe.work / "bitext" / "test.en"
    output = recipe.make(str(test), "SIZE=mini", status=2)
    assert "100 pairs, but exactly 3,003 are required" in output
    assert not test.exists()
