"""Settings of a training: from a recipe, a file, another model and single settings."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nmtkit.config import Config, parse_config, rename_settings
from nmtkit.config_io import (
    merge_tables,
    parse_override,
    read_toml,
    recipe_names,
    recipe_table,
    warn_of_old_names,
    with_base,
    write_toml,
)
from nmtkit.errors import ConfigError
from nmtkit.training.initial_model import InitialModel, starting_settings
from nmtkit.training.schedule import Schedule

OTHER_FORMATS = (".yml", ".yaml", ".json")
"""Endings of files in which other toolkits have their settings."""


def make_config(
    recipe: str | None = None,
    config_file: str | Path | None = None,
    overrides: Sequence[str] = (),
    default: Mapping[str, Any] | None = None,
) -> Config:
    """Read settings from a recipe, then a file (whose `base` may name a recipe), then overrides.

    :param overrides: settings as "section.key=value".
    :param default: settings to begin with if no recipe is named.
    :raises ConfigError: a key, value or recipe does not exist.
    """
    table: dict[str, Any] = recipe_table(recipe) if recipe else dict(default or {})
    where = f"recipe {recipe}" if recipe else "settings"
    renamed: dict[str, str] = {}
    if config_file is not None:
        where = str(config_file)
        if Path(config_file).suffix in OTHER_FORMATS:
            shown = "as 'nmtkit train --show-config' prints them"
            raise ConfigError(f"{where}: settings are in TOML, {shown}")
        from_file, renamed = rename_settings(read_toml(config_file), where)
        if "base" in from_file and not recipe:
            table = {}
        table = merge_tables(table, with_base(from_file, where))
    base = table
    override_table, renamed_overrides = parse_overrides(overrides)
    table = merge_tables(table, override_table)
    warn_of_old_names(renamed | renamed_overrides)
    try:
        return _checked(table, where)
    except ConfigError:
        place = _place_of_mistake(base, overrides, where)
    try:
        return _checked(table, place)
    except ConfigError as error:
        raise ConfigError(f"{error}{_remedy_for_another_model(place)}") from error


def parse_overrides(overrides: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return settings given as "section.key=value" as a table, and their old names.

    :raises ConfigError: one is of another form, or given under an old and its new name.
    """
    table: dict[str, Any] = functools.reduce(merge_tables, map(parse_override, overrides), {})
    return rename_settings(table, "--set")


def _checked(table: Mapping[str, Any], where: str) -> Config:
    """Return the settings of a table; `where` is its place in messages."""
    config = parse_config(table, where)
    Schedule.of(config.training)  # whose points are checked
    return config


def _place_of_mistake(base: dict[str, Any], overrides: Sequence[str], where: str) -> str:
    """Return the override from which on settings are wrong, or `where` if they are without any.

    :param base: settings before the overrides.
    """
    place, table, tables = where, base, [base]
    for override in overrides:
        table = merge_tables(table, parse_overrides([override])[0])
        tables.append(table)
    names = [where, *(f"--set {override}" for override in overrides)]
    for name, table in zip(reversed(names), reversed(tables), strict=True):
        try:
            _checked(table, where)
        except ConfigError:
            place = name
        else:
            break
    return place


def _remedy_for_another_model(place: str) -> str:
    """Return what to do if settings do not fit the type of model that an override asks for.

    They are those of the recipe, also where the user has named none.

    :param place: the override that is the mistake, or another place.
    """
    option = "--set model.type="
    if not place.startswith(option):
        return ""
    asked = place.removeprefix(option).strip("\"'")
    recipes = [name for name in recipe_names() if recipe_table(name)["model"].get("type") == asked]
    if not recipes:
        return ""
    return f"; a model of this type has recipes of its own: --recipe {' or '.join(recipes)}"


def describe_settings(
    recipe: str | None,
    config_file: str | Path | None,
    overrides: Sequence[str],
    initial_model: str | Path | None = None,
) -> str:
    """Return the settings that `train` would use, as TOML.

    `[text]` has the defaults; `train` takes it from the prepared folder.
    """
    default = None
    if initial_model is not None:
        default = starting_settings(InitialModel.at(initial_model).folder)
    return write_toml(make_config(recipe, config_file, overrides, default))
