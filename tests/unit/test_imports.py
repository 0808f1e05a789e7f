"""Imports point one way, and commands start without torch.

The rooms and their arrows are those of docs/explanation/architecture.md. Every import counts, also
inside functions. Lazy imports, which run only when a function does or serve types alone, may go
where others may not, because they cost nothing at the start.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import nmtkit
from nmtkit.cli.command_group import walk_commands
from nmtkit.cli.main import cli

PACKAGE = Path(nmtkit.__file__).parent

COMMANDS = dict(walk_commands(cli))

BASE = {"config", "config_io", "seeds", "errors", "special_symbols"}
"""What every room above `models` and `text` may import."""

ROOMS = {
    "nmtkit": {"errors"},
    "errors": set[str](),
    "seeds": set[str](),
    "special_symbols": set[str](),
    "recipes": set[str](),
    "config": {"errors"},
    "config_io": {"config", "errors"},
    "io": {"io", "errors"},
    "text": {"text", "io", "errors", "special_symbols"},
    "parallel": {"parallel", "seeds", "errors"},
    "data": {"data", "text", "io"} | BASE,
    "preprocessing": {
        "preprocessing",
        "smt.phrase_table",
        "data",
        "text",
        "io",
        "parallel",
        "nmtkit",
    }
    | BASE,
    "models": {"models", "special_symbols"},
    "search": {"search", "models.base", "models.search_state"} | BASE,
    "evaluation": {"evaluation", "text", "io"} | BASE,
    "model_folder": {"models", "data", "text", "io"} | BASE,
    "inference": {"inference", "model_folder", "search", "models", "data", "text", "io", "parallel"}
    | BASE,
    "training": {"training", "inference", "model_folder", "search", "evaluation", "models"}
    | {"data", "text", "io", "parallel", "nmtkit"}
    | BASE,
    "smt": {"smt", "inference", "model_folder", "evaluation", "text", "io", "parallel"} | BASE,
    "report": {"report", "inference", "search", "evaluation", "smt", "model_folder", "models"}
    | {"training.learning_curve", "training.provenance", "text", "io", "nmtkit"}
    | BASE,
    "cli": {"nmtkit", "cli", "parallel.environment", "errors"},
    "__main__": {"cli"},
}
"""Room -> what it may import at any time: rooms or single modules."""

COMMANDS_USE = {"report", "training", "inference", "preprocessing", "smt", "evaluation", "search"}
"""The rooms whose functions commands call."""

LAZY = {
    "nmtkit": COMMANDS_USE,
    "config": {"models"},  # the config dataclasses that the section [model] is read into
    "config_io": {"models"},  # the names of models, which a TOML file gives
    "cli": COMMANDS_USE | {"model_folder", "data", "text", "io", "parallel"} | BASE,
}
"""Room -> what it may import besides, inside functions or for types."""

EXCEPTIONS = {"text.pipeline": {"config.TextConfig"}}
"""Module -> the names it alone of its room may import."""

LIBRARIES = {
    "nmtkit": set[str](),
    "errors": set[str](),
    "config": set[str](),
    "config_io": set[str](),
    "recipes": set[str](),
    "seeds": set[str](),
    "special_symbols": set[str](),
    "io": {"numpy"},
    "io.parameters": {"torch", "safetensors"},
    "parallel": set[str](),
    "parallel.process_group": {"torch"},
    "parallel.fork": {"torch"},
    "models": {"torch"},
    "text": {"numpy", "sacremoses"},
    "search": {"torch"},
}
"""Room or module -> the libraries beyond Python's own that it may import; a room left out may
import any. A module's own entry goes before its room's."""


class Import(NamedTuple):
    """One import statement's worth of a module: `line` is where it stands."""

    module: str
    name: str
    lazy: bool
    line: int


def imports_of(source: str, package: str) -> Iterator[Import]:
    """Every import in a source text, relative ones made absolute.

    :param package: the package that the module is in, such as `nmtkit.text`.
    """
    yield from _imports(ast.parse(source), package, lazy=False)


def _imports(node: ast.AST, package: str, lazy: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, "", lazy, node.lineno)
    elif isinstance(node, ast.ImportFrom):
        parents = package.split(".")[: len(package.split(".")) + 1 - node.level]
        parts = (parents if node.level else []) + ([node.module] if node.module else [])
        for alias in node.names:
            yield Import(".".join(parts), alias.name, lazy, node.lineno)
    for child in ast.iter_child_nodes(node):
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _imports(child, package, lazy or inside or _for_types(node, child))


def _for_types(node: ast.AST, child: ast.AST) -> bool:
    """Whether `child` is in the body of `if TYPE_CHECKING:`."""
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
        and child in node.body
    )


def module_name(path: Path) -> str:
    """`text.lines` for nmtkit/io/lines.py; a package has its folder's name, nmtkit its own."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return ".".join(parts) or "nmtkit"


def room_of(module: str) -> str:
    return module.partition(".")[0]


def target_of(found: Import) -> str | None:
    """The module of nmtkit that an import reaches, named as `module_name` does; None if none."""
    if found.module.partition(".")[0] != "nmtkit":
        return None
    module = found.module.partition(".")[2]
    inner = ".".join(part for part in (module, found.name) if part)
    path = PACKAGE.joinpath(*inner.split("."))
    exists = path.is_dir() or path.with_suffix(".py").is_file()
    return (inner if exists else module) or "nmtkit"


def allowed(module: str, found: Import) -> bool:
    """Whether `module` may import what it imports there."""
    room, target = room_of(module), target_of(found)
    if target is None:
        library = found.module.partition(".")[0]
        own = library in sys.stdlib_module_names
        listed = LIBRARIES.get(module, LIBRARIES.get(room))
        return own or listed is None or library in listed
    if f"{target}.{found.name}" in EXCEPTIONS.get(module, ()):
        return True
    open_to = ROOMS[room] | (LAZY.get(room, set()) if found.lazy else set())
    return target in open_to or target.partition(".")[0] in open_to


SOURCES = sorted(PACKAGE.rglob("*.py"))


def test_every_module_has_its_room() -> None:
    assert {room_of(module_name(path)) for path in SOURCES} <= set(ROOMS)


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_imports_point_one_way(path: Path) -> None:
    module = module_name(path)
    package = ".".join(("nmtkit", *path.relative_to(PACKAGE).parts[:-1]))
    wrong = [
        f"{path.name}:{found.line} imports {found.module} {found.name}".rstrip()
        for found in imports_of(path.read_text(encoding="utf-8"), package)
        if not allowed(module, found)
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("io.lines", "import torch"),
        ("io.lines", "def f():\n    import torch"),
        ("text.tokenizer", "from nmtkit.config import TextConfig"),
        ("io.lines", "from nmtkit.text.vocabulary import EOS"),
        ("parallel.environment", "import torch"),
        ("text.pipeline", "from nmtkit.config import SearchConfig"),
        ("config", "import torch.nn"),
        ("config", "from nmtkit.models import MODELS"),
        ("models.rnnsearch", "from nmtkit.errors import ConfigError"),
        ("models.rnnsearch", "import numpy"),
        ("search.beam", "from nmtkit.models import rnnsearch"),
        ("evaluation.metrics", "from nmtkit.inference.scorer import Scorer"),
        ("search.beam", "from ..models.layers import maxout"),
        ("training.train", "from nmtkit.report import page"),
        ("data.batch", "from nmtkit.inference import translator"),
        ("inference.translator", "from nmtkit.cli.console import warn"),
        ("cli.translate", "from nmtkit.inference.translator import Translator"),
        ("cli.translate", "def f():\n    from nmtkit.models.base import Step"),
    ],
)
def test_an_import_against_the_arrows_is_found(module: str, statement: str) -> None:
    package = ".".join(("nmtkit", *module.split(".")[:-1]))
    assert [allowed(module, found) for found in imports_of(statement, package)] == [False]


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("text.pipeline", "from nmtkit.config import TextConfig"),
        ("text.vocabulary", "from ..io.lines import read_lines"),
        ("search.beam", "from nmtkit.models.base import TranslationModel"),
        ("search.beam", "from ..models.base import TranslationModel"),
        ("cli.translate", "def f():\n    from nmtkit.inference.translator import Translator"),
        (
            "cli.translate",
            "if TYPE_CHECKING:\n    from nmtkit.inference.translator import Translator",
        ),
        ("training.train", "import nmtkit"),
    ],
)
def test_an_import_along_the_arrows_is_allowed(module: str, statement: str) -> None:
    package = ".".join(("nmtkit", *module.split(".")[:-1]))
    assert [allowed(module, found) for found in imports_of(statement, package)] == [True]


def loaded_by(code: str) -> set[str]:
    """The heavy libraries that a fresh interpreter has loaded after `code`."""
    report = "import sys; print('LOADED', *({'torch', 'numpy', 'sacremoses'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    last = done.stdout.splitlines()[-1].split()
    assert last[0] == "LOADED"
    return set(last[1:])


@pytest.mark.parametrize(
    "module",
    ["nmtkit", "nmtkit.errors", "nmtkit.config", "nmtkit.cli.main", "nmtkit.cli.console"]
    + [command.callback.__module__ for command in COMMANDS.values() if command.callback],
)
def test_importing_starts_nothing_heavy(module: str) -> None:
    assert loaded_by(f"import {module}") == set()


@pytest.mark.parametrize(
    "module",
    [
        "io.lines",
        "text.pipeline",
        "text.vocabulary",
        "preprocessing.prepare",
        "preprocessing.select",
    ],
)
def test_text_is_prepared_without_torch(module: str) -> None:
    assert "torch" not in loaded_by(f"import nmtkit.{module}")


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], *([*path, "--help-all"] for path in COMMANDS)]
)
def test_help_starts_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "from nmtkit.cli.main import cli\n"
        f"try: cli.main({arguments!r})\n"
        "except SystemExit as end: assert end.code == 0, end.code"
    )
    assert loaded_by(code) == set()


def test_a_heavy_import_would_be_seen() -> None:
    assert loaded_by("import numpy") == {"numpy"}
