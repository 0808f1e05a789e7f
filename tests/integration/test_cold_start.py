"""A command imports what it needs and no more: what one line from a cold start costs is counted
here in modules, whose number a busy machine does not change."""

import subprocess
import sys
from pathlib import Path

import pytest

BASELINE = "import torch, safetensors.torch"
"""What nobody who computes with these parameters can do without."""

NMTKIT = "from nmtkit.cli.main import main; main()"

NEEDLESS = {
    "joblib",
    "matplotlib",
    "numpy.random",
    "sacrebleu",
    "sacremoses",
    "sympy",
    "tensorboard",
    "torch._dynamo",
    "torch._inductor",
    "torch.distributed.tensor",
    "torch.onnx",
}
"""Libraries, and parts of them, that take long to import and are not for translating a line."""


REPORT = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
"""Python code that prints the names of the imported modules when the interpreter ends."""


def imported_by(code: str, *arguments: object, line: str = "") -> set[str]:
    """Return the modules that a fresh interpreter imports."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT + code, *map(str, arguments)],
        input=line,
        text=True,
        capture_output=True,
        check=True,
    )
    return set(done.stderr.splitlines()[-1].split())


@pytest.fixture(scope="module")
def baseline() -> set[str]:
    return imported_by(BASELINE)


@pytest.mark.parametrize("command", ["translate", "score", "align"])
def test_using_a_model_imports_little_beside_torch(
    command: str, model: Path, corpus: Path, baseline: set[str]
) -> None:
    files = [] if command == "translate" else [corpus / "test.en", corpus / "test.fr"]
    modules = imported_by(NMTKIT, command, "--model", model, *files, line="one two\n")
    assert {"torch", "nmtkit.models.rnnsearch"} <= modules
    beside = modules - baseline
    assert beside & NEEDLESS == set()
    assert len(beside) < 95, sorted(beside)


def test_what_is_needless_would_be_seen() -> None:
    assert imported_by("import sacrebleu, numpy.random") >= {"sacrebleu", "numpy.random"}


def test_preparing_goes_without_torch(corpus: Path, tmp_path: Path) -> None:
    files = [corpus / "test.en", corpus / "test.fr"]
    options = ["-s", "en", "-t", "fr", "--output", tmp_path / "prepared"]
    modules = imported_by(NMTKIT, "prepare", "--train", *files, *options)
    assert "nmtkit.text.tokenizer" in modules
    assert not modules & {"torch", "sacrebleu", "matplotlib", "sympy"}
