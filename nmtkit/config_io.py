"""Settings as text: TOML documents, recipes and `--set` options."""

import dataclasses
import json
import logging
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from nmtkit.config import FORMAT, SECTIONS, Config, suggest_name
from nmtkit.errors import ConfigError
from nmtkit.value_types import plain_number

Table = dict[str, Any]

MAX_TOML_CHARACTERS = 1 << 20
"""Maximum length of a file of settings, which has about 2,000 characters."""

log = logging.getLogger("nmtkit")


def read_toml(path: str | Path) -> Table:
    """Read a TOML file.

    :raises ConfigError: the file is missing, not UTF-8 or not TOML (with line and column).
    """
    try:
        with open(path, encoding="utf-8-sig") as file:  # some editors begin it with a mark
            text = file.read(MAX_TOML_CHARACTERS + 1)
        if len(text) > MAX_TOML_CHARACTERS:
            raise ValueError("it is larger than 1 MiB")
        return _parse_toml(text)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: not a TOML file: {error}") from error


def _parse_toml(text: str) -> Table:
    """Parse a TOML document.

    :raises ValueError: the text is not TOML, has an integer of thousands of digits, or nests too
        deeply.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("brackets nested too deeply") from None


def recipe_names() -> list[str]:
    """Return the names of the package's recipes in alphabetical order."""
    folder = resources.files("nmtkit.recipes")
    return sorted(p.name[:-5] for p in folder.iterdir() if p.name.endswith(".toml"))


def recipe_table(name: str) -> Table:
    """Return the settings of a recipe, including those of its `base`.

    :raises ConfigError: no recipe has that name.
    """
    if name not in recipe_names():
        raise ConfigError(f"there is no recipe '{name}'; {suggest_name(name, recipe_names())}")
    text = resources.files("nmtkit.recipes").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return with_base(tomllib.loads(text))


def with_base(table: Table, where: str = "settings") -> Table:
    """Merge a table with the settings of the recipe that its key `base` names, if any.

    :param where: the file, for messages.
    :raises ConfigError: no recipe has that name.
    """
    table = dict(table)
    base = table.pop("base", None)
    if base is None:
        return table
    if not isinstance(base, str):
        raise ConfigError(f"{where}: base: expected the name of a recipe, not {base!r}")
    if base not in recipe_names():
        raise ConfigError(
            f"{where}: base: there is no recipe '{base}'; {suggest_name(base, recipe_names())}"
        )
    return merge_tables(recipe_table(base), table)


def merge_tables(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> Table:
    """Merge two tables section by section; `upper` wins where both have a key."""
    result = dict(lower)
    for key, value in upper.items():
        lower_value = result.get(key)
        result[key] = (
            merge_tables(lower_value, value)
            if isinstance(lower_value, dict) and isinstance(value, dict)
            else value
        )
    return result


def parse_override(text: str) -> Table:
    """Parse `section.key=value` (a TOML value; a bare word is a string) into a table.

    :raises ConfigError: `section.` or `=` is missing.
    """
    key, equals, value = text.partition("=")
    section, dot, name = key.strip().partition(".")
    if not (equals and dot and section and name):
        raise ConfigError(f"--set {text}: expected SECTION.KEY=VALUE, e.g. training.seed=2")
    try:
        parsed = _parse_toml(f"value = {value}")["value"]
    except ValueError:
        parsed = value.strip()
    return {section: {name: parsed}}


def override_strings(settings: Mapping[str, object]) -> list[str]:
    """Format settings as strings that `parse_override` can parse.

    :param settings: "section.key" -> value.
    :raises ConfigError: a value is of a type that no setting has.
    """
    strings = []
    for name, value in settings.items():
        try:
            strings.append(f"{name}={toml_value(value)}")
        except TypeError as error:
            raise ConfigError(f"{name}: {error}") from error
    return strings


def warn_of_old_names(renamed: Mapping[str, str]) -> None:
    """Log one warning for all settings that were given by their old names.

    :param renamed: old name -> new name, from `rename_settings`.
    """
    if renamed:
        names = ", ".join(f"{old} is now called {new}" for old, new in renamed.items())
        plural = "s" if len(renamed) > 1 else ""
        log.warning("%s; a later version will not read the old name%s", names, plural)


def write_toml(config: Config) -> str:
    """Format settings as a TOML document, which `parse_config` parses to an equal `Config`."""
    from nmtkit.models import model_name

    lines = [f"format = {FORMAT}", "", "[model]", f'type = "{model_name(config.model)}"']
    lines += _table_lines(config.model)
    for key in SECTIONS:
        lines += ["", f"[{key}]", *_table_lines(getattr(config, key))]
    return "\n".join(lines) + "\n"


def _table_lines(settings: Any) -> list[str]:
    """Format a settings dataclass as lines `name = value`."""
    return [
        f"{f.name} = {toml_value(getattr(settings, f.name))}" for f in dataclasses.fields(settings)
    ]


def toml_value(value: object) -> str:
    """Format a setting's value in TOML.

    :raises TypeError: it is of a type that no setting has.
    """
    value = plain_number(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(toml_value, value))}]"
    if not isinstance(value, int | float):
        raise TypeError(f"no setting is of the type {type(value).__name__}")
    return repr(value)
