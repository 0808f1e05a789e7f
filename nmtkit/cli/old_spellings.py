"""Option spellings of earlier versions: hidden, but still accepted with a warning.

A change is written as on a command line: `Renamed("--rule {MODE}", "--beam-mode {MODE}")`. A word
in braces is a value; if its name contains `=`, so must the value.
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
    """The old and new spelling of an option, as words with {VALUES}.

    values: regular expression of the values that the old spelling had, if the same option has other
        values today.
    """

    old: str
    new: str
    values: str = ".*"

    @property
    def option(self) -> str:
        """The old spelling without its values."""
        return self.old.split()[0]

    def values_in(self, words: Sequence[str]) -> dict[str, str] | None:
        """Return the values of the old option if `words` begin with it.

        :return: placeholder -> value; None if the words begin otherwise.
        """
        pattern = self.old.split()
        if words[0] != pattern[0] or len(words) < len(pattern):
            return None
        values = {}
        for expected, word in zip(pattern[1:], words[1:], strict=False):
            if not (_word_matches(expected, word) and re.fullmatch(self.values, word, re.DOTALL)):
                return None
            values[expected] = word
        return values

    def replacement(self, values: dict[str, str]) -> list[str]:
        """Return the new spelling as words, with the given values."""
        return [values.get(word, word) for word in self.new.split()]

    def warning(self) -> str:
        """Return the warning, which names the new spelling."""
        old, new = (re.sub(r"[{}]", "", text) for text in (self.old, self.new))
        return f"{old} is now {new}" if new else f"{old} is the default now; leave it out"

    def values_missing(self, words: Sequence[str]) -> bool:
        """Return whether a command line begins with the old option, but not with all its values."""
        values = self.old.split()[1:]
        following = words[1 : 1 + len(values)]
        too_few = len(following) < len(values) or any(map(_is_option, following))
        return words[0] == self.option and len(values) > 1 and too_few


def _word_matches(expected: str, word: str) -> bool:
    if not expected.startswith("{"):
        return word == expected
    return ("=" in word or "=" not in expected) and not _is_option(word)


def _is_option(word: str) -> bool:
    """Return whether a word of a command line can be no value, but an option."""
    return bool(re.match("-[A-Za-z-]", word))


def replace_old_spellings(
    arguments: Sequence[str], renamed: Iterable[Renamed], quiet: bool
) -> list[str]:
    """Return a command's arguments in today's spellings, and warn about each old one.

    :param quiet: do not warn, because a shell is completing the line.
    :raises click.UsageError: two old options are given that are one option now, with two values.
    """
    changes = tuple(renamed)
    words, result, used = list(arguments), list[str](), dict[Renamed, None]()
    while words:
        if words[0] == "--":
            break
        split_words = _split_value(words, {change.option for change in changes})
        for change in changes:
            if not quiet and change.values_missing(split_words):
                old, new = (re.sub(r"[{}]", "", text) for text in (change.old, change.new))
                option, _, names = old.partition(" ")
                names = " and ".join(names.split())
                raise click.UsageError(f"'{option}' takes {names}; it is '{new}' now.")
            values = change.values_in(split_words)
            if values is not None:
                result += change.replacement(values)
                words = split_words[len(change.old.split()) :]
                used[change] = None
                break
        else:
            result.append(words.pop(0))
    _refuse_merged_options(list(used))
    if not quiet:
        for change in used:
            warn_on_rank_0(change.warning())
    return result + words


def _split_value(words: list[str], options: set[str]) -> list[str]:
    """Split `--old=value` or `-ovalue` at the front of `words` if it is an old option."""
    first, equals, value = words[0].partition("=")
    if equals and first in options and first.startswith("--"):
        return [first, value, *words[1:]]
    if len(first) > 2 and first[:2] in options and SHORT.match(first):
        return [words[0][:2], words[0][2:], *words[1:]]
    return words


def _refuse_merged_options(used: list[Renamed]) -> None:
    """Raise UsageError if two old options were used that became the same new option."""
    options: dict[str, str] = {}
    for change in used:
        for option in re.findall(r"--\S+", change.new):
            old_option = options.setdefault(option, change.option)
            if old_option != change.option:
                raise click.UsageError(f"{old_option} and {change.option} exclude each other.")


def warn_on_rank_0(message: str) -> None:
    """Log a warning on rank 0 only, so that a job of several processes warns once."""
    if environment.rank() == 0:
        warn(message)


def resolve_moved_command(
    arguments: Sequence[str], moved: Iterable[Renamed], path: str, quiet: bool
) -> list[str]:
    """Return a command line with a moved command replaced by its new name.

    Some commands were options of others: `score --nbest LIST` is now `nbest score LIST`.

    :param path: words before `arguments`, such as `nmtkit`.
    :param quiet: do not warn.
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
            old, new = (re.sub(r"[{}]", "", text) for text in (change.old, change.new))
            warn_on_rank_0(f"'{path} {old}' is now '{path} {new}'")
        words = [word for word in change.new.split() if not word.startswith("{")]
        return [*words, *([] if value is None else [value]), *rest]
    return list(arguments)


def _pop_option(words: list[str], option: str) -> str | None:
    """Remove an option and its value from `words`; return the value, or None if it is absent."""
    for index, word in enumerate(words):
        if word == "--":
            return None
        if word == option and index + 1 < len(words):
            value = words[index + 1]
            del words[index : index + 2]
            return value
        if word.startswith(f"{option}="):
            del words[index]
            return word.partition("=")[2]
    return None
