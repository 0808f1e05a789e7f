"""Training corpora: their names, files, weights and tags, from a command line or a TOML file.

A file of corpora has a table for each, with its paths relative to the file:

    [news]
    files = ["news.en.gz", "news.fr.gz"]
    weight = 2

    [crawl]
    files = "crawl.tsv"
    columns = [3, 4]
    tag = "<crawl>"
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nmtkit.config import suggest_name
from nmtkit.config_io import read_toml
from nmtkit.errors import ConfigError, DataError
from nmtkit.io.inputs import Source
from nmtkit.io.text_content import STANDARD
from nmtkit.special_symbols import SPECIAL_WORDS
from nmtkit.value_types import plain_number

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")

_SETTINGS = ("files", "weight", "tag", "columns")
"""Settings of a corpus in a file of corpora."""

MIN_WEIGHT, MAX_WEIGHT = 0.001, 1000.0


@dataclass(frozen=True)
class TrainingCorpus:
    """One corpus of the training data.

    files: the source file and the target file, or one file that holds both: TSV, TMX, or a zip file
        of OPUS.
    name: its name in the manifest and the log; by default that of its first file.
    weight: how often each pair is used in an epoch: 2 is twice, 0.5 in every second epoch; from
        0.001 to 1000.
    tag: a word that is put before each source line, as one token.
    is_phrase_table: the one file is a phrase table of Moses.
    columns: the columns of source and target, from 1, if the one file is TSV.
    """

    files: tuple[Source, ...]
    name: str = ""
    weight: float = 1.0
    tag: str = ""
    is_phrase_table: bool = False
    columns: tuple[int, int] = (1, 2)

    def __post_init__(self) -> None:
        """Refuse one file without a tuple, and convert a number of numpy."""
        if isinstance(self.files, str | Path):
            raise TypeError("files must be a tuple of files, not one file; put it into a tuple")
        object.__setattr__(self, "weight", plain_number(self.weight))


def parse_corpus(values: Sequence[str]) -> TrainingCorpus:
    """Return the corpus that the values of `--train` mean.

    They are `SRC TGT` or `FILE`, each of them after `NAME` or `NAME:WEIGHT` if it is given. Of two
    values the first is a name if there is no such file and a name has no period.

    :raises ConfigError: there are too many values, or the name or weight is malformed.
    :raises DataError: of two values, the first is neither a file nor a name.
    """
    if len(values) > 3:
        raise ConfigError(
            f"{len(values)} values, {' '.join(values)}: give SRC TGT or one FILE, after a name if"
            " you like; repeat the option for each corpus"
        )
    if len(values) == 1 or (len(values) == 2 and _exists(values[0])):
        return TrainingCorpus(tuple(values))
    name, _, weight = values[0].partition(":")
    if len(values) == 2 and ("." in name or not _NAME.fullmatch(name)):
        raise DataError(f"{values[0]}: cannot be read: No such file or directory")
    _check_name(name)
    return TrainingCorpus(tuple(values[1:]), name, _parse_weight(weight) if weight else 1.0)


def _exists(path: str) -> bool:
    return path == STANDARD or os.path.lexists(path)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"'{name}' cannot be the name of a corpus; choose letters, digits, '.', '_', '+' and"
            " '-'"
        )


def _parse_weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"the weight '{text}' is not a number, such as 2 or 0.5") from None


def parse_test_set(values: Sequence[str]) -> TrainingCorpus:
    """Return the name and the files of a test set.

    :raises ConfigError: a value is missing, or there are too many.
    """
    if not 2 <= len(values) <= 3:
        raise ConfigError(f"{' '.join(values)}: give NAME SRC TGT, or NAME and one FILE")
    if len(values) == 2 and all(map(os.path.isfile, values)):
        raise ConfigError(
            f"{' '.join(values)}: the name of the test set is missing; give NAME {' '.join(values)}"
        )
    return TrainingCorpus(tuple(values[1:]), values[0])


def parse_bitext(values: Sequence[str]) -> tuple[str, ...]:
    """Return the files of a dev or test set: two, or one that holds both sides.

    :raises ConfigError: there are more.
    """
    if len(values) > 2:
        raise ConfigError(f"{len(values)} values, {' '.join(values)}: give SRC TGT or one FILE")
    return tuple(values)


def read_corpora(path: str | Path) -> list[TrainingCorpus]:
    """Read a file of corpora.

    :raises ConfigError: the file cannot be read, a setting is unknown or malformed, or a corpus has
        a file that does not exist.
    """
    tables = read_toml(path)
    if not tables:
        raise ConfigError(f"{path}: names no corpus")
    return [_corpus(table, name, Path(path)) for name, table in tables.items()]


def _corpus(table: Any, name: str, path: Path) -> TrainingCorpus:
    """Return the corpus of a table."""
    where = f"{path}: {name}"
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: expected a table: [{name}] with files, weight and tag")
    for key in table:
        if key not in _SETTINGS:
            known = suggest_name(key, _SETTINGS)
            raise ConfigError(f"{where}: there is no setting '{key}'; {known}")
    files = table.get("files")
    files = [files] if isinstance(files, str) else files
    if not isinstance(files, list) or not all(isinstance(file, str) for file in files):
        raise ConfigError(f"{where}: files must be a file, or a list of two")
    weight, tag = table.get("weight", 1), table.get("tag", "")
    if type(weight) not in (int, float) or not isinstance(tag, str):
        raise ConfigError(f"{where}: weight must be a number, and tag a string")
    paths = tuple(str(path.parent / file) for file in files)
    for file in paths:
        if not os.path.lexists(file):
            raise ConfigError(f"{where}: there is no file {file}; paths are relative to {path}")
    columns = table.get("columns", [1, 2])
    if not isinstance(columns, list) or [type(column) for column in columns] != [int, int]:
        raise ConfigError(f"{where}: columns must be a list of two numbers, such as [3, 4]")
    return TrainingCorpus(paths, name, weight, tag, columns=(columns[0], columns[1]))


def with_tags(
    corpora: Iterable[TrainingCorpus], tags: Iterable[tuple[str, str]]
) -> list[TrainingCorpus]:
    """Give corpora their tags.

    :param tags: name of a corpus, and its tag.
    :raises ConfigError: no corpus has the name, one is named twice, or a tag is empty.
    """
    named = with_names(corpora)
    for name, tag in tags:
        if not tag:
            raise ConfigError(f"--tag {name} '': the tag is empty; give a word, such as <{name}>")
        indices = [index for index, corpus in enumerate(named) if corpus.name == name]
        if not indices:
            names = ", ".join(corpus.name for corpus in named)
            raise ConfigError(f"--tag {name} {tag}: no corpus has that name; there are: {names}")
        if named[indices[0]].tag:
            raise ConfigError(f"--tag {name} {tag}: the corpus has the tag {named[indices[0]].tag}")
        named[indices[0]] = replace(named[indices[0]], tag=tag)
    return named


def as_corpora(train: Any) -> list[TrainingCorpus]:
    """Return the corpora of the training data in any of the forms that `prepare` takes.

    :param train: files of one corpus; or a phrase table, in a tuple of one; or corpora, each a
        `TrainingCorpus` or its files.
    :raises ConfigError: there is no corpus.
    """
    if isinstance(train, TrainingCorpus):
        return [train]
    parts = list(train)
    if not parts:
        raise ConfigError("there is no training data; give --train")
    if not any(isinstance(part, TrainingCorpus | tuple | list) for part in parts):
        return [TrainingCorpus(tuple(parts), is_phrase_table=len(parts) == 1)]
    return [
        part if isinstance(part, TrainingCorpus) else TrainingCorpus(tuple(part)) for part in parts
    ]


def with_names(corpora: Iterable[TrainingCorpus]) -> list[TrainingCorpus]:
    """Name the corpora that have no name after their files; the second `train` is `train-2`."""
    corpora = list(corpora)
    taken = {corpus.name for corpus in corpora}
    named = []
    for corpus in corpora:
        name = corpus.name
        if not name:
            stem, number = _stem(corpus.files[0]), 1
            name = stem
            while name in taken:
                number += 1
                name = f"{stem}-{number}"
            taken.add(name)
        named.append(replace(corpus, name=name))
    return named


def _stem(path: Source) -> str:
    """Return a file's name without the endings for language, form and compression."""
    if str(path) == STANDARD:
        return "stdin"
    name = re.sub(r"\.(gz|xz|bz2|zst|zip)$", "", Path(str(path)).name)
    stem = name.rpartition(".")[0] or name
    return re.sub(r"[^A-Za-z0-9._+-]", "-", stem).lstrip("._+-") or "corpus"


def checked_corpora(corpora: Sequence[TrainingCorpus]) -> list[TrainingCorpus]:
    """Return corpora with names, if they can be used.

    :raises ConfigError: a name, weight, tag or number of files is malformed, or two corpora have
        the same name or files.
    """
    corpora = with_names(corpora)
    for corpus in corpora:
        _check_name(corpus.name)
        _check_corpus(corpus)
    for kind, values in (
        ("name", [corpus.name for corpus in corpora]),
        ("files", [tuple(map(str, corpus.files)) for corpus in corpora]),
    ):
        value, count = Counter[Any](values).most_common(1)[0]
        if count > 1 and (kind == "name" or STANDARD not in value):
            text = value if isinstance(value, str) else " ".join(value)
            remedy = "choose another" if kind == "name" else "give it a weight instead"
            raise ConfigError(f"two corpora have the same {kind}, {text}; {remedy}")
    return corpora


def _check_corpus(corpus: TrainingCorpus) -> None:
    where = f"corpus {corpus.name}"
    if not 1 <= len(corpus.files) <= 2:
        raise ConfigError(f"{where}: {len(corpus.files)} files; give two, or one that holds both")
    if not MIN_WEIGHT <= corpus.weight <= MAX_WEIGHT:
        raise ConfigError(
            f"{where}: the weight must be from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}, not"
            f" {corpus.weight:g}; leave a corpus out that is not to be used"
        )
    if min(corpus.columns) < 1:
        raise ConfigError(f"{where}: columns are counted from 1, not from {min(corpus.columns)}")
    if corpus.columns[0] == corpus.columns[1]:
        raise ConfigError(
            f"{where}: column {corpus.columns[0]} is given for both source and target; give two"
        )
    if corpus.tag:
        check_tag(corpus.tag, where)


def check_tag(tag: str, where: str) -> None:
    """Raise ConfigError for a tag that could not be one token.

    :param where: corpus or option, for the message.
    """
    if not tag.isprintable() or tag.split() != [tag] or tag in SPECIAL_WORDS or "@@" in tag:
        raise ConfigError(
            f"{where}: {tag!r} cannot be a tag; it is one word without blanks, such as <news>"
        )
