"""The worked examples of CONTRIBUTING.md apply to the package and do what they say."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(
    r"^### (?P<title>[^\n]*)\n(?:(?!^### ).)*?^```diff\n(?P<diff>.*?)^```\n\n"
    r"^```(?P<language>sh|python)\n(?P<code>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
EXAMPLES = [m.groupdict() for m in EXAMPLE.finditer((ROOT / "CONTRIBUTING.md").read_text("utf-8"))]


@pytest.fixture
def checkout(tmp_path: Path, corpus: Path, prepared: Path, model: Path) -> Path:
    """Return a folder with a copy of the package, raw text, a prepared folder and a model."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "nmtkit", tmp_path / "nmtkit", ignore=ignored)
    shutil.copytree(prepared, tmp_path / "prepared")
    shutil.copytree(model, tmp_path / "model")
    for name, source in (("train", "train"), ("dev", "dev"), ("news", "test")):
        for side in ("en", "fr"):
            shutil.copy(corpus / f"{source}.{side}", tmp_path / f"{name}.{side}")
    return tmp_path


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["title"])
def test_an_example_applies_and_runs(example: dict[str, str], checkout: Path) -> None:
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith("COV")
    }  # no coverage of the copy
    env = {**environment, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}

    def run(*command: str, input: str | None = None) -> None:
        completed = subprocess.run(
            command, cwd=checkout, env=env, input=input, capture_output=True, text=True
        )
        assert completed.returncode == 0, completed.stderr

    run("git", "apply", "--unidiff-zero", "-", input=example["diff"])
    if example["language"] == "python":
        run(sys.executable, "-c", example["code"])
    else:
        code = example["code"].replace("nmtkit ", f"{sys.executable} -m nmtkit ", 1)
        run("bash", "-euo", "pipefail", "-c", code)


def test_examples_are_found() -> None:
    assert [example["title"] for example in EXAMPLES] == [
        "An optimizer",
        "A metric",
        "A subword method",
        "A command",
    ]
