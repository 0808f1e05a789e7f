"""Build a small mirror of WMT'14's archives from any bitexts.

    build.py --size mini --bitext giga laws.en.gz laws.fr.gz --bitext commoncrawl web.en web.fr \
        --dev news2012.en news2012.fr --dev news2013.en news2013.fr \
        --test news2014.en news2014.fr --output mirror

The archives have the official names, folders and members, and the difficulties of the real corpora
(traps.py); only their content is small. mirror.json has their sizes and checksums, which replace
the official ones. The same bitexts give the same bytes.

A corpus continues where the corpus before it in the same files ended, so that no pair is in two
corpora; a corpus without its own files is taken from the last files named.
"""

import argparse
import gzip
import hashlib
import io
import json
import sys
import tarfile
import tomllib
import urllib.parse
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import traps

LISTING = Path(__file__).resolve().parents[1] / "files.toml"

SIZES = {
    "night": {
        "giga": 250_000, "un": 80_000, "europarl": 60_000, "commoncrawl": 25_000,
        "news-commentary": 5_000,
    },
    "mini": {
        "giga": 40_000, "un": 20_000, "europarl": 15_000, "commoncrawl": 12_000,
        "news-commentary": 3_000,
    },
    "smoke": {
        "giga": 1_200, "un": 600, "europarl": 500, "commoncrawl": 450, "news-commentary": 250,
    },
}  # fmt: skip
"""Pairs of each corpus, traps not counted."""

Bitext = tuple[list[str], list[str]]
"""English and French lines, without their newlines."""


class MirrorError(Exception):
    """An error that the user can fix; the message is one line."""


@cache
def listing() -> dict[str, Any]:
    """Return the list of the official archives."""
    return tomllib.loads(LISTING.read_text(encoding="utf-8"))


def lines_of(path: str) -> Iterator[str]:
    """Yield the lines of a file, plain or gzip; only newlines end a line.

    :raises MirrorError: It is damaged, or not UTF-8.
    """
    opened = gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")
    number = 0
    try:
        with opened as stream:
            for line in stream:
                number += 1
                yield line.rstrip(b"\n").decode("utf-8")
    except UnicodeDecodeError as error:
        raise MirrorError(f"{path}:{number}: not valid UTF-8; convert the file") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise MirrorError(f"{path}: damaged after line {number} ({error})") from error


def read_bitext(files: Sequence[str]) -> Bitext:
    """Return all pairs of a bitext.

    :raises MirrorError: Its sides differ in length.
    """
    src, tgt = (list(lines_of(path)) for path in files)
    if len(src) != len(tgt):
        raise MirrorError(f"{files[0]} has {len(src)} lines and {files[1]} has {len(tgt)}")
    return src, tgt


def corpora_of(
    bitexts: Mapping[str, tuple[str, str]], sizes: Mapping[str, int]
) -> dict[str, Bitext]:
    """Return the pairs of each corpus.

    :raises MirrorError: A bitext has too few pairs.
    """
    last = list(bitexts.values())[-1]
    sources = {name: bitexts.get(name, last) for name in sizes}
    streams = {files: tuple(map(lines_of, files)) for files in set(sources.values())}
    corpora = {}
    for name in sorted(sizes, key=lambda name: name not in bitexts):  # the given ones first
        src, tgt = (list(islice(side, sizes[name])) for side in streams[sources[name]])
        if not len(src) == len(tgt) == sizes[name]:
            raise MirrorError(
                f"{sources[name][0]}: {len(src)} English and {len(tgt)} French lines were left for"
                f" '{name}', which needs {sizes[name]}; give it another bitext"
            )
        corpora[name] = (src, tgt)
    return corpora


def texts_of(
    corpora: Mapping[str, Bitext], dev: Sequence[Bitext], test: Bitext
) -> dict[str, dict[str, bytes]]:
    """Return {archive: {member: content}}, uncompressed, as in the official archives."""
    named = {name: traps.with_traps(name, bitext) for name, bitext in corpora.items()}
    for year, bitext in zip(("2012", "2013"), dev, strict=True):
        named[f"newstest{year}"] = traps.joined(bitext)
    archives: dict[str, dict[str, bytes]] = {}
    for archive in listing()["sets"]["official"]:
        members = archives[archive] = traps.unrelated_members(archive)
        for text, member in listing()["files"][archive]["texts"].items():
            name, side = text.removeprefix("raw/").rsplit(".", 1)
            if member.endswith(".sgm"):
                members[member] = traps.sgm(test[side == "fr"], side)
            else:
                members[member] = named[name][side == "fr"]
    return archives


def zipped(content: bytes) -> bytes:
    """Compress with gzip reproducibly."""
    return gzip.compress(content, mtime=0)


def packed(name: str, members: Mapping[str, bytes]) -> bytes:
    """Return the members as a tar file, gzipped if named so, without times and owners."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for member, original in members.items():
            content = zipped(original) if member.endswith(".gz") else original
            info = tarfile.TarInfo(member)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return zipped(buffer.getvalue()) if name.endswith(".tgz") else buffer.getvalue()


def write(archives: Mapping[str, Mapping[str, bytes]], output: Path) -> None:
    """Write the archives, then the manifest."""
    manifest: dict[str, Any] = {"files": {}}
    for name, members in archives.items():
        path = urllib.parse.urlsplit(listing()["files"][name]["urls"][0]).path.lstrip("/")
        content = packed(name, members)
        (output / path).parent.mkdir(parents=True, exist_ok=True)
        (output / path).write_bytes(content)
        manifest["files"][name] = {
            "path": path,
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "unpacked_bytes": sum(map(len, members.values())),
        }
    temporary = output / ".mirror.json"
    temporary.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    temporary.replace(output / "mirror.json")


def halves(bitext: Bitext) -> list[Bitext]:
    """Split a dev set in two."""
    middle = (len(bitext[0]) + 1) // 2
    return [
        (bitext[0][:middle], bitext[1][:middle]),
        (bitext[0][middle:], bitext[1][middle:]),
    ]


def run(arguments: Sequence[str] | None) -> None:
    """Build the mirror.

    :raises MirrorError: The bitexts are too small.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="mini", help="sizes of the corpora [mini]")
    parser.add_argument(
        "--bitext", nargs=3, action="append", required=True, metavar=("NAME", "EN", "FR"),
        help=f"text for one of the corpora: {', '.join(SIZES['mini'])}; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--dev", nargs=2, action="append", required=True, metavar=("EN", "FR"),
        help="newstest2012; a second --dev is newstest2013, otherwise one file is split in two",
    )  # fmt: skip
    parser.add_argument("--test", nargs=2, required=True, metavar=("EN", "FR"), help="newstest2014")
    parser.add_argument("--output", type=Path, required=True, help="the mirror's folder")
    options = parser.parse_args(arguments)
    bitexts = {name: (src, tgt) for name, src, tgt in options.bitext}
    for name in bitexts:
        if name not in SIZES[options.size]:
            raise MirrorError(f"no corpus '{name}'; there are {', '.join(SIZES[options.size])}")
    dev = [read_bitext(files) for files in options.dev]
    if len(dev) > 2:
        raise MirrorError(f"{len(dev)} dev sets; give one, or newstest2012 and newstest2013")
    dev = halves(dev[0]) if len(dev) == 1 else dev
    corpora = corpora_of(bitexts, SIZES[options.size])
    write(texts_of(corpora, dev, read_bitext(options.test)), options.output)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 on failure."""
    try:
        run(arguments)
    except MirrorError as error:
        print(f"build: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"build: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
