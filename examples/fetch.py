"""Download and check the files of a corpus: `fetch.py corpus/files.toml --output data`.

Correct files that already exist are kept, so that files can be put there by hand; interrupted
downloads resume; a file gets its name only with a correct checksum.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from corpora import CorpusError, run_program
from corpora.download import RetryPolicy
from corpora.folder import Folder, check_space
from corpora.listing import File, at_mirror, read_listing


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("listing", type=Path, help="the list of files (TOML)")
    parser.add_argument("names", nargs="*", help="files to download; default: all of the set")
    parser.add_argument("--set", help="a set of the list; default: all files")
    parser.add_argument("--output", type=Path, default=Path("data"), help="folder for the files")
    parser.add_argument(
        "--mirror",
        default="",
        help="URL or folder to try first; the only source if its mirror.json has its own checksums",
    )
    parser.add_argument(
        "--unpacked",
        type=Path,
        metavar="FOLDER",
        help="folder into which texts will be unpacked; space for missing ones is checked, too",
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds over all sources [5]")
    parser.add_argument(
        "--wait", type=float, default=2.0, help="seconds before the second round [2]"
    )
    options = parser.parse_intermixed_args(arguments)
    if options.rounds < 1 or options.wait < 0:
        parser.error("--rounds must be at least 1, and --wait at least 0")
    return options


def requested_files(options: argparse.Namespace, retry_policy: RetryPolicy) -> list[File]:
    """Return the files of the set, from the mirror if there is one.

    :raises CorpusError: The list is invalid, or lacks the set.
    """
    files, sets = read_listing(options.listing)
    if options.set and options.set not in sets:
        raise CorpusError(f"{options.listing}: no set '{options.set}'; there are {', '.join(sets)}")
    names = sets[options.set] if options.set else list(files)
    for name in options.names:
        if name not in names:
            raise CorpusError(f"{options.listing}: no file '{name}'; there are {', '.join(names)}")
    selected = [files[name] for name in names]
    return at_mirror(selected, options.mirror, retry_policy) if options.mirror else selected


def to_unpack(files: Sequence[File], folder: Path | None) -> int:
    """Return the size of the texts that are still to be unpacked."""
    if folder is None:
        return 0
    return sum(
        file.unpacked_bytes
        for file in files
        if any(not (folder / text).exists() for text in file.texts or ())
    )


def fetch(options: argparse.Namespace) -> None:
    """Download missing files, if the disk has space for the whole set.

    :raises CorpusError: A file is unavailable.
    """
    retry_policy = RetryPolicy(options.rounds, options.wait)
    files = requested_files(options, retry_policy)
    folder = Folder(options.output, retry_policy)
    needed = folder.missing(files) + to_unpack(files, options.unpacked)
    check_space(options.output, needed)
    for file in files:
        if not options.names or file.name in options.names:
            folder.obtain(file)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 on failure."""
    return run_program("fetch", lambda words: fetch(options_of(words)), arguments)


if __name__ == "__main__":
    sys.exit(main())
