"""Imports point one way, and commands start without torch.

The rooms (packages and top-level modules) and the allowed imports between them are those of
docs/explanation/architecture.md. Every import counts, also inside functions. Lazy imports, which
are inside functions or for types only, have additional targets, because they cost nothing at
start-up.
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

BASE = {"config", "config_io", "config_ranges", "durations", "seeds", "errors", "extras"} | {
    "value_types",
    "columns",
    "special_symbols",
    "progress_bar",
}
"""Modules that every room above `models` and `text` may import."""

ROOMS = {
    "nmtkit": {"errors", "posix"},
    "errors": set[str](),
    "columns": set[str](),
    "posix": {"errors"},
    "durations": set[str](),
    "extras": set[str](),
    "seeds": set[str](),
    "special_symbols": set[str](),
    "progress_bar": {"columns", "parallel.environment"},
    "recipes": set[str](),
    "text_config": set[str](),
    "config_ranges": set[str](),
    "value_types": {"config_ranges", "durations", "errors"},
    "config": {"config_ranges", "errors", "text_config", "value_types"},
    "config_io": {"config", "errors", "value_types"},
    "io": {"io", "errors"},
    "text": {"text", "io", "errors", "extras", "special_symbols"},
    "documents": {"documents", "text", "io", "columns", "errors"},
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
    "model_folder": {"text_config", "models", "data", "text", "io"} | BASE,
    "new_model_folder": {"model_folder", "text_config", "text", "io"} | BASE,
    "inference": {"inference", "model_folder", "search", "models", "data", "text", "io", "parallel"}
    | {"documents"}
    | BASE,
    "training": {"training", "inference", "model_folder", "new_model_folder"}
    | {"search", "evaluation", "models"}
    | {"data", "text", "io", "parallel", "nmtkit"}
    | BASE,
    "smt": {"smt", "inference", "model_folder", "evaluation", "text", "io", "parallel"} | BASE,
    "integrity": {"integrity", "training", "smt", "model_folder", "models", "data", "text", "io"}
    | BASE,
    "report": {"report", "inference", "search", "evaluation", "smt", "model_folder", "models"}
    | {"training.learning_curve", "training.provenance", "training.time_left", "training.watcher"}
    | {"text", "io", "nmtkit"}
    | BASE,
    "serve": {"serve", "inference", "preprocessing.languages", "text", "io", "nmtkit"}
    | {"documents.archive", "documents.encoding", "documents.formats", "documents.html_encoding"}
    | {"parallel", "extras"}
    | BASE,
    "cli": {"nmtkit", "posix", "cli", "parallel.environment", "config_ranges", "durations"}
    | {"errors", "extras"},
    "__main__": {"cli"},
}
"""Room -> the rooms or single modules that it may import at any time."""

COMMANDS_USE = {
    "integrity",
    "report",
    "training",
    "inference",
    "preprocessing",
    "smt",
    "evaluation",
    "search",
    "serve",
}
"""The rooms whose functions commands call."""

LAZY = {
    "nmtkit": COMMANDS_USE | {"text.glossary"},
    "preprocessing": {"model_folder", "new_model_folder"},  # `prepare --like MODEL`
    "config": {"models"},  # config dataclasses for the section [model]
    "config_io": {"models"},  # names of models in TOML files
    "cli": COMMANDS_USE | {"progress_bar", "model_folder", "data", "text", "io", "parallel"} | BASE,
}
"""Room -> further rooms or modules that it may import inside functions or for types."""

EXCEPTIONS = {"text.pipeline": {"config.Side", "config.TextConfig"}}
"""Module -> names that it may import although its room may not."""

LIBRARIES = {
    "nmtkit": set[str](),
    "errors": set[str](),
    "columns": set[str](),
    "config_ranges": set[str](),
    "value_types": set[str](),
    "config": set[str](),
    "config_io": set[str](),
    "recipes": set[str](),
    "durations": set[str](),
    "extras": set[str](),
    "seeds": set[str](),
    "special_symbols": set[str](),
    "documents": set[str](),
    "progress_bar": set[str](),
    "io": {"numpy"},
    "io.locks": {"filelock"},
    "io.compression": {"zstandard"},
    "io.language_tags": {"iso639"},
    "io.parameters": {"torch", "safetensors"},
    "parallel": set[str](),
    "parallel.process_group": {"torch"},
    "parallel.fork": {"torch"},
    "parallel.forked_worker": {"torch"},
    "models": {"torch"},
    "text": {"numpy", "sacremoses"},
    "text.language_identifier": {"py3langid"},
    "text.subword.bpe": {"subword_nmt"},
    "text.subword.normalization": {"sentencepiece"},
    "text.subword.sentence_piece_learner": {"sentencepiece"},
    "search": {"torch"},
}
"""Room or module -> the third-party libraries that it may import.

A module's entry replaces its room's; a room without an entry may import any."""


class Import(NamedTuple):
    """One imported module or name, and the line number of the statement."""

    module: str
    name: str
    lazy: bool
    line: int


def imports_of(source: str, package: str) -> Iterator[Import]:
    """Yield every import in a source text, with relative ones made absolute.

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
    """Return whether `child` is in the body of `if TYPE_CHECKING:`."""
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
        and child in node.body
    )


def module_name(path: Path) -> str:
    """Return `io.lines` for nmtkit/io/lines.py, and `io` for its __init__.py."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return ".".join(parts) or "nmtkit"


def room_of(module: str) -> str:
    return module.partition(".")[0]


def target_of(imported: Import) -> str | None:
    """Return the imported module of nmtkit, as `module_name` spells it; None for a library."""
    if imported.module.partition(".")[0] != "nmtkit":
        return None
    module = imported.module.partition(".")[2]
    inner = ".".join(part for part in (module, imported.name) if part)
    path = PACKAGE.joinpath(*inner.split("."))
    exists = path.is_dir() or path.with_suffix(".py").is_file()
    return (inner if exists else module) or "nmtkit"


def allowed(module: str, imported: Import) -> bool:
    """Return whether `module` may make this import."""
    room, target = room_of(module), target_of(imported)
    if target is None:
        library = imported.module.partition(".")[0]
        builtin = library in sys.stdlib_module_names
        listed = LIBRARIES.get(module, LIBRARIES.get(room))
        return builtin or listed is None or library in listed
    if f"{target}.{imported.name}" in EXCEPTIONS.get(module, ()):
        return True
    targets = ROOMS[room] | (LAZY.get(room, set()) if imported.lazy else set())
    return target in targets or target.partition(".")[0] in targets


SOURCES = sorted(PACKAGE.rglob("*.py"))


def test_every_module_belongs_to_a_room() -> None:
    assert {room_of(module_name(path)) for path in SOURCES} <= set(ROOMS)


def test_imports_point_one_way() -> None:
    wrong = [
        f"{path}:{imported.line} imports {imported.module} {imported.name}".rstrip()
        for path in SOURCES
        for imported in imports_of(path.read_text(encoding="utf-8"), package_of(path))
        if not allowed(module_name(path), imported)
    ]
    assert not wrong


def package_of(path: Path) -> str:
    """Return the package that a source file belongs to, as in "nmtkit.io"."""
    return ".".join(("nmtkit", *path.relative_to(PACKAGE).parts[:-1]))


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
def test_a_forbidden_import_is_detected(module: str, statement: str) -> None:
    package = ".".join(("nmtkit", *module.split(".")[:-1]))
    assert [allowed(module, imported) for imported in imports_of(statement, package)] == [False]


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
def test_an_allowed_import_is_accepted(module: str, statement: str) -> None:
    package = ".".join(("nmtkit", *module.split(".")[:-1]))
    assert [allowed(module, imported) for imported in imports_of(statement, package)] == [True]


def heavy_imports(code: str) -> set[str]:
    """Return the heavy libraries that a new interpreter has imported after `code`."""
    report = "import sys; print('LOADED', *({'torch', 'numpy', 'sacremoses'} & set(sys.modules)))"
    completed = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    last = completed.stdout.splitlines()[-1].split()
    assert last[0] == "LOADED"
    return set(last[1:])


@pytest.mark.parametrize(
    "module",
    ["nmtkit", "nmtkit.errors", "nmtkit.config", "nmtkit.cli.main", "nmtkit.cli.console"]
    + [command.callback.__module__ for command in COMMANDS.values() if command.callback],
)
def test_importing_loads_no_heavy_library(module: str) -> None:
    assert heavy_imports(f"import {module}") == set()


@pytest.mark.parametrize(
    "module",
    [
        "io.lines",
        "text.pipeline",
        "text.vocabulary",
        "preprocessing.prepare",
        "preprocessing.select",
        "integrity.prepared_folder",
        "integrity.smt_files",
    ],
)
def test_preparing_text_does_not_import_torch(module: str) -> None:
    assert "torch" not in heavy_imports(f"import nmtkit.{module}")


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], *([*path, "--help-all"] for path in COMMANDS)]
)
def test_help_loads_no_heavy_library(arguments: list[str]) -> None:
    code = (
        "from nmtkit.cli.main import cli\n"
        f"try: cli.main({arguments!r})\n"
        "except SystemExit as end: assert end.code == 0, end.code"
    )
    assert heavy_imports(code) == set()


def test_a_heavy_import_is_detected() -> None:
    assert heavy_imports("import numpy") == {"numpy"}
