"""Unpack the texts of one archive: `unpack.py corpus/files.toml archives/NAME --output text`.

The list maps texts to members of the archive; see corpora/archive.py.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from corpora import CorpusError, run_program
from corpora.archive import unpack
from corpora.listing import read_listing


def run(arguments: Sequence[str] | None) -> None:
    """Unpack the texts of the archive and report their numbers of lines.

    :raises CorpusError: The archive is missing or invalid.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("listing", type=Path, help="the list of files (TOML)")
    parser.add_argument("archive", type=Path, help="an archive of the list")
    parser.add_argument("--output", type=Path, default=Path("text"), help="folder for the texts")
    options = parser.parse_args(arguments)
    archive: Path = options.archive
    files, _ = read_listing(options.listing)
    if archive.name not in files:
        raise CorpusError(f"{archive}: {options.listing} has no archive of this name")
    if not archive.is_file():
        raise CorpusError(
            f"{archive}: does not exist; remove {archive}.checked to download it again"
        )
    for name, lines in unpack(archive, files[archive.name].texts or {}, options.output).items():
        print(f"{options.output / name}: {lines:,} lines", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 on failure."""
    return run_program("unpack", run, arguments)


if __name__ == "__main__":
    sys.exit(main())
