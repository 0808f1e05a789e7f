"""Short runs of every `nmtkit` command that together use every option that names a file.

The runs are lines of a shell in a folder of tiny files, `SampleFolder`, which the commands
themselves make. `missing_commands` and `unused_options` compare them with the commands and options
that exist: a new command, or a new option for a file, needs a run.
"""

import contextlib
import gzip
import importlib.util
import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from nmtkit.cli.command import Command
from nmtkit.cli.command_group import LazyGroup, walk_commands
from nmtkit.cli.joined_values import join_values
from nmtkit.cli.main import cli
from tests.faults.forked_command import run_forked
from tests.faults.sample_files import FILES

ENGLISH = ["one", "two", "three", "four", "five", "six", "seven"]
FRENCH = ["un", "deux", "trois", "quatre", "cinq", "six", "sept"]
SPLITS = {"train": 12, "dev": 3, "test": 2}

SETTINGS = """
[model]
embedding = 4
hidden = 4
{sizes}

[data]
batch_size = 6
batch_unit = "sentences"

[training]
max_updates = 2
cooldown = 0
validate_every = 1
keep_checkpoints = 2
average_checkpoints = 2
"""
SMALL_MODELS = {
    "toy": "align = 3\nmaxout = 2",
    "grconv": "units = 4\nmaxout = 2",
    "cslm": "context = 2",
}
"""Recipe -> settings of its model."""

LIST = "".join(
    f"{sentence} ||| {words} ||| LM0= -{sentence}.5 TM0= {number} -2.25 ||| -4.5\n"
    for sentence in range(SPLITS["test"])
    for number, words in enumerate(["un deux", "trois un quatre", "six"])
)
TABLE = (
    "one ||| un ||| 0.5 1 0.25 1 ||| 0-0 ||| 2 2 2\n"
    "one ||| deux ||| 0.25 1 0.25 1 ||| 0-0 ||| 2 2 2\n"
    "one two ||| un deux ||| 1 1 1 1 ||| 0-0 1-1 ||| 1 1 1\n"
    "two ||| trois ||| 1 0.5 1 1 ||| 0-0 ||| 9 9 9\n"
)
TEXTS = {
    "list": LIST,
    "table": TABLE,
    "weights": FILES["weights"],
    "moses.ini": FILES["weights"],
    "lexicon": "un one 0.75\ndeux one 0.25\ndeux two 1.0\nsix NULL 0.5\n",
    "gold": "0-0 1-1\n0-0\n",
    "patterns": "t[a-z]+\n",
    "glossary": "two\tun|deux\n",
    "keys": f"{'0' * 64} name\n",
    "lengths": FILES["segments"],
    "vectors": "a b\t0.5\t-1e-05\t1\nb\t1\t2\t0\nc\t-1\t2\t1\nd\t0\t0.5\t1\n",
    "words": "</s>\t3\n<unk>\t0\none\t3\nun\t2\n",
    "codes": FILES["codes"],
    "corpora.toml": '[news]\nfiles = ["test.en", "test.fr"]\n',
}

MADE = """
prepare -s en -t fr --train train.en train.fr --dev dev.en dev.fr --bpe 5 -o prepared
shortlist prepared --size 20
train prepared -o model -c toy.toml
train prepared -o reverse -c toy.toml --reverse
train prepared -o pyramid -c grconv.toml -S training.dev_bleu=false
train prepared -o lm -c cslm.toml -S training.dev_bleu=false
""".split("\n")[1:-1]
"""Commands that make the folders of the sample."""

RUNS = """
prepare -s en -t fr --train train.en train.fr --dev dev.en dev.fr --test news test.en test.fr --bpe 5 -o new
prepare -s en -t fr --train train.en train.fr --held-out 1 --bpe-codes codes --bpe-codes codes -o prepared --force
prepare --like model --train train.en train.fr --held-out 1 -o new
prepare -s en -t fr --phrase-table table.gz --held-out 1 -o new
prepare -s en -t fr --corpora corpora.toml --train more:2 train.en train.fr --test news test.en test.fr --held-out 1 --bpe 5 -o new
select -s en -t fr --domain dev.en dev.fr --pool train.en train.fr --best-cut --dev test.en test.fr -o near.en near.fr --scores-file scores
select -s en -t fr --lm-domain a.arpa --lm-domain a.arpa --lm-general a.arpa --lm-general a.arpa --pool train.en train.fr --pairs 2 -o near.en near.fr
shortlist train.en --size 9 -o vocabulary
shortlist prepared --size 9 --force
train prepared -o new -c toy.toml --page page.html
train prepared -o model -c toy.toml -S training.max_updates=3
train prepared -o model -c toy.toml --force
train prepared -o new -c toy.toml --from model
adapt model --data test.en test.fr --guard dev.en dev.fr --replay prepared --updates 1 --allow-loss 100 -o new
curves model -m lm --plot curves.svg -o table.tsv
translate test.en -m model -m model -o out --alignments links --candidates lexicon --replace-unk lexicon
translate test.en -m model --markup xml --protect placeholders --protect patterns -o out
translate test.en -m model --terms glossary -o out
translate test.en -m model --format html --protect patterns -o out
translate test.en -m model --prefix test.fr -o out
translate test.en -m model --segment --reverse-model reverse --segments segments -o out
translate test.en -m model --segment random --segment-lengths lengths
serve --new-key name --keys new -o out
serve model --keys keys --glossary names=glossary --port 0 --check
score test.en test.fr -m model -o out
score test.fr -m lm -o out.gz
nbest score list.gz test.en -m model -m lm -o out
nbest rerank list --weights-file weights --original moses.ini -o out --list sorted.gz
nbest rerank list --oracle test.fr
nbest tune list test.fr --reference hypotheses --start weights --method mira --epochs 2 -o tuned
phrase-table score table.gz -m model -o out
phrase-table report table -m model --pairs 5 --phrases 1 --sample 2 --min-words 1 --top 1 --format svg -o new
align test.en test.fr -m model -o links --lexicon lexicon.new --gold gold
align test.en test.fr -m model --symmetrize union --reverse-model reverse -o links
align test.en test.fr -m model --plot pictures --format svg
align test.en -m pyramid --composition --plot pictures --format svg
optimize model --train test.en test.fr --dev test.en test.fr --max-loss 100 -o out
calibrate model --dev test.en test.fr --reverse-model reverse -o out
embed test.en -m model -o out
embed --vocabulary source -m model -o out
map vectors --plot map.svg -o points
check model
check prepared -o out
check table.gz
check list
evaluate test.fr test.fr --reference hypotheses --system other hypotheses --source test.en --src-vocab words --tgt-vocab words --by rank --bootstrap 2 --plot rank.svg -o figures
report model -m pyramid --source test.en --reference test.fr --system Moses hypotheses --bootstrap 2 -o page.html
""".strip().splitlines()  # noqa: E501

NEEDED_MODULES = {"--lm-domain": "kenlm"}
"""Option -> module without which its runs are left out."""


@dataclass(frozen=True)
class Run:
    """A command line, and the names of files and folders of the sample that stand in it."""

    arguments: tuple[str, ...]
    inputs: tuple[str, ...]

    def __str__(self) -> str:
        return shlex.join(self.arguments)


class SampleFolder:
    """A folder with the inputs of all runs."""

    def __init__(self, folder: Path, lines: Sequence[str] = RUNS) -> None:
        """Write the files, and run the commands that make the folders that some runs need.

        :param lines: the runs; by default all of them.
        """
        self.folder, self.lines = folder, lines
        folder.mkdir()
        for split, count in SPLITS.items():
            for language, words in (("en", ENGLISH), ("fr", FRENCH)):
                text = "".join(f"{_sentence(words, split, n)}\n" for n in range(count))
                (folder / f"{split}.{language}").write_text(text, encoding="utf-8")
        for name, text in TEXTS.items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "hypotheses").write_text("un deux\ntrois\n")
        for name in ("list", "table"):
            (folder / f"{name}.gz").write_bytes(gzip.compress(TEXTS[name].encode(), mtime=0))
        for recipe, sizes in SMALL_MODELS.items():
            text = f'base = "{recipe}"\n{SETTINGS.format(sizes=sizes)}'
            (folder / f"{recipe}.toml").write_text(text)
        for line in _needed(lines):
            ended = run_forked(shlex.split(line), folder)
            assert ended.status == 0, (line, ended.stderr)

    def runs(self) -> list[Run]:
        """Return the runs that this machine can make."""
        return [self._run(line) for line in self.lines if _is_possible(line)]

    def _run(self, line: str) -> Run:
        words = shlex.split(line)
        names = dict.fromkeys(word.rpartition("=")[2] for word in words)  # NAME=FILE, too
        return Run(tuple(words), tuple(name for name in names if (self.folder / name).exists()))

    @contextlib.contextmanager
    def copy(self, run: Run, work: Path) -> Iterator[Path]:
        """Copy the inputs of a run into the folder `work`, which is removed after the block."""
        work.mkdir()
        for name in run.inputs:
            if (self.folder / name).is_dir():
                shutil.copytree(self.folder / name, work / name)
            else:
                shutil.copy2(self.folder / name, work / name)
        try:
            yield work
        finally:
            _remove(work)


def _needed(lines: Sequence[str]) -> list[str]:
    """Return the commands of MADE that make the folders which stand in some runs."""
    words, needed = {word for line in lines for word in shlex.split(line)}, []
    for line in reversed(MADE):
        arguments = shlex.split(line)
        made = arguments[arguments.index("-o") + 1] if "-o" in arguments else arguments[1]
        if made in words:
            needed.append(line)
            words |= {*arguments}
    return needed[::-1]


def _remove(folder: Path) -> None:
    """Remove a folder, also if parts of it may not be read."""
    for path, _, _ in os.walk(folder, onerror=None):
        os.chmod(path, 0o700)
    shutil.rmtree(folder)


def _sentence(words: list[str], split: str, number: int) -> str:
    return " ".join(
        words[(number * number + 3 * place + len(split)) % len(words)]
        for place in range(2 + number % 3)
    )


def _is_possible(line: str) -> bool:
    needed = (module for option, module in NEEDED_MODULES.items() if option in line)
    return all(map(importlib.util.find_spec, needed))


def commands() -> dict[tuple[str, ...], Command]:
    """Return all commands that run, without groups, by their words."""
    return {
        words: command
        for words, command in walk_commands(cli)
        if not isinstance(command, LazyGroup)
    }


def command_of(line: str) -> tuple[str, ...]:
    """Return the words of the command that a line calls."""
    words = tuple(shlex.split(line))
    return max((name for name in commands() if words[: len(name)] == name), key=len)


def missing_commands() -> list[str]:
    """Return the commands that no run calls."""
    return sorted(" ".join(name) for name in commands().keys() - set(map(command_of, RUNS)))


def unused_options() -> list[str]:
    """Return the options and arguments for files that no run uses."""
    used = {(name, parameter) for line in RUNS for name, parameter in _used_parameters(line)}
    return sorted(
        f"{' '.join(name)} {parameter.opts[-1]}"
        for name, command in commands().items()
        for parameter in command.params
        if names_file(parameter) and (name, parameter.name) not in used
    )


def _used_parameters(line: str) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Yield the parameters that a line gives; values are not looked at, as its files are absent."""
    name = command_of(line)
    command = commands()[name]
    words = join_values(command.params, shlex.split(line)[len(name) :])
    values, _, order = command.make_parser(click.Context(command)).parse_args(words)
    for parameter in order:
        value = values[parameter.name or ""]
        if isinstance(value, str | tuple | list) and value not in ((), "-"):
            yield name, parameter.name


def names_file(parameter: click.Parameter) -> bool:
    """Return whether a parameter takes the name of a file or folder."""
    types = getattr(parameter.type, "types", [parameter.type])
    return any(isinstance(type_, click.Path) for type_ in types)
