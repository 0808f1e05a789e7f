"""A command imports only what it needs.

The cost of translating one line from a cold start is counted in imported modules, because their
number does not depend on the load of the machine.
"""

import subprocess
import sys
from pathlib import Path

import pytest

BASELINE = "import torch, safetensors.torch; print(*sys.modules, file=sys.stderr); "
"""Python code that imports what every use of a model needs, and prints the names."""

NMTKIT = "from nmtkit.cli.main import main; main()"

UNNEEDED = {
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
"""Modules that are slow to import and not needed to translate a line."""


REPORT_MODULES = (
    "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
)
"""Python code that prints the names of the imported modules when the interpreter ends."""


def imported_by(code: str, *arguments: object, line: str = "") -> list[set[str]]:
    """Return the modules that a fresh interpreter has imported when it ends, and earlier ones.

    :return: the modules of each line printed, those at the end last.
    """
    completed = subprocess.run(
        [sys.executable, "-c", REPORT_MODULES + code, *map(str, arguments)],
        input=line,
        text=True,
        capture_output=True,
        check=True,
    )
    return [set(names.split()) for names in completed.stderr.splitlines()]


@pytest.mark.parametrize("command", ["translate", "score", "align"])
def test_using_a_model_imports_little_besides_torch(
    command: str, model: Path, corpus: Path
) -> None:
    files = [] if command == "translate" else [corpus / "test.en", corpus / "test.fr"]
    code = BASELINE + NMTKIT
    baseline, *_, modules = imported_by(code, command, "--model", model, *files, line="one two\n")
    assert {"torch", "nmtkit.models.rnnsearch"} <= modules
    besides = modules - baseline
    assert besides & UNNEEDED == set()
    limit = 131 if command == "align" else 130  # align looks whether the sides are swapped
    assert len(besides) < limit, sorted(besides)


def test_an_unneeded_import_would_be_detected() -> None:
    assert imported_by("import sacrebleu, numpy.random")[-1] >= {"sacrebleu", "numpy.random"}


def test_prepare_does_not_import_torch(corpus: Path, tmp_path: Path) -> None:
    files = [corpus / "test.en", corpus / "test.fr"]
    options = ["-s", "en", "-t", "fr", "--output", tmp_path / "prepared"]
    modules = imported_by(NMTKIT, "prepare", "--train", *files, *options, "--subword", "none")[-1]
    assert "nmtkit.text.tokenizer" in modules
    assert not modules & {"torch", "sacrebleu", "matplotlib", "sympy"}
