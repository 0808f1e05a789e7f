"""Old spellings are replaced by today's, with one warning each."""

import click
import pytest
from click.testing import CliRunner

from nmtkit.cli.command_group import walk_commands
from nmtkit.cli.main import MOVED, cli
from nmtkit.cli.old_spellings import Renamed, replace_old_spellings, resolve_moved_command

COMMANDS = dict(walk_commands(cli))

RENAMED = [
    Renamed("--rule {MODE}", "--beam-mode {MODE}"),
    Renamed("--raw", "--no-tokenized"),
    Renamed("--test {SRC} {REF}", "--source {SRC} --reference {REF}"),
    Renamed("--format json", "--json"),
    Renamed("--format text", ""),
    Renamed("--tokenize {LANG}", "--language {LANG}"),
    Renamed("--detokenize {LANG}", "--tokenized --language {LANG}"),
    Renamed("-s {KEY=VALUE}", "-S {KEY=VALUE}"),
]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("a --beam 3 b", "a --beam 3 b"),
        ("a --rule bounded b", "a --beam-mode bounded b"),
        ("a --rule=bounded b", "a --beam-mode bounded b"),
        ("--raw a --raw", "--no-tokenized a --no-tokenized"),
        ("m --test a b -o c", "m --source a --reference b -o c"),
        ("--format json a", "--json a"),
        ("--format=json a", "--json a"),
        ("--format text a", "a"),
        ("--format svg a", "--format svg a"),
        ("--format=svg a", "--format=svg a"),
        ("--detokenize fr", "--tokenized --language fr"),
        ("-s model.x=1 -s data.y=2", "-S model.x=1 -S data.y=2"),
        ("-smodel.x=1", "-S model.x=1"),
        ("-s en", "-s en"),
        ("-set", "-set"),
        ("--rule", "--rule"),
        ("-- --raw", "-- --raw"),
    ],
)
def test_old_spellings_become_new_ones(old: str, new: str) -> None:
    assert replace_old_spellings(old.split(), RENAMED, quiet=True) == new.split()


def test_each_old_spelling_gives_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    replace_old_spellings("--rule x --raw --rule y --format text".split(), RENAMED, quiet=False)
    assert [record.message for record in caplog.records] == [
        "--rule MODE is now --beam-mode MODE",
        "--raw is now --no-tokenized",
        "--format text is the default now; leave it out",
    ]


def test_completion_does_not_warn(caplog: pytest.LogCaptureFixture) -> None:
    replace_old_spellings(["--raw"], RENAMED, quiet=True)
    resolve_moved_command(["tune", "x"], MOVED, "nmtkit", quiet=True)
    assert caplog.records == []


def test_only_the_first_process_of_a_job_warns(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "RANK": "1",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "a",
        "MASTER_PORT": "1",
    }.items():
        monkeypatch.setenv(name, value)
    replace_old_spellings(["--raw"], RENAMED, quiet=False)
    assert caplog.records == []


def test_options_that_excluded_each_other_still_do() -> None:
    with pytest.raises(click.UsageError, match="--tokenize and --detokenize exclude each other"):
        replace_old_spellings("--tokenize fr --detokenize fr".split(), RENAMED, quiet=True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rerank list", "nbest rerank list"),
        ("tune list ref -o x", "nbest tune list ref -o x"),
        ("score -m x --nbest list src", "nbest score list -m x src"),
        ("score -m x --nbest=list", "nbest score list -m x"),
        ("score --nbest - -m x", "nbest score - -m x"),
        ("score -m x --phrase-table t", "phrase-table score t -m x"),
        ("report --phrase-table t -o x", "phrase-table report t -o x"),
        ("score -m x a b", "score -m x a b"),
        ("score a -- --nbest b", "score a -- --nbest b"),
        ("prepare --phrase-table t", "prepare --phrase-table t"),
        ("train rerank", "train rerank"),
    ],
)
def test_commands_that_moved_are_found(old: str, new: str) -> None:
    assert resolve_moved_command(old.split(), MOVED, "nmtkit", quiet=True) == new.split()


def test_a_command_that_moved_is_named(caplog: pytest.LogCaptureFixture) -> None:
    resolve_moved_command("score -m x --nbest list".split(), MOVED, "nmtkit", quiet=False)
    assert [record.message for record in caplog.records] == [
        "'nmtkit score --nbest LIST' is now 'nmtkit nbest score LIST'"
    ]


def test_a_wrong_option_is_answered_with_a_new_spelling() -> None:
    result = CliRunner().invoke(cli, ["translate", "--rul", "x"], prog_name="nmtkit")
    assert result.exit_code == 2 and "--rule" not in result.stderr
    near = CliRunner().invoke(cli, ["translate", "--been", "x"], prog_name="nmtkit").stderr
    assert "--beam" in near


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_no_help_names_an_old_spelling(path: tuple[str, ...]) -> None:
    words = CliRunner().invoke(cli, [*path, "--help-all"]).stdout.replace(",", " ").split()
    options = {change.option for change in COMMANDS[path].renamed if change.new}
    current = {o for p in COMMANDS[path].params for o in (*p.opts, *p.secondary_opts)}
    assert not set(words) & (options - current)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_new_spellings_are_options_of_the_command(path: tuple[str, ...]) -> None:
    current = {o for p in COMMANDS[path].params for o in (*p.opts, *p.secondary_opts)}
    for change in COMMANDS[path].renamed:
        assert {word for word in change.new.split() if word.startswith("-")} <= current
