"""Options that several commands share, and the environment variables of their defaults."""

import os

import click
import pytest
from click.testing import CliRunner

from nmtkit.cli import shared_options
from nmtkit.cli.command import declare_command, group
from nmtkit.cli.command_group import walk_commands
from nmtkit.cli.main import cli


@declare_command()
@group(
    "Hardware",
    shared_options.device_option,
    shared_options.threads_option,
    shared_options.batch_size_option,
    shared_options.workers_option,
)
@shared_options.force_option
def command(device: str, threads: int, batch_size: int, workers: int, force: bool) -> None:
    """Print the values.

    Example: none.
    """
    click.echo(f"{device} {threads} {batch_size} {workers} {force}")


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["--workers", "7"], "auto 0 64 7 False\n"),
        (
            "--device cpu --threads 2 --batch-size 3 --workers 4 --force".split(),
            "cpu 2 3 4 True\n",
        ),
        (["--device", "cuda:1", "--workers", "7"], "cuda:1 0 64 7 False\n"),
        (["--device", "mps", "--workers", "7"], "mps 0 64 7 False\n"),
    ],
)
def test_options_reach_the_command(arguments: list[str], printed: str) -> None:
    assert CliRunner().invoke(command, arguments).output == printed


def test_all_cores_work_by_default() -> None:
    assert f" {os.cpu_count() or 1} False" in CliRunner().invoke(command, []).output


@pytest.mark.parametrize(
    "arguments", [["--device", "tpu"], ["--device", "cuda:x"], ["--threads", "-1"]]
)
def test_a_value_out_of_range_is_wrong_usage(arguments: list[str]) -> None:
    assert CliRunner().invoke(command, arguments).exit_code == 2


def test_no_number_in_a_range_is_nan() -> None:
    """Else a comparison with it is false, and what it limits has no limit."""
    options = [
        option
        for _, command in walk_commands(cli)
        for option in command.params
        if isinstance(option.type, click.FloatRange)
    ]
    assert {"allow_loss", "min_confidence", "max_loss"} <= {option.name for option in options}
    for option in options:
        for text in ("nan", "NaN", "-nan"):
            with pytest.raises(click.BadParameter, match=f"'{text}' is not a number"):
                option.type.convert(text, option, None)
        assert option.type.convert("1", option, None) == 1


VARIABLES = {
    "NMTKIT_DEVICE": "cpu",
    "NMTKIT_THREADS": "2",
    "NMTKIT_BATCH_SIZE": "3",
    "NMTKIT_WORKERS": "4",
}


def test_environment_variables_set_defaults() -> None:
    assert CliRunner().invoke(command, env=VARIABLES).output == "cpu 2 3 4 False\n"


def test_options_override_environment_variables() -> None:
    printed = CliRunner().invoke(command, ["--threads", "5", "--device", "auto"], env=VARIABLES)
    assert printed.output == "auto 5 3 4 False\n"


def test_every_path_is_checked_when_it_is_opened() -> None:
    """A file that cannot be read is a failure, which has status 1, and no wrong usage."""
    for words, command in walk_commands(cli):
        for parameter in command.params:
            for type_ in getattr(parameter.type, "types", [parameter.type]):
                assert not isinstance(type_, click.Path) or isinstance(
                    type_, shared_options.PathName
                ), f"{' '.join(words)} {parameter.opts[0]}"


def test_an_empty_environment_variable_is_ignored() -> None:
    empty = dict.fromkeys(VARIABLES, "")
    assert (
        CliRunner().invoke(command, ["--workers", "1"], env=empty).output == "auto 0 64 1 False\n"
    )


@pytest.mark.parametrize("name", VARIABLES)
def test_help_names_the_environment_variables(name: str) -> None:
    text = CliRunner().invoke(command, ["--help-all"], terminal_width=100).output
    assert f"env var: {name}" in " ".join(text.split())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NMTKIT_DEVICE", "tpu"),
        ("NMTKIT_THREADS", "many"),
        ("NMTKIT_THREADS", "-1"),
        ("NMTKIT_BATCH_SIZE", "0"),
    ],
)
def test_a_wrong_value_in_the_environment_is_named_with_its_variable(name: str, value: str) -> None:
    result = CliRunner().invoke(
        cli, ["translate", "-m", "model"], env={name: value}, prog_name="nmtkit"
    )
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"the environment variable {name}: " in result.stderr and value in result.stderr
    assert result.stderr.count("\n") == 1


def test_each_command_with_an_output_can_replace_it() -> None:
    """As the message says that refuses to."""
    names = {
        " ".join(path): {name for option in command.params for name in option.opts}
        for path, command in walk_commands(cli)
    }
    assert [
        name for name, opts in names.items() if "--output" in opts and "--force" not in opts
    ] == []


@pytest.mark.parametrize(
    "line",
    [
        "translate -m none --beam 10001",
        "translate -m none --n-best 10001",
        "calibrate none --dev a b --beam 10001",
    ],
)
def test_no_option_asks_for_a_beam_wider_than_allowed(line: str) -> None:
    result = CliRunner().invoke(cli, line.split())
    assert result.exit_code == 2 and "it must be from 1 to 10000" in result.stderr
