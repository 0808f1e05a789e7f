"""Fetch the raw text of Multi30k (Elliott et al. 2016, 2017), English and French, and check it.

Every file is checked against its SHA-256 before it gets its name; files that are there already and
right are left alone, so that they can also be dropped into the folder by hand.
"""

import argparse
import gzip
import hashlib
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

URL = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
FILES = {
    "train.en": ("train.en.gz", "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6"),
    "train.fr": ("train.fr.gz", "5925a3c18f1587b6b54b87743106e6e8ab93618edb6f65d19eac0621f853a10d"),
    "val.en": ("val.en.gz", "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227"),
    "val.fr": ("val.fr.gz", "5304e444d842e962b2dda4d816b70b22a1765b15401642b7ca37a67477e708dc"),
    "test2016.en": (
        "test_2016_flickr.en.gz",
        "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
    ),
    "test2016.fr": (
        "test_2016_flickr.fr.gz",
        "cb3160d69b002bb638e66cc7612fcd56cb0af82eadc9c142dedc438afb885ef6",
    ),
}
LIMIT = 50_000_000
"""Bytes that no file reaches, unpacked: what is larger is not what was asked for."""


def is_right(path: Path, checksum: str) -> bool:
    """Whether the file is there and is the one meant."""
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == checksum


def fetch(url: str, path: Path, checksum: str) -> None:
    """Download and unpack one file; it appears only when its checksum is right."""
    with urllib.request.urlopen(url, timeout=60) as answer, gzip.open(answer) as unpacked:
        content = unpacked.read(LIMIT)
    if hashlib.sha256(content).hexdigest() != checksum:
        raise ValueError(f"its checksum is not {checksum}")
    aside = path.with_name(f".{path.name}.tmp")
    aside.write_bytes(content)
    os.replace(aside, path)


def main() -> int:
    """Fetch what is missing; 1 where something could not be had."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("data"), help="folder for the files")
    parser.add_argument("--url", default=URL, help="folder that holds the gzip files")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name, (archive, checksum) in FILES.items():
        path = options.output / name
        if is_right(path, checksum):
            continue
        try:
            fetch(f"{options.url}/{archive}", path, checksum)
        except (OSError, EOFError, ValueError, urllib.error.URLError) as error:
            print(
                f"{options.url}/{archive}: {error}; put the raw text of Multi30k into "
                f"{options.output} as {', '.join(FILES)}, or name its folder with DATA=",
                file=sys.stderr,
            )
            return 1
        print(f"{path}: fetched and checked", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
