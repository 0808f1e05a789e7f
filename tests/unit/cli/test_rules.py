"""Rules about options that exclude or need each other."""

import os
from typing import Any

import click
import pytest
from click.testing import CliRunner

from nmtkit.cli.command import Command, option
from nmtkit.cli.command_group import walk_commands
from nmtkit.cli.main import cli
from nmtkit.cli.rules import (
    Rule,
    at_least_one,
    check,
    check_pipes,
    different_files,
    excludes,
    exclusive,
    needs,
    one_of,
    one_stdin,
    parameter_named,
    times,
)
from nmtkit.errors import DataError

COMMANDS = dict(walk_commands(cli))


def command(*rules: Rule) -> Command:
    @click.command(cls=Command, rules=rules)
    @click.argument("source", metavar="[SRC]", required=False)
    @option("-a", "--alpha", type=int, help="A number.")
    @option("--beta/--no-beta", default=True, help="A switch.")
    @option("--gamma", multiple=True, help="Words.")
    @option("--method", type=click.Choice(["x", "y"]), default="x", help="A choice.")
    @option("-o", "--output", default="-", envvar="TEST_OUTPUT", help="A file.")
    @option("--log", help="A file.")
    def run(**_: Any) -> None:
        """Do nothing."""

    return run


@pytest.mark.parametrize(
    ("rule", "line", "message"),
    [
        (exclusive("--alpha", "--gamma"), "--alpha 1", None),
        (exclusive("--alpha", "--gamma"), "-a 0 --gamma x", "--alpha and --gamma exclude each"),
        (exclusive("--alpha >0", "--gamma"), "-a 0 --gamma x", None),
        (exclusive("--alpha >0", "--gamma"), "-a 1 --gamma x", "--alpha and --gamma exclude each"),
        (exclusive("--alpha", "SRC", because="why"), "-a 1 f", "exclude each other: why."),
        (one_of("--alpha", "SRC", unless="--gamma"), "-a 1 f --gamma x", None),
        (exclusive("--alpha", "--no-beta"), "-a 1", None),
        (exclusive("--alpha", "--no-beta"), "-a 1 --beta", None),
        (exclusive("--alpha", "--no-beta"), "-a 1 --no-beta", "--alpha and --no-beta exclude"),
        (exclusive("--alpha", "--method y"), "-a 1 --method y", "--alpha and --method y exclude"),
        (excludes("--alpha", "--gamma", "SRC")[1], "-a 1 f", "--alpha and SRC exclude"),
        (one_of("--alpha", "--gamma"), "", "One of --alpha or --gamma is needed."),
        (one_of("--alpha", "--gamma"), "--gamma x", None),
        (at_least_one("--alpha", "SRC"), "", "--alpha or SRC is needed."),
        (at_least_one("--alpha", "SRC"), "f -a 1", None),
        (needs("--alpha", "--gamma"), "", None),
        (needs("--alpha", "--gamma", "SRC"), "-a 1", "--alpha needs --gamma or SRC."),
        (needs("--alpha", "--gamma", "SRC"), "-a 1 f", None),
        (needs("--alpha", "--method x"), "-a 1", None),
        (needs("--alpha", "--method x"), "-a 1 --method y", "--alpha needs --method x."),
        (times("--gamma", {"--method x": 2, "--method y": 1}), "", None),
        (times("--gamma", {"--method x": 2}), "--gamma a", "--method x needs --gamma twice."),
        (times("--gamma", {"--method x": 1}), "--gamma a", None),
        (different_files("--output", "--log"), "--log x", None),
        (different_files("--output", "--log"), "--log -", "--output and --log need different"),
        (different_files("--output", "--log"), "-o a/../b --log ./b", "need different files."),
        (different_files("--output", "--log"), "-o a --log b", None),
        (one_stdin("SRC", "--log"), "- --log x", None),
        (one_stdin("SRC", "--log"), "- --log -", "stdin ('-') can be only one of SRC and --log."),
    ],
)
def test_a_broken_rule_is_wrong_usage(rule: Rule, line: str, message: str | None) -> None:
    result = CliRunner().invoke(command(rule), line.split())
    assert result.exit_code == (0 if message is None else 2), result.output
    assert message is None or message in result.stderr


def test_a_default_of_the_environment_breaks_no_rule() -> None:
    rules = command(exclusive("--alpha", "--output"))
    environment = {"TEST_OUTPUT": "file"}
    assert CliRunner().invoke(rules, ["-a", "1"], env=environment).exit_code == 0
    assert CliRunner().invoke(rules, ["-a", "1", "-o", "f"], env=environment).exit_code == 2


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_rules_name_options_that_the_command_has(path: tuple[str, ...]) -> None:
    for rule in COMMANDS[path].rules:
        for name in rule.names:
            assert parameter_named(COMMANDS[path], name.split()[0])


@pytest.mark.parametrize(
    "line",
    [
        "translate -m model --terms -",
        "translate -m model --protect placeholders --protect -",
        "translate -m model --replace-unk -",
        "translate -m model --candidates -",
        "translate -m model --segment random --segment-lengths -",
        "align -m model - test.fr --gold -",
        "evaluate - test.fr --by unknown --source test.en --src-vocab -",
        "optimize model --train - a.fr --dev - b.fr",
    ],
)
def test_stdin_is_not_read_twice(line: str) -> None:
    """What is read after the first reading would be empty."""
    name, *words = line.split()
    with COMMANDS[name,].make_context(name, words) as context:
        with pytest.raises(click.UsageError, match="stdin .* can be only one of"):
            check(COMMANDS[name,].rules, context)


def test_only_files_are_taken_for_pipes(tmp_path, monkeypatch) -> None:
    """A value of another option may be the name of a pipe that is here by chance."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("news")
    prepare = COMMANDS["prepare",]
    words = "-s en -t fr --test news a b --dev c d --train e news -o out".split()
    with prepare.make_context("prepare", words) as context:
        check_pipes(context)
    words[words.index("a")] = "news"
    with prepare.make_context("prepare", words) as context:
        with pytest.raises(DataError, match="news and news are the same pipe"):
            check_pipes(context)


def test_a_rule_about_an_unknown_option_is_a_bug() -> None:
    with pytest.raises(LookupError, match="--nothing"):
        parameter_named(cli, "--nothing")
