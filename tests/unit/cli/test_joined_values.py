"""An option may take all values up to the next option."""

import click
import pytest
from click.testing import CliRunner

from nmtkit.cli.command import declare_command
from nmtkit.cli.file_options import file_values_option
from nmtkit.errors import ConfigError


def at_most_two(values: object) -> list[str]:
    assert isinstance(values, list)
    if len(values) > 2:
        raise ConfigError("too many")
    return values


@declare_command()
@file_values_option("--train", parse=at_most_two, multiple=True, help="Files.")
@file_values_option("--dev", parse=at_most_two, help="Files.")
@click.option("-o", "--output")
@click.argument("rest", nargs=-1)
def command(train: object, dev: object, output: str | None, rest: object) -> None:
    """Print what was given."""
    click.echo(repr((train, dev, output, rest)))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--train a b", ((["a", "b"],), None, None, ())),
        ("--train a b --train c -o x", ((["a", "b"], ["c"]), None, "x", ())),
        ("-o x --train - b --dev d", ((["-", "b"],), ["d"], "x", ())),
        ("--train=a b", ((["a", "b"],), None, None, ())),
        ("--train a -- b --dev", ((["a"],), None, None, ("b", "--dev"))),
        ("--dev a --dev a", ((), ["a"], None, ())),
    ],
)
def test_values_end_at_the_next_option(line: str, expected: object) -> None:
    result = CliRunner().invoke(command, line.split())
    assert result.output == f"{expected!r}\n", result.output


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--train", "Option '--train' requires an argument."),
        ("--train -o x", "Option '--train' requires an argument."),
        ("--dev a b c", "Invalid value for '--dev': too many."),
        ("--dev a --dev b c", "'--dev' is given twice, with 'a' and with 'b c'; give it once."),
    ],
)
def test_wrong_values_are_wrong_usage(line: str, message: str) -> None:
    result = CliRunner().invoke(command, line.split())
    assert result.exit_code == 2 and message in result.stderr
