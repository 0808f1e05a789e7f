"""Pages of the documentation that are generated from the code (docs/generate.py)."""

import dataclasses
import importlib.util
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from nmtkit.config import SECTIONS

pytest.importorskip("mkdocs")

PATH = Path(__file__).parents[2] / "docs" / "generate.py"


def load() -> Any:
    spec = importlib.util.spec_from_file_location("docs_generate", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_defaults_of_settings_are_toml() -> None:
    page = load().settings_page()
    rows = re.findall(r"^\| `(\w+)\.(\w+)` \| [^|]* \| `(.*?)` \|", page, re.MULTILINE)
    shown = {(section, name): tomllib.loads(f"v = {text}")["v"] for section, name, text in rows}
    for section, settings in SECTIONS.items():
        for field in dataclasses.fields(settings):
            default = list(field.default) if isinstance(field.default, tuple) else field.default
            assert shown[section, field.name] == default
    assert shown["training", "schedule"] == []


def test_the_page_of_settings_does_not_speak_of_a_source_file_as_its_own() -> None:
    assert "this file" not in load().settings_page()
