"""The promises of docs/explanation/security.md: no file content is executed, nothing is fetched."""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import nmtkit
from nmtkit.config import SECTIONS
from nmtkit.models import MODELS

PACKAGE = Path(nmtkit.__file__).parent
ROOT = PACKAGE.parent

BUILTINS = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}
"""Built-in functions that execute text, or ask the user for it."""

MODULES = {
    "pickle", "cPickle", "dill", "joblib", "shelve", "marshal", "yaml", "subprocess", "pty",
    "ctypes", "code", "runpy", "socket", "ssl", "http", "urllib", "requests", "ftplib", "tarfile",
    "zipfile",
    "xmlrpc", "webbrowser",
}  # fmt: skip
"""Modules that can execute, fetch or unpack untrusted content."""

ATTRIBUTES = {
    ("os", "system"), ("os", "popen"), ("os", "execv"), ("os", "execvp"), ("os", "spawnv"),
    ("torch", "load"), ("torch", "save"), ("torch", "hub"), ("np", "save"), ("jit", "load"),
    ("shutil", "unpack_archive"),
}  # fmt: skip

ALLOWED = {
    ("parallel/fork.py", "pickle"),
    ("parallel/fork_start.py", "ctypes"),
    ("parallel/forked_worker.py", "pickle"),
    ("cli/allocator.py", "ctypes"),
    ("documents/archive.py", "zipfile"),
    ("documents/epub.py", "urllib.parse"),
    ("documents/ooxml.py", "urllib.parse"),
    ("extras.py", "urllib.parse"),
    ("io/exchange.py", "ctypes"),
    ("io/moses_zip.py", "zipfile"),
    ("parallel/background.py", "pickle"),
    ("parallel/background.py", "subprocess"),
    ("serve/fields.py", "urllib.parse"),
    ("serve/entrance.py", "urllib.parse"),
    ("serve/files.py", "urllib.parse"),
    ("serve/public_url.py", "urllib.parse"),
    ("serve/messages.py", "socket"),
    ("serve/model_host.py", "socket"),
    ("serve/model_process.py", "socket"),
    ("serve/server.py", "socket"),
    ("serve/worker.py", "socket"),
}
"""Exceptions: a worker, a fork or another Python with a function of nmtkit, exchanges objects with
its parent through private pipes, never through a file; ctypes calls functions of the C library that
is already loaded: its allocator's settings, renameat2, and prctl; urllib.parse only reads an
address, or the name of a part of a document; the members of a zip file are read as streams, and
their names are no paths. `serve` listens on a socket, and speaks JSON with the processes of models
through pairs of sockets; it connects to nothing."""


def dangerous(source: str) -> Iterator[str]:
    """Yield the names in a source text that could execute, fetch or unpack something."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            names = [node.func.id] if node.func.id in BUILTINS else []
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
        yield from (name for name in names if name.split(".")[0] in MODULES | BUILTINS)


@pytest.mark.parametrize(
    ("source", "expected"),
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
def test_dangerous_code_is_detected(source, expected):
    assert list(dangerous(source)) == expected


def test_nothing_is_run_fetched_or_unpacked():
    dangers = {
        (path.relative_to(PACKAGE).as_posix(), name)
        for path in PACKAGE.rglob("*.py")
        for name in dangerous(path.read_text(encoding="utf-8"))
    }
    assert dangers <= ALLOWED


def test_arrays_are_read_without_pickles():
    """Every NumPy call that could read a pickle has allow_pickle=False."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if ast.unparse(node.func) in ("np.load", "np.savez", "np.savez_compressed"):
                keywords = {k.arg: k.value for k in node.keywords}
                assert ast.unparse(keywords["allow_pickle"]) == "False", f"{path}: {node.lineno}"


def test_no_setting_names_a_file_or_code():
    """Settings are numbers, booleans or enumerated words, except for two language codes."""
    free_text = []
    for cls in [*SECTIONS.values(), *(model.config_class for model in MODELS.values())]:
        for field in fields(cls):
            text = str(field.type)
            assert "Path" not in text and "Callable" not in text and "Any" not in text
            free_text += [field.name] if field.type in (str, "str") else []
    assert sorted(free_text) == ["src_language", "tgt_language"]


def test_every_download_has_a_checksum():
    """`unit/examples/test_fetch.py` tests that files with wrong checksums are refused."""
    listings = sorted((ROOT / "examples").glob("*/files.toml"))
    assert len(listings) > 1
    for path in listings:
        for name, entry in tomllib.loads(path.read_text(encoding="utf-8"))["files"].items():
            for form in (entry, *[entry[key] for key in ("elsewhere",) if key in entry]):
                checksum = form.get("sha256", form.get("md5", ""))
                assert re.fullmatch("[0-9a-f]{64}|[0-9a-f]{32}", checksum), f"{path}: {name}"


@pytest.mark.parametrize("folder", ["examples", "bench"])
def test_members_of_archives_are_read_as_streams(folder):
    """No name in an archive is used as a path: links and '..' in it lead nowhere."""
    unpacking = {"extract", "extractall", "unpack_archive"}
    found = [
        f"{path}:{node.lineno}: {node.attr}"
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in unpacking
    ]
    assert not found
