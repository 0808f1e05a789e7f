"""Names of other toolkits are answered by ours, and every answer exists."""

import dataclasses

import click
import pytest
from click.testing import CliRunner

from nmtkit.cli.command_group import walk_commands
from nmtkit.cli.foreign_names import COMMANDS, OPTIONS, VALUES, our_option
from nmtkit.cli.main import cli
from nmtkit.config import FOREIGN_SETTINGS, SECTIONS
from nmtkit.models import MODELS

LEAVES = {" ".join(path): command for path, command in walk_commands(cli)}
SETTINGS = {
    f"{section}.{field.name}"
    for section, cls in [*SECTIONS.items(), *(("model", m.config_class) for m in MODELS.values())]
    for field in dataclasses.fields(cls)
}


def message(line: str) -> str:
    """Return the error message of a command line."""
    result = CliRunner().invoke(cli, line.split(), prog_name="nmtkit")
    assert result.exit_code == 2, line
    return result.stderr.partition(" See: ")[0]


def test_every_answer_is_an_option_of_a_command() -> None:
    for name, answers in OPTIONS.items():
        given = {our_option(name, command) for command in LEAVES.values()}
        assert given - {None} == set(answers), name
        assert not any("--force" in answer.split() for answer in answers)


def test_every_setting_of_an_answer_exists() -> None:
    answers = [*COMMANDS.values(), *(answer for group in OPTIONS.values() for answer in group)]
    words = " ".join(answers).split()
    named = {word.partition("=")[0] for word in words if "=" in word and "." in word}
    assert named and named | set(FOREIGN_SETTINGS.values()) <= SETTINGS
    assert not set(FOREIGN_SETTINGS) & SETTINGS


def test_every_command_of_an_answer_exists() -> None:
    assert not set(COMMANDS) & set(LEAVES)
    for answer in COMMANDS.values():
        path = answer.partition(" -")[0]
        assert path in LEAVES or answer == "--version"


def test_every_value_of_an_answer_is_accepted() -> None:
    declared = {s: p for c in LEAVES.values() for p in c.params for s in p.opts}
    for option, names in VALUES.items():
        parameter = declared[option]
        for name, ours in names.items():
            context = click.Context(click.Command("command"))
            assert parameter.process_value(context, ours) == ours
            with pytest.raises(click.BadParameter):
                parameter.process_value(context, name)


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("translate --force-decode x", "--prefix FILE"),
        ("translate --normalize 0.6", "--length-penalty A"),
        ("translate --beam_size 5", "--beam K"),
        ("translate --no_repeat_ngram_size 3", "--no-repeat-ngram N"),
        ("translate --block_ngram_repeat=3", "--no-repeat-ngram N"),
        ("translate --models a b", "-m A -m B"),
        ("translate -m model --device gpu", "cuda"),
        ("translate -m model --device 0", "cuda:0"),
        ("translate --fp16", "--precision bfloat16"),
        ("train prepared --fp16", "-S training.precision=bfloat16"),
        ("train prepared --mini-batch=64", "-S data.batch_size=N"),
        ("train prepared --early-stopping 5", "-S training.patience=N"),
        ("prepare --vocab_size 8000", "--subword-size N"),
        ("prepare --subword spm", "sentencepiece"),
        ("evaluate hyp ref -m bleu", "--measure NAME"),
        ("serve model -p 80", "--port N"),
        ("mert list ref", "nbest tune"),
        ("version", "--version"),
    ],
)
def test_names_of_other_toolkits_are_answered_by_ours(line: str, ours: str) -> None:
    assert message(line).endswith(f"; did you mean '{ours}'?")


def test_options_without_an_answer_are_not_guessed() -> None:
    assert "did you mean" not in message("align --models a").casefold().partition("(")[0]
    assert "mert'; there are score" in message("nbest mert list")


@pytest.mark.parametrize("name", ["--forced", "--enforce", "--forces", "--force-all"])
def test_replacing_output_is_never_suggested(name: str) -> None:
    answer = message(f"translate -m model {name}")
    assert answer.startswith("nmtkit: error: No such option") and "'--force'" not in answer
