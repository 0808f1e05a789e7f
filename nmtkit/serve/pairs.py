"""Which model translates which pair of languages."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from nmtkit.config_io import read_toml
from nmtkit.errors import ConfigError, ModelError
from nmtkit.io.folder_files import MIB, check_file
from nmtkit.serve.routes import Pair

CONFIG = "config.toml"


def models_of_pairs(folders: Iterable[str], options: Iterable[str]) -> dict[Pair, tuple[Path, ...]]:
    """Return the folders of each pair's model; several of a pair are an ensemble.

    :param folders: of models whose pair stands in their config.
    :param options: `en-fr=MODEL` or `en-fr=MODEL,MODEL`.
    :raises ConfigError: there is no model, two for a pair, or an option is no pair.
    :raises ModelError: a folder is not a model folder, or does not name its languages.
    """
    models: dict[Pair, tuple[Path, ...]] = {}
    named: list[tuple[Pair, Sequence[str]]] = [(pair_of(folder), [folder]) for folder in folders]
    named += [_parsed(option) for option in options]
    for pair, paths in named:
        if pair in models:
            name = "-".join(pair)
            raise ConfigError(
                f"{paths[0]}: there is another model of {name}, {models[pair][0]}; for an ensemble"
                f" give --pair {name}=MODEL,MODEL"
            )
        models[pair] = tuple(Path(path).absolute() for path in paths)
    if not models:
        raise ConfigError("no model to serve; give the folder of one that 'nmtkit train' made")
    return models


def pair_of(folder: str) -> Pair:
    """Return the languages of a model folder.

    :raises ModelError: it is not a model folder, or does not name them.
    """
    path = Path(folder) / CONFIG
    if not path.exists():
        raise ModelError(f"{path.parent}: no {CONFIG}; is this a folder that 'nmtkit train' made?")
    check_file(path.parent, path, MIB)
    text = read_toml(path).get("text")
    languages = text if isinstance(text, dict) else {}
    source, target = languages.get("src_language"), languages.get("tgt_language")
    if not (isinstance(source, str) and isinstance(target, str) and source and target):
        raise ModelError(
            f"{path}: does not name the languages; give --pair SRC-TGT={folder} instead"
        )
    return source, target


def _parsed(option: str) -> tuple[Pair, Sequence[str]]:
    """Return the pair and the folders that an option names."""
    pair, _, folders = option.partition("=")
    if "-" not in pair or not folders or not all(folders.split(",")):
        raise ConfigError(f"--pair {option}: not of the form en-fr=MODEL or en-fr=MODEL,MODEL")
    languages = _split(pair)
    for folder in folders.split(","):
        check = Path(folder) / CONFIG
        if not check.exists():
            raise ModelError(f"{folder}: no {CONFIG}; is this a folder that 'nmtkit train' made?")
    return languages, folders.split(",")


def _split(pair: str) -> Pair:
    """Return the languages of `en-fr`, `pt-BR-en` or `en-zh-Hant`.

    Scripts and regions have a capital: they belong to the language before them.
    """
    parts = pair.split("-")
    starts = [n for n, part in enumerate(parts) if part.islower() and part.isalpha()]
    if len(starts) != 2 or starts[0] > 0:
        raise ConfigError(
            f"--pair {pair}: not two languages such as en-fr or en-pt-BR, the code of each in small"
            " letters"
        )
    return "-".join(parts[: starts[1]]), "-".join(parts[starts[1] :])


def named_files(options: Iterable[str]) -> dict[str, Path]:
    """Return the files of `--glossary` options, of the form `NAME=FILE`.

    :raises ConfigError: an option has another form, a name comes twice, or a file can be read only
        once, such as a pipe, where each process of the server reads it.
    """
    files: dict[str, Path] = {}
    for option in options:
        key, _, file = option.partition("=")
        if not key or not file:
            raise ConfigError(f"--glossary {option}: not of the form NAME=FILE")
        if key in files:
            raise ConfigError(
                f"--glossary {option}: the name '{key}' has another file, {files[key]}"
            )
        files[key] = Path(file).absolute()
        if files[key].exists() and not files[key].is_file():
            raise ConfigError(
                f"--glossary {option}: not a regular file, which a server can read again; copy it"
                " into one"
            )
    return files
