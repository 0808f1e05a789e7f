"""What docs/security.md promises of the code: nothing in a file is ever run, nothing is fetched."""

import ast
import gzip
import hashlib
import importlib.util
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

import nmtkit
from nmtkit.config import SECTIONS
from nmtkit.models import MODELS

PACKAGE = Path(nmtkit.__file__).parent
ROOT = PACKAGE.parent

RUNS = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}
"""Functions of Python that run text, or ask for some."""

MODULES = {
    "pickle", "cPickle", "dill", "joblib", "shelve", "marshal", "yaml", "subprocess", "pty",
    "ctypes", "code", "runpy", "socket", "ssl", "http", "urllib", "requests", "ftplib", "tarfile",
    "zipfile",
    "xmlrpc", "webbrowser",
}  # fmt: skip
"""Modules that run or fetch what they are given, or unpack it anywhere."""

ATTRIBUTES = {
    ("os", "system"), ("os", "popen"), ("os", "execv"), ("os", "execvp"), ("os", "spawnv"),
    ("torch", "load"), ("torch", "save"), ("torch", "hub"), ("np", "save"), ("jit", "load"),
    ("shutil", "unpack_archive"),
}  # fmt: skip

ALLOWED = {("workers.py", "pickle")}
"""Results travel from a fork of a process to the process that made it: through a pipe of their own,
never from a file or from elsewhere."""


def dangerous(source: str) -> Iterator[str]:
    """What in a source text could run, fetch or unpack something."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            names = [node.func.id] if node.func.id in RUNS else []
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            names = [f"{owner}.{node.attr}"] if (owner, node.attr) in ATTRIBUTES else []
            yield from names
            continue
        elif isinstance(node, ast.keyword):
            value = node.value
            on = isinstance(value, ast.Constant) and value.value is True
            names = [str(node.arg)] if on and node.arg in ("shell", "allow_pickle") else []
            yield from names
            continue
        else:
            continue
        yield from (name for name in names if name.split(".")[0] in MODULES | RUNS)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import pickle", ["pickle"]),
        ("from yaml import load", ["yaml"]),
        ("def f():\n    import urllib.request", ["urllib.request"]),
        ("eval('1')", ["eval"]),
        ("torch.load('x', weights_only=True)", ["torch.load"]),
        ("torch.jit.load('x')", ["jit.load"]),
        ("np.load('x', allow_pickle=True)", ["allow_pickle"]),
        ("run('x', shell=True)", ["shell"]),
        ("os.system('x')", ["os.system"]),
        ("import json; np.load('x', allow_pickle=False); model.eval()", []),
    ],
)
def test_what_is_dangerous_is_found(source, found):
    assert list(dangerous(source)) == found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.name)
def test_nothing_is_run_fetched_or_unpacked(path):
    found = {(path.name, name) for name in dangerous(path.read_text(encoding="utf-8"))}
    assert found <= ALLOWED


def test_arrays_are_read_without_pickles():
    """Every call of NumPy that could read one says that it may not."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if ast.unparse(node.func) in ("np.load", "np.savez", "np.savez_compressed"):
                told = {k.arg: k.value for k in node.keywords}
                assert ast.unparse(told["allow_pickle"]) == "False", f"{path}: {node.lineno}"


def test_no_setting_names_a_file_or_code():
    """Settings are numbers, switches, or one of some words; but for two codes of languages."""
    free = []
    for cls in [*SECTIONS.values(), *(model.config_class for model in MODELS.values())]:
        for field in fields(cls):
            text = str(field.type)
            assert "Path" not in text and "Callable" not in text and "Any" not in text
            free += [field.name] if field.type in (str, "str") else []
    assert sorted(free) == ["src_language", "tgt_language"]


@pytest.fixture(scope="module")
def fetching() -> ModuleType:
    path = ROOT / "examples/multi30k-en-fr/fetch.py"
    spec = importlib.util.spec_from_file_location("fetching", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_download_has_its_name_when_its_checksum_is_right(fetching, tmp_path, monkeypatch):
    good = hashlib.sha256(b"a man\n").hexdigest()
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"a man\n"))
    fetching.fetch((tmp_path / "a.gz").as_uri(), tmp_path / "a", good)
    assert (tmp_path / "a").read_bytes() == b"a man\n" and fetching.is_right(tmp_path / "a", good)
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"a virus\n"))
    with pytest.raises(ValueError, match="its checksum is not"):
        fetching.fetch((tmp_path / "a.gz").as_uri(), tmp_path / "b", good)
    monkeypatch.setattr(fetching, "LIMIT", 3)  # what unpacks without end is cut off, and is wrong
    with pytest.raises(ValueError, match="its checksum is not"):
        fetching.fetch((tmp_path / "a.gz").as_uri(), tmp_path / "b", good)
    assert {path.name for path in tmp_path.iterdir()} == {"a", "a.gz"}


def test_every_download_has_a_checksum(fetching):
    sums = [checksum for _, checksum in fetching.FILES.values()]
    assert len(set(sums)) == len(sums) == 6
    assert all(len(one) == 64 and int(one, 16) for one in sums)


@pytest.mark.parametrize("folder", ["examples", "bench"])
def test_archives_of_others_are_not_unpacked_blindly(folder):
    """What is unpacked follows no link and no '..': Python's filter "data" sees to that."""
    for path in (ROOT / folder).rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Attribute) and node.attr in ("extractall", "unpack_archive"):
                call = next(
                    c for c in ast.walk(ast.parse(source))
                    if isinstance(c, ast.Call) and ast.unparse(c.func) == ast.unparse(node)
                )  # fmt: skip
                filters = [ast.unparse(k.value) for k in call.keywords if k.arg == "filter"]
                assert filters == ["'data'"], f"{path}: {node.lineno}"
