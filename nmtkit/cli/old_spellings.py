"""Spellings of earlier versions: still accepted, named in no help, with a warning.

A change is written as a user would: `Renamed("--rule {MODE}", "--beam-mode {MODE}")`. A word in
braces is a value; where its name holds a `=`, so must the value.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import click

from nmtkit.cli.console import warn
from nmtkit.parallel import environment

SHORT = re.compile(r"-\w")


@dataclass(frozen=True)
class Renamed:
    """An option as it was and as it is: `old` and `new` are words with {VALUES}."""

    old: str
    new: str

    @property
    def option(self) -> str:
        """The old spelling without its values."""
        return self.old.split()[0]

    def values_in(self, words: Sequence[str]) -> dict[str, str] | None:
        """Return the values of the old option that `words` begin with.

        :return: placeholder -> value; None where the words are something else.
        """
        pattern = self.old.split()
        if words[0] != pattern[0] or len(words) < len(pattern):
            return None
        values = {}
        for expected, word in zip(pattern[1:], words[1:], strict=False):
            if not _fits(expected, word):
                return None
            values[expected] = word
        return values

    def replacement(self, values: dict[str, str]) -> list[str]:
        """Return the words to read instead."""
        return [values.get(word, word) for word in self.new.split()]

    def warning(self) -> str:
        """Return the sentence that names the new spelling."""
        old, new = (re.sub(r"[{}]", "", text) for text in (self.old, self.new))
        return f"{old} is now {new}" if new else f"{old} is the default now; leave it out"


def _fits(expected: str, word: str) -> bool:
    if not expected.startswith("{"):
        return word == expected
    return "=" in word or "=" not in expected


def replace_old_spellings(
    arguments: Sequence[str], renamed: Iterable[Renamed], quiet: bool
) -> list[str]:
    """Return a command's arguments in today's spellings, and warn of each old one.

    :param quiet: warn of nothing, because a shell is completing the line.
    :raises click.UsageError: two old options that excluded each other have become one.
    """
    changes = tuple(renamed)
    words, result, met = list(arguments), list[str](), dict[Renamed, None]()
    while words:
        if words[0] == "--":
            break
        spread = _split_value(words, {change.option for change in changes})
        for change in changes:
            values = change.values_in(spread)
            if values is not None:
                result += change.replacement(values)
                words = spread[len(change.old.split()) :]
                met[change] = None
                break
        else:
            result.append(words.pop(0))
    _refuse_two_of_one(list(met))
    if not quiet:
        for change in met:
            warn_on_rank_0(change.warning())
    return result + words


def _split_value(words: list[str], options: set[str]) -> list[str]:
    """Part `--old=value` and `-ovalue` into two words where they begin with an old option."""
    first, equals, value = words[0].partition("=")
    if equals and first in options and first.startswith("--"):
        return [first, value, *words[1:]]
    if len(first) > 2 and first[:2] in options and SHORT.match(first):
        return [words[0][:2], words[0][2:], *words[1:]]
    return words


def _refuse_two_of_one(met: list[Renamed]) -> None:
    options: dict[str, str] = {}
    for change in met:
        for option in re.findall(r"--\S+", change.new):
            other = options.setdefault(option, change.option)
            if other != change.option:
                raise click.UsageError(f"{other} and {change.option} exclude each other.")


def warn_on_rank_0(message: str) -> None:
    """Warn once for all processes of one job."""
    if environment.rank() == 0:
        warn(message)


def resolve_moved_command(
    arguments: Sequence[str], moved: Iterable[Renamed], path: str, quiet: bool
) -> list[str]:
    """Return a command line with the name of a command that has moved replaced.

    A command that is a program of its own today may have been an option of another:
    `score --nbest LIST` is `nbest score LIST`.

    :param path: the words before `arguments`, such as `nmtkit`.
    :param quiet: warn of nothing.
    """
    for change in moved:
        name, *option = change.old.split()
        rest = list(arguments[1:])
        if arguments[0] != name:
            continue
        value = _pop_option(rest, option[0]) if option else None
        if option and value is None:
            continue
        if not quiet:
            plain = re.sub(r"[{}]", "", change.old), re.sub(r"[{}]", "", change.new)
            warn_on_rank_0(f"'{path} {plain[0]}' is now '{path} {plain[1]}'")
        words = [word for word in change.new.split() if not word.startswith("{")]
        return [*words, *([] if value is None else [value]), *rest]
    return list(arguments)


def _pop_option(words: list[str], option: str) -> str | None:
    """Remove an option and its value from `words`; return the value, None where it is absent."""
    for place, word in enumerate(words):
        if word == "--":
            return None
        if word == option and place + 1 < len(words):
            value = words[place + 1]
            del words[place : place + 2]
            return value
        if word.startswith(f"{option}="):
            del words[place]
            return word.partition("=")[2]
    return None
