"""Shell completion of recipes and settings, without importing torch.

`nmtkit train` always imports this module, so that modules needed for completion only are imported
within functions.
"""

import functools
import typing
from collections.abc import Iterator
from typing import Any

import click


def recipes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a recipe."""
    from nmtkit.config_io import recipe_names

    return [name for name in recipe_names() if name.startswith(incomplete)]


def devices(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a device, without a number."""
    return [name for name in ("auto", "cpu", "cuda", "mps") if name.startswith(incomplete)]


def settings(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete a setting: `training.se` to `training.seed=`, `model.type=` to the models' names.

    Model settings are those of the model of `--recipe`, or of all models without it.
    """
    key, equals, _ = incomplete.partition("=")
    known = {**_config_settings(), **_model_settings(context.params.get("recipe"))}
    if equals:
        words = [f"{key}={value}" for value in known.get(key, ())]
    else:
        words = [f"{name}=" for name in known]
    return [word for word in words if word.startswith(incomplete)]


def _config_settings() -> dict[str, list[str]]:
    """Return the settings of all sections but `[model]`, with their values if they are words."""
    import dataclasses

    from nmtkit.config import SECTIONS

    known = {}
    for section, config in SECTIONS.items():
        types = typing.get_type_hints(config)
        for field in dataclasses.fields(config):
            known[f"{section}.{field.name}"] = _possible_words(types[field.name])
    return known


def _possible_words(kind: Any) -> list[str]:
    if kind is bool:
        return ["true", "false"]
    return [str(value) for value in typing.get_args(kind) if isinstance(value, str)]


def _model_settings(recipe: str | None) -> dict[str, list[str]]:
    """Return the settings of `[model]`: those of a recipe's model, or of all models."""
    from nmtkit.config_io import recipe_names, recipe_table

    models = _model_fields()
    known: dict[str, list[str]] = {"model.type": list(models)}
    recipe_model = recipe_table(recipe)["model"]["type"] if recipe in recipe_names() else None
    for name, fields in models.items():
        if recipe_model in (None, name):
            known |= {f"model.{field}": [] for field in fields}
    return known


@functools.cache
def _model_fields() -> dict[str, list[str]]:
    """Return the models' names and the fields of their configs, read from their source files.

    Importing the models would import torch, which takes too long for <TAB>.
    """
    import ast
    from importlib import resources

    folder = resources.files("nmtkit") / "models"
    classes: dict[str, str] = {}  # model -> "module:Class"
    for node in ast.walk(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict):
            classes |= ast.literal_eval(node)
    files = {name: path.partition(":")[0].rpartition(".")[2] for name, path in classes.items()}
    sources = {
        name: (folder / f"{file}.py").read_text(encoding="utf-8") for name, file in files.items()
    }
    return {name: list(_config_fields(source)) for name, source in sources.items()}


def _config_fields(source: str) -> Iterator[str]:
    import ast

    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("Config"):
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                    yield line.target.id
