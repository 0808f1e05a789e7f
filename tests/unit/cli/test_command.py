"""Each command's help fits one screen, and options mean the same in all commands."""

from collections import defaultdict

import click
import pytest
from click.testing import CliRunner

from nmtkit.cli.command import GENERAL, Command, Option
from nmtkit.cli.command_group import walk_commands
from nmtkit.cli.main import cli

SCREEN_LINES, SCREEN_COLUMNS = 24, 80


EVERY = {(): cli, **dict(walk_commands(cli))}
LEAVES = {path: each for path, each in EVERY.items() if not isinstance(each, click.Group)}


def help_text(*arguments: str) -> str:
    result = CliRunner().invoke(
        cli, arguments, prog_name="nmtkit", terminal_width=SCREEN_COLUMNS, max_content_width=None
    )
    assert result.exit_code == 0
    return result.stdout


def visible(command: Command) -> list[click.Option]:
    return [p for p in command.get_params(click.Context(command)) if isinstance(p, click.Option)]


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_help_has_two_names_in_any_context(path: tuple[str, ...]) -> None:
    command = EVERY[path]
    help_option = command.get_help_option(click.Context(command))
    assert help_option is not None and help_option.opts == ["-h", "--help"]
    assert help_text(*path, "-h") == help_text(*path, "--help")


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_help_fits_one_screen(path: tuple[str, ...]) -> None:
    lines = help_text(*path, "--help").splitlines()
    assert len(lines) <= SCREEN_LINES
    assert [line for line in lines if len(line) > SCREEN_COLUMNS] == []
    assert lines == help_text(*path, "-h").splitlines()


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_help_all_lists_every_option(path: tuple[str, ...]) -> None:
    text = help_text(*path, "--help-all")
    for option in visible(EVERY[path]):
        for spelling in option.opts:
            assert f"{spelling} " in text or f"{spelling}," in text


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_option_is_explained_in_a_named_group(path: tuple[str, ...]) -> None:
    for option in visible(LEAVES[path]):
        assert isinstance(option, Option) and option.group or "--help" in option.opts
        assert option.help and option.help[0].isupper() or "--no-tokenized" in option.secondary_opts
        assert (option.help or "").rstrip().endswith((".", "]")), option.opts


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_help_shows_an_example_and_the_arguments(path: tuple[str, ...]) -> None:
    command = LEAVES[path]
    text = help_text(*path, "--help-all")
    assert f"nmtkit {' '.join(path)}" in text.partition("Example")[2]
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            assert parameter.make_metavar(click.Context(command)).strip("[].") in (
                command.help or ""
            )


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_required_options_are_on_the_first_screen(path: tuple[str, ...]) -> None:
    for option in visible(LEAVES[path]):
        if option.required or option.opts[0] in ("-m", "-o", "--json"):
            assert isinstance(option, Option) and option.common, option.opts


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_can_be_quiet_or_verbose(path: tuple[str, ...]) -> None:
    spellings = {spelling for option in visible(LEAVES[path]) for spelling in option.opts}
    assert {"-q", "--quiet", "-v", "--verbose", "--help-all"} <= spellings


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_writes_to_output(path: tuple[str, ...]) -> None:
    pairs = {tuple(option.opts) for option in visible(LEAVES[path])}
    assert ("-o", "--output") in pairs


def kind(option: click.Option) -> object:
    """Return what an option takes: nothing, or values of a type, and how many."""
    if option.is_flag:
        return "flag"
    types = option.type.types if isinstance(option.type, click.Tuple) else [option.type]
    names = tuple("text" if t.name in ("path", "file", "directory") else t.name for t in types)
    return names, option.nargs


SAME_MEANING = {
    "--tag": "a tag; prepare also takes the name of the corpus that gets it",
    "--dev": "two files; prepare also takes one file that holds both sides",
    "--train": "two files; prepare takes several corpora, and files that hold both sides",
    "--output": "a file, or two in a corpus of two files",
    "--method": "the algorithm, of those that the command has",
    "--seed": "a number; only some may be negative",
}
"""Options of several commands whose values differ but mean the same."""


def test_options_mean_one_thing() -> None:
    kinds: dict[str, set[object]] = defaultdict(set)
    partners: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for command in LEAVES.values():
        for option in visible(command):
            long = [spelling for spelling in option.opts if spelling.startswith("--")]
            for spelling in option.opts:
                kinds[spelling].add(kind(option))
                partners[spelling].add(tuple(long))
    assert {name for name, declarations in partners.items() if len(declarations) > 1} == set()
    differing = {name for name, declarations in kinds.items() if len(declarations) > 1}
    assert differing - {"-o"} <= set(SAME_MEANING)


def test_one_meaning_has_one_spelling() -> None:
    spellings = {s for command in LEAVES.values() for o in visible(command) for s in o.opts}
    assert not spellings & {"--raw", "--detokenize", "--nbest", "--samples"}


def test_general_options_come_last() -> None:
    text = help_text("train", "--help-all")
    assert text.index("Input and output:") < text.index("Hardware:") < text.index(f"{GENERAL}:")


REPEATED = [
    (["prepare", "--dev", "a.en", "a.fr", "--dev", "b.tsv"], "'a.en a.fr' and with 'b.tsv'"),
    (["optimize", "model", "--dev", "a", "b", "--dev", "a", "c"], "'a b' and with 'a c'"),
    (
        ["translate", "-m", "model", "--params", "best", "--params", "last"],
        "'best' and with 'last'",
    ),
    (["translate", "-m", "model", "--terms", "a.tsv", "--terms=b.tsv"], "'a.tsv' and with 'b.tsv'"),
    (["train", "prepared", "-c", "a.toml", "--config", "b.toml"], "'a.toml' and with 'b.toml'"),
    (["align", "-m", "a", "-mb", "src", "tgt"], "'-m' / '--model' is given twice, with 'a'"),
]


@pytest.mark.parametrize(("arguments", "part"), REPEATED, ids=[part for _, part in REPEATED])
def test_two_files_or_texts_of_one_option_are_refused(arguments: list[str], part: str) -> None:
    result = CliRunner().invoke(cli, arguments, prog_name="nmtkit")
    assert result.exit_code == 2
    assert part in result.stderr and "is given twice" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["--beam", "5", "-b", "10"], {"beam": 10}),
        (["--beam-mode", "shrinking", "--beam-mode", "bounded"], {"beam_mode": "bounded"}),
        (["--device", "cuda", "--device", "cpu"], {"device": "cpu"}),
        (["--threads", "2", "--threads", "1"], {"threads": 1}),
        (["--terms", "a.tsv", "--terms", "a.tsv"], {"terms": "a.tsv"}),
        (["--segment", "random", "--segment"], {"segment": "confidence"}),
        (["-m", "other"], {"models": ("model", "other")}),
        (["--fast", "--fast", "-q", "-q"], {"fast": True}),
    ],
)
def test_scripts_may_append_options(arguments: list[str], values: dict[str, object]) -> None:
    command = LEAVES["translate",]
    context = command.make_context("translate", ["-m", "model", *arguments])
    assert {name: context.params[name] for name in values} == values


def test_the_later_of_two_opposite_flags_counts() -> None:
    needed = ["-s", "en", "-t", "fr", "--train", "a", "-o", "out"]
    context = LEAVES["prepare",].make_context("prepare", [*needed, "--no-nfc", "--nfc"])
    assert context.params["nfc"] is True
