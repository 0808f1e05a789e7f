"""`import nmtkit`: lazily imported public names, and environment settings for reproducibility."""

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import nmtkit

GRADIENT = """
import nmtkit, hashlib, torch
from nmtkit.models.rnnsearch import RNNsearch, RNNsearchConfig
torch.set_num_threads(2)
torch.manual_seed(1)
model = RNNsearch(RNNsearchConfig(128, 128, 128, 128, tied=True), 700, 1100)
src, tgt = torch.randint(2, 700, (80, 12)), torch.randint(2, 1100, (80, 13))
model.loss(src, src > 0, tgt, tgt > 0, 0.1).backward()
gradient = b"".join(p.grad.numpy().tobytes() for p in model.parameters())
print(hashlib.sha256(gradient).hexdigest())
"""


PRODUCTS = """
import nmtkit, torch
torch.manual_seed(1)
row, matrix, products = torch.randn(1, 512), torch.randn(512, 300), set()
for threads in (1, 2):
    torch.set_num_threads(threads)
    products.add((row @ matrix).numpy().tobytes())
print(len(products))
"""


def run_python(code, **variables):
    own = {"MKL_DYNAMIC", "MKL_CBWR"}
    environment = {key: value for key, value in os.environ.items() if key not in own}
    completed = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**environment, **variables},
    )
    return completed.stdout.strip()


@pytest.mark.parametrize(
    ("variables", "expected"), [({}, "FALSE"), ({"MKL_DYNAMIC": "TRUE"}, "TRUE")]
)
def test_mkl_dynamic_is_off_unless_the_user_sets_it(variables, expected):
    assert (
        run_python("import os, nmtkit; print(os.environ['MKL_DYNAMIC'])", **variables) == expected
    )


@pytest.mark.parametrize(
    ("text", "intel"),
    [
        ("processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: x\n", True),
        ("processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t: GenuineIntel\n", False),
        ("processor\t: 0\nCPU implementer\t: 0x41\n", False),
        (None, False),
    ],
)
def test_the_maker_of_the_processor_is_read_where_linux_names_it(tmp_path, text, intel):
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    assert nmtkit._has_intel_processor(str(tmp_path / "cpuinfo")) is intel


@pytest.mark.skipif(not nmtkit._has_intel_processor(), reason="for Intel's processors")
def test_products_do_not_depend_on_the_number_of_threads():
    assert run_python(PRODUCTS) == "1"
    chosen = "import os, nmtkit; print(os.environ['MKL_CBWR'])"
    assert run_python(chosen, MKL_CBWR="AVX2") == "AVX2"


def test_two_threads_give_the_same_gradient_in_every_process():
    """The processes run at the same time, so that the machine is busy."""
    with ThreadPoolExecutor() as threads:
        gradients = list(threads.map(run_python, [GRADIENT] * 3))
    assert len(gradients[0]) == 64 and gradients == gradients[:1] * 3


PUBLIC = [
    "Aligner", "Alternative", "ConfigError", "DataError", "Embedder", "Glossary", "LossRefused",
    "MarkupTranslator", "ModelError", "NmtkitError", "OutputError", "Scorer", "Segmenter", "Term",
    "TrainingCorpus", "Translator", "adapt", "build_shortlist", "calibrate", "check", "evaluate",
    "prepare", "select", "train", "translate_document",
]  # fmt: skip


def test_public_names_are_exported():
    assert nmtkit.__all__ == PUBLIC
    assert set(PUBLIC) <= set(dir(nmtkit))
    for name in PUBLIC:
        public = getattr(nmtkit, name)
        assert callable(public) and public.__doc__
        assert public is getattr(importlib.import_module(nmtkit._PUBLIC[name]), name)
    with pytest.raises(AttributeError, match="no attribute 'Translater'"):
        nmtkit.Translater  # noqa: B018


def functions_of_the_api():
    """Yield every public function and method of the exported names."""
    for name in PUBLIC:
        public = getattr(nmtkit, name)
        if not inspect.isclass(public):
            yield public
        elif not issubclass(public, Exception):
            yield from (getattr(public, key) for key in vars(public) if not key.startswith("_"))


def test_every_parameter_is_described():
    functions = [function for function in functions_of_the_api() if callable(function)]
    assert len(functions) > 15
    for function in functions:
        described = re.findall(r":param (\w+):", inspect.getdoc(function) or "")
        parameters = [name for name in inspect.signature(function).parameters if name != "self"]
        assert described == parameters, function


def test_type_checkers_see_the_names_that_are_imported_on_first_use():
    """Check that the block under TYPE_CHECKING imports each public name from its module."""
    tree = ast.parse(Path(nmtkit.__file__).read_text(encoding="utf-8"))
    typed = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("nmtkit.")
        for alias in node.names
        if alias.asname
    }
    assert typed == nmtkit._PUBLIC


def test_importing_the_package_imports_nothing_else():
    code = "import sys, nmtkit; print(sorted(m for m in sys.modules if m.startswith('nmtkit')))"
    assert run_python(code) == "['nmtkit']"
