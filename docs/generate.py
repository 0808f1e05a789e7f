"""Pages of the reference that are generated from the code when the site is built.

`reference/commands.md` comes from the commands' own options, `reference/settings.md` from the
config dataclasses and their docstrings, `reference/cleaning.md` from the rules of cleaning. MkDocs
calls `on_files` (see `hooks` in mkdocs.yml).
"""

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from nmtkit.cli.command import Command
from nmtkit.cli.main import COMMANDS
from nmtkit.config import SECTIONS
from nmtkit.config_io import toml_value
from nmtkit.config_ranges import RANGES
from nmtkit.models import MODELS
from nmtkit.preprocessing.rules import RULES


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the site."""
    for uri, text in (
        ("reference/commands.md", commands_page()),
        ("reference/settings.md", settings_page()),
        ("reference/cleaning.md", cleaning_page()),
        ("contributing.md", contributing_page()),
    ):
        files.append(File.generated(config, uri, content=text))
    return files


def contributing_page() -> str:
    """Return CONTRIBUTING.md with links as they are within the site."""
    path = Path(__file__).parents[1] / "CONTRIBUTING.md"
    return path.read_text(encoding="utf-8").replace("](docs/", "](")


def commands_page() -> str:
    """Return the page of all commands with their options."""
    parts = [
        "# Commands",
        "",
        "Every command with all of its options, as `nmtkit COMMAND --help-all` prints them. Exit"
        " status: 0 success, 1 failure, 2 wrong usage, 130 interrupted, 141 broken pipe, 143"
        " terminated.",
        "",
    ]
    for name, (module, summary) in COMMANDS.items():
        command = importlib.import_module(module).command
        parts += _command(command, ["nmtkit", name], summary)
    return "\n".join(parts)


def _command(command: click.Command, path: list[str], summary: str) -> Iterator[str]:
    """Yield the lines of one command, or of all commands of a group."""
    context = click.Context(command, info_name=" ".join(path))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from _command(inner, [*path, name], inner.get_short_help_str(100))
        return
    yield f"## {' '.join(path)}"
    yield ""
    yield summary
    yield ""
    yield "```text"
    yield " ".join([*path, *command.collect_usage_pieces(context)])
    yield "```"
    yield ""
    yield from _description(command.help or "")
    assert isinstance(command, Command)
    for title, options in command.options_by_group(context).items():
        yield f"| {title} | meaning |"
        yield "| --- | --- |"
        for option in options:
            names, meaning = option.get_help_record(context) or ("", "")
            yield f"| {_cell(f'`{names}`')} | {_cell(meaning)} |"
        yield ""


def _description(text: str) -> Iterator[str]:
    """Yield a help text's paragraphs; those that must not be wrapped become code blocks."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            yield from ("```text", paragraph.removeprefix("\b").strip("\n"), "```", "")
        else:
            yield from (_plain(paragraph), "")


def _cell(text: str) -> str:
    """Return a text as one cell of a Markdown table, without markup except code spans."""
    return _plain(" ".join(text.split()))


def _plain(text: str) -> str:
    """Escape what Markdown would take for a tag, a link or a cell's end, outside code spans."""
    parts = text.split("`")
    entities = str.maketrans({"<": "&lt;", "[": "&#91;", "|": "&#124;"})
    parts[::2] = [part.translate(entities) for part in parts[::2]]
    return "`".join(parts)


def settings_page() -> str:
    """Return the page of all settings, their defaults, choices and ranges."""
    parts = [
        "# Settings",
        "",
        "Settings stand in TOML files (`train --config`), in recipes and in a model folder's"
        " `config.toml`; `train --set section.key=value` changes one. `nmtkit train --show-config"
        " --recipe NAME` prints those of a recipe.",
        "",
    ]
    for section, cls in SECTIONS.items():
        parts += [f"## [{section}]", "", *_section(section, cls)]
    for name, model in MODELS.items():
        parts += [f'## [model] type = "{name}"', "", *_section("model", model.config_class)]
    return "\n".join(parts)


def cleaning_page() -> str:
    """Return the page of all rules of cleaning with their limits."""
    parts = [
        "# Rules of cleaning",
        "",
        "Rules of `nmtkit prepare --clean PRESET` and `--rule NAME=LIMIT`, in the order in which"
        " they are tried. A pair is counted under the first that drops it. Lengths"
        " (`--max-length`, `--max-ratio`) are looked at before, copies (`--dedup`) after them.",
        "",
        "| rule | drops pairs | by name | `safe` | `strict` |",
        "| --- | --- | --- | --- | --- |",
    ]
    for rule in RULES.values():
        limits = ("–" if limit is None else f"{limit:g}" for limit in (rule.safe, rule.strict))
        cells = [f"`{rule.name}`", _cell(rule.help), f"{rule.default:g}", *limits]
        parts.append(f"| {' | '.join(cells)} |")
    return "\n".join([*parts, ""])


def _section(section: str, cls: type[Any]) -> Iterator[str]:
    """Yield the introduction and the table of one section."""
    introduction, described = descriptions(cls)
    yield introduction
    yield ""
    yield "| setting | value | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for field in dataclasses.fields(cls):
        allowed = RANGES.get(f"{section}.{field.name}")
        meaning = described[field.name]  # a setting without a description fails the build
        kind = re.sub(r"^Literal\[(.*)\]$", r"\1", _type_name(field.type)).replace("'", '"')
        value = kind if allowed is None else f"{kind} {allowed.description}"
        cells = [_cell(value), f"`{toml_value(field.default)}`", _cell(meaning)]
        yield " | ".join([f"| `{section}.{field.name}`", *cells]) + " |"
    yield ""


def _type_name(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")


def descriptions(cls: type[Any]) -> tuple[str, dict[str, str]]:
    """Split a config class's docstring into its introduction and its fields' descriptions.

    A description is a paragraph line `name: text` or `name, name: text`, continued by indented
    lines.
    """
    head, _, body = inspect.cleandoc(cls.__doc__ or "").partition("\n\n")
    names = {field.name for field in dataclasses.fields(cls)}
    found: dict[str, str] = {}
    current: list[str] = []
    for line in body.splitlines():
        match = re.match(r"([a-z_]+(?:, [a-z_]+)*): (.*)", line)
        if match and set(match[1].split(", ")) <= names:
            current = match[1].split(", ")
            found.update(dict.fromkeys(current, match[2]))
        elif line.startswith(" ") and current:
            for name in current:
                found[name] += f" {line.strip()}"
        else:
            current = []
    return " ".join(head.split()), found
