"""The examples write and remove nothing in the folder that clusters name in $WORK."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("name", ["papers", "multi30k-en-fr", "wmt14-en-fr"])
def test_clean_removes_no_folder_of_the_environment(name: str, tmp_path: Path) -> None:
    words = ["make", "-n", "-f", str(EXAMPLES / name / "Makefile"), "clean"]
    environment = {**os.environ, "WORK": str(tmp_path)}
    assert str(tmp_path) not in subprocess.check_output(words, env=environment, text=True)
    named = [*words, f"WORK={tmp_path}"]
    assert f"rm -rf {tmp_path}\n" in subprocess.check_output(named, env=environment, text=True)


def test_the_demo_removes_no_folder_of_the_environment(tmp_path: Path) -> None:
    mine, demo = tmp_path / "mine/model", tmp_path / "demo/model"
    for folder in (mine, demo):
        folder.mkdir(parents=True)
    (demo.parent / "raw").mkdir()
    (demo.parent / "raw/test.align").touch()
    stand_ins = {"NMTKIT": "false", "PYTHON": "true", "WORK": str(mine.parent)}
    command = ["bash", str(EXAMPLES / "toy-en-fr/demo.sh"), str(demo.parent)]
    subprocess.run(command, env={**os.environ, **stand_ins}, capture_output=True, check=False)
    assert mine.exists() and not demo.exists()


def test_the_demo_removes_no_model_but_its_own(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    command = ["bash", str(EXAMPLES / "toy-en-fr/demo.sh"), str(tmp_path)]
    stand_ins = {"NMTKIT": "false", "PYTHON": "true"}
    done = subprocess.run(
        command, env={**os.environ, **stand_ins}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and (tmp_path / "model").exists()
    assert done.stderr.endswith("would be removed; name another folder\n")
    assert done.stderr.count("\n") == 1
