"""Benchmark corpora.

    python bench/corpus.py --text en-fr=LAWS --words 3 15 --work build/bench/short
    python bench/corpus.py --text en-fr=MULTI30K --join 7 --work build/bench/long

The default of the benchmarks is tokenised Multi30k with shortlists of 10,000 words per side. This
command makes others, of short or of long sentences, for `bench/train.py --prepared` and
`bench/translate.py --prepared --test test`: of each split of a text it takes the pairs whose sides
both have as many words as asked, and joins 1 to N of them, of the test set N, to a line. They are
prepared into WORK/prepared with subwords: BPE if words are separated by spaces, which
`bench/translate.py` needs, else SentencePiece.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from timing import (
    NMTKIT,
    BenchError,
    check_settings,
    exit_with,
    positive,
    report_progress,
    run_command,
    write_lines,
)

SHORTLIST_SIZE = 10_000
SPLITS = ("train", "val", "test2016")

Pair = tuple[str, str]


@dataclass(frozen=True)
class Text:
    """Raw text of a pair of languages."""

    src: str
    tgt: str
    folder: Path

    @classmethod
    def parse(cls, text: str) -> "Text":
        """Read an option such as "en-fr=FOLDER"."""
        pair, _, folder = text.partition("=")
        src, _, tgt = pair.partition("-")
        if not (src and tgt and folder and Path(folder).is_dir()):
            raise BenchError(f"--text {text}: expected SRC-TGT=FOLDER")
        return cls(src, tgt, Path(folder))

    @property
    def name(self) -> str:
        """Name of the text, for tables and folders."""
        return f"{self.folder.name} {self.src}-{self.tgt}"

    def file(self, split: str, language: str) -> Path:
        """Return the file of a split, such as train.en, test2016.en or val.en.gz."""
        found = sorted(self.folder.glob(f"{split}*.{language}*"))
        if not found:
            raise BenchError(f"{self.folder}: has no {split}*.{language}")
        return found[0]

    def prepare(self, work: Path, size: int) -> Path:
        """Prepare the text with subwords as the languages suit, once; return the prepared folder.

        :param size: of the subword model; 0: as the size of the corpus suits.
        :raises BenchError: a file is missing, or another text or size was prepared.
        """
        prepared = work / "prepared"
        if (prepared / "vocab.tgt").exists():
            files = [self.file("train", side) for side in (self.src, self.tgt)]
            if not _is_prepared_from(prepared, files):
                raise BenchError(
                    f"{prepared}: not of {self.folder}; remove it, or name another --work"
                )
        else:
            (work / "settings.json").unlink(missing_ok=True)  # of another corpus
            options = ["-s", self.src, "-t", self.tgt, "--force"]
            options += ["--subword-size", str(size)] if size else []
            splits = (["--train"], "train"), (["--dev"], "val"), (["--test", "test"], "test")
            for option, split in splits:
                options += [*option, *(str(self.file(split, s)) for s in (self.src, self.tgt))]
            command: list[str | Path] = [*NMTKIT, "prepare", *options, "--output", prepared]
            run_command(command, work / "prepare.log")
            run_command([*NMTKIT, "shortlist", prepared], work / "shortlist.log")
        check_settings(work, {"size": size})
        return prepared


def prepared_folder(data: Path | None, work: Path) -> Path:
    """Return the prepared folder; tokenise the text and build the vocabularies on the first call.

    :param data: A folder with train, val and test2016, `.en` and `.fr`.
    :raises BenchError: No folder is given, a file is missing in it, or another text was prepared.
    """
    folder = work / "prepared"
    if (folder / "vocab.tgt").is_file():
        train = [data / f"train.{side}" for side in ("en", "fr")] if data else []
        if not _is_prepared_from(folder, train):
            raise BenchError(f"{folder}: not of {data}; remove {work}, or name another --work")
        return folder
    if data is None:
        raise BenchError("there is no text yet: name the folder of raw Multi30k with --data")
    files = {split: [data / f"{split}.{side}" for side in ("en", "fr")] for split in SPLITS}
    for path in (path for pair in files.values() for path in pair):
        if not path.is_file():
            raise BenchError(
                f"{path}: no such file; make -C examples/multi30k-en-fr data downloads it"
            )
    report_progress(f"tokenising {data} into {folder}")
    texts: list[str | Path] = ["--train", *files["train"], "--dev", *files["val"]]
    test: list[str | Path] = ["--test", "test2016", *files["test2016"]]
    sides: list[str | Path] = ["-s", "en", "-t", "fr", "--subword", "none"]
    output: list[str | Path] = ["--max-length", "100", "--force", "--output", folder]
    run_command([*NMTKIT, "prepare", *texts, *test, *sides, *output], work / "prepare.log")
    run_command(
        [*NMTKIT, "shortlist", folder, "--size", str(SHORTLIST_SIZE)], work / "shortlist.log"
    )
    return folder


def _is_prepared_from(folder: Path, texts: Sequence[Path]) -> bool:
    """Return whether a folder was prepared from these files."""
    from nmtkit.data.manifest import read_manifest
    from nmtkit.io.lines import file_sha256

    inputs = read_manifest(folder)["inputs"].values()
    return all(text.is_file() and file_sha256(text) in inputs for text in texts)


def pairs_of(text: Text, split: str, words: tuple[int, int], join: int) -> Iterator[Pair]:
    """Yield the pairs of a split that have so many words a side, joined.

    :param words: least and largest number of words.
    :param join: most pairs to join; of the test set, the number of pairs.
    """
    from nmtkit.io.lines import read_parallel

    low, high = words
    files = [str(text.file(split, side)) for side in (text.src, text.tgt)]
    chosen = (
        (src, tgt)
        for src, tgt in read_parallel(*files)
        if all(low <= len(side.split()) <= high for side in (src, tgt))
    )
    draw = random.Random(1)
    while group := list(islice(chosen, join if split == "test" else draw.randint(1, join))):
        src, tgt = (" ".join(sides) for sides in zip(*group, strict=True))
        yield src, tgt


def write_corpus(text: Text, folder: Path, words: tuple[int, int], join: int, lines: int) -> Text:
    """Write the raw text of a corpus; return it.

    :param lines: most lines of the test set.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for split in ("train", "val", "test"):
        pairs = islice(pairs_of(text, split, words, join), lines if split == "test" else None)
        columns = list(zip(*pairs, strict=True))
        if not columns:
            least, most = words
            raise BenchError(
                f"{text.folder}: no pair of {split} has {least} to {most} words a side"
            )
        sources, targets = columns
        for side, texts in ((text.src, sources), (text.tgt, targets)):
            write_lines(folder / f"{split}.{side}", texts)
    return Text(text.src, text.tgt, folder)


def main(arguments: Sequence[str]) -> int:
    """Write and prepare a corpus."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--text", type=Text.parse, required=True, metavar="SRC-TGT=FOLDER")
    parser.add_argument("--words", type=int, nargs=2, default=(1, 100), metavar="N")
    parser.add_argument("--join", type=positive, default=1, metavar="N")
    parser.add_argument("--lines", type=positive, default=1000, help="of the test set, at most")
    parser.add_argument("--size", type=int, default=16_000, help="of the subword model")
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args(arguments)
    low, high = options.words
    folder = options.work / "raw"
    made = write_corpus(options.text, folder, (low, high), options.join, options.lines)
    (options.work / "prepared" / "vocab.tgt").unlink(missing_ok=True)  # of another corpus
    report_progress(str(made.prepare(options.work, options.size)))
    return 0


if __name__ == "__main__":
    exit_with(main)
