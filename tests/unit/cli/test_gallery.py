"""The gallery page: its pictures exist and are small, and its commands exist."""

import re
from pathlib import Path

import pytest

from nmtkit.cli.command_group import walk_commands
from nmtkit.cli.main import cli

COMMANDS = dict(walk_commands(cli))

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "gallery.md"
TEXT = PAGE.read_text(encoding="utf-8")
COMMAND = re.compile(r"\bnmtkit ((?:nbest |phrase-table )?[a-z]+) ((?:[^|>\n\\`]|\\\n)*)")


def test_every_picture_is_on_the_page_and_each_is_small() -> None:
    named = set(re.findall(r"\]\((gallery/[^)]+)\)", TEXT))
    files = [path for path in (PAGE.parent / "gallery").iterdir()]
    assert named == {f"gallery/{path.name}" for path in files}
    assert max(path.stat().st_size for path in files) < 150_000
    assert sum(path.stat().st_size for path in files) < 1_000_000


@pytest.mark.parametrize(("name", "arguments"), COMMAND.findall(TEXT))
def test_commands_on_the_page_use_existing_options(name: str, arguments: str) -> None:
    command = COMMANDS[tuple(name.split())]
    known = {option for parameter in command.params for option in parameter.opts}
    assert set(re.findall(r"(?<!\S)--?[a-z-]+", arguments)) <= known | {"--help", "-"}


def test_commands_are_found_on_the_page() -> None:
    command_names = [name for name, _ in COMMAND.findall(TEXT)]
    assert {"align", "evaluate", "curves", "embed", "map", "phrase-table report"} <= set(
        command_names
    )
    assert len(command_names) > 10
