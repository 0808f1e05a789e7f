"""Shells complete recipes, settings and the names of models, without torch."""

import dataclasses
import os
import subprocess
import sys

import pytest

from nmtkit.config import SECTIONS
from nmtkit.config_io import recipe_names
from nmtkit.models import MODELS


def completions(*words: str) -> list[str]:
    """Return the completions of the last word, from a process that must not import torch."""
    code = (
        "import sys\n"
        "from nmtkit.cli.main import cli\n"
        "try: cli.run(prog_name='nmtkit')\n"
        "finally: assert not {'torch', 'numpy'} & set(sys.modules), 'heavy import'"
    )
    environment = {
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
        "_NMTKIT_COMPLETE": "bash_complete",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_recipes_are_completed() -> None:
    assert completions("nmtkit", "train", "-r", "rnnsearch") == [
        name for name in recipe_names() if name.startswith("rnnsearch")
    ]


@pytest.mark.parametrize("section", ["data", "training", "search"])
def test_settings_of_a_section_are_completed(section: str) -> None:
    completed = completions("nmtkit", "train", "--set", f"{section}.")
    names = [field.name for field in dataclasses.fields(SECTIONS[section])]
    assert completed == [f"{section}.{name}=" for name in names]


@pytest.mark.parametrize(("recipe", "model"), [("cslm", "cslm"), ("toy", "rnnsearch")])
def test_settings_of_the_recipe_s_model_are_completed(recipe: str, model: str) -> None:
    completed = completions("nmtkit", "train", "--recipe", recipe, "-S", "model.")
    fields = dataclasses.fields(MODELS[model].config_class)
    assert completed == ["model.type=", *(f"model.{field.name}=" for field in fields)]


def test_settings_of_all_models_are_completed_without_a_recipe() -> None:
    completed = set(completions("nmtkit", "train", "--set", "model."))
    for model in MODELS.values():
        names = {f"model.{field.name}=" for field in dataclasses.fields(model.config_class)}
        assert names <= completed


def test_values_are_completed() -> None:
    models = completions("nmtkit", "train", "--set", "model.type=")
    assert models == [f"model.type={name}" for name in MODELS]
    assert completions("nmtkit", "train", "--set", "data.batch_unit=t") == [
        "data.batch_unit=tokens"
    ]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("translate -m ", "dir"),
        ("translate --candidates ", "file"),
        ("evaluate ", "file"),
        ("prepare --train ", "file"),
        ("prepare --train news:2 a.en ", "file"),
        ("nbest rerank --weights-file ", "file"),
    ],
)
def test_files_are_completed_by_the_shell(words: str, kind: str) -> None:
    environment = {
        **os.environ,
        "COMP_WORDS": f"nmtkit {words}",
        "COMP_CWORD": str(len(words.split()) + 1),
        "_NMTKIT_COMPLETE": "bash_complete",
    }
    code = "from nmtkit.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.stdout.splitlines() == [f"{kind},"]


def test_old_spellings_are_not_completed() -> None:
    assert "rerank" not in completions("nmtkit", "r")
    assert completions("nmtkit", "nbest", "r") == ["rerank"]
    assert completions("nmtkit", "train", "--se") == ["--set"]
    assert completions("nmtkit", "nbest", "rerank", "--weights") == ["--weights-file"]
