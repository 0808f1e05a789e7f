"""Fetch the files of a corpus, and check them: `fetch.py corpus/files.toml --output data`.

What is there already and right is left alone, so that files can also be put there by hand; a
download that broke off goes on where it ended; a file gets its name when its checksum is right.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from corpora import CorpusError, status_of
from corpora.download import Patience
from corpora.folder import Folder, check_room
from corpora.listing import File, at_mirror, read_listing


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("listing", type=Path, help="the list of files (TOML)")
    parser.add_argument("names", nargs="*", help="files to fetch; without any, all of the set")
    parser.add_argument("--set", help="a set of the list; without it, all files")
    parser.add_argument("--output", type=Path, default=Path("data"), help="folder for the files")
    parser.add_argument(
        "--mirror",
        default="",
        help="URL or folder to be asked first, and alone where its mirror.json has checksums of its"
        " own",
    )
    parser.add_argument(
        "--unpacked",
        type=Path,
        metavar="FOLDER",
        help="where texts will be unpacked to: those that are not there yet need room, too",
    )
    parser.add_argument("--rounds", type=int, default=5, help="tries of all places [5]")
    parser.add_argument("--wait", type=float, default=2.0, help="seconds before the second [2]")
    return parser.parse_intermixed_args(arguments)


def wanted(options: argparse.Namespace, patience: Patience) -> list[File]:
    """The files of the set, as the mirror has them where there is one.

    :raises CorpusError: the list is not in order, or the set not in it.
    """
    files, sets = read_listing(options.listing)
    if options.set and options.set not in sets:
        raise CorpusError(f"{options.listing}: no set '{options.set}'; there are {', '.join(sets)}")
    names = sets[options.set] if options.set else list(files)
    for name in options.names:
        if name not in names:
            raise CorpusError(f"{options.listing}: no file '{name}'; there are {', '.join(names)}")
    chosen = [files[name] for name in names]
    return at_mirror(chosen, options.mirror, patience) if options.mirror else chosen


def to_unpack(files: Sequence[File], folder: Path | None) -> int:
    """Bytes of what is still to be unpacked from the files."""
    if folder is None:
        return 0
    return sum(
        file.unpacked_bytes
        for file in files
        if any(not (folder / text).exists() for text in file.texts or ())
    )


def fetch(options: argparse.Namespace) -> None:
    """Fetch what is missing, when the disk has room for the whole set.

    :raises CorpusError: something could not be had.
    """
    patience = Patience(options.rounds, options.wait)
    files = wanted(options, patience)
    folder = Folder(options.output, patience)
    needed = folder.missing(files) + to_unpack(files, options.unpacked)
    check_room(options.output, needed)
    for file in files:
        if not options.names or file.name in options.names:
            folder.obtain(file)


def main(arguments: Sequence[str] | None = None) -> int:
    """1 where something was not in order."""
    return status_of("fetch", lambda given: fetch(options_of(given)), arguments)


if __name__ == "__main__":
    sys.exit(main())
