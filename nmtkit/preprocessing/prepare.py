"""Raw bitexts in, a prepared folder out: tokenised, cleaned, cut by BPE, with a manifest.

The folder holds `train.src`, `train.tgt`, and likewise `dev` and each test set: tokens with one
blank between, one sentence a line; `bpe.src` and `bpe.tgt` where BPE is used (also when learned
on both sides together); and `manifest.json`: every setting, the versions of the tools, the
checksum of every file read and written, and how many pairs went by which rule.

Training data may be a phrase table instead of a bitext: its pairs are tokens, each is kept once.

Only training pairs are cleaned. Dev and test sets keep every line in its place, also empty ones.
Pairs may be held out of the training data to be the dev set. The folder's bytes depend on inputs
and settings alone, not on the number of workers. Memory does not grow with the corpus, but for the
counts of different words where BPE is learned, and some 100 bytes a pair where duplicates are
looked for in the whole of it: those of a phrase table stand with their source phrase.
"""

import dataclasses
import json
import logging
import platform
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO

from tqdm import tqdm

import nmtkit
from nmtkit.data.manifest import FORMAT, MANIFEST, read_manifest
from nmtkit.errors import ConfigError, DataError
from nmtkit.io.atomic import output_folder
from nmtkit.io.lines import (
    STANDARD,
    file_sha256,
    open_output,
    read_raw_blocks,
)
from nmtkit.parallel.process_pool import ProcessPool
from nmtkit.preprocessing.cleaning import PrepareSettings as PrepareSettings
from nmtkit.preprocessing.cleaning import Seen, Task, process
from nmtkit.preprocessing.splits import SIDES, Report, hold_out
from nmtkit.smt.phrase_table import read_phrase_blocks
from nmtkit.text.subword.bpe import BPE
from nmtkit.text.vocabulary import Shortlist, count_block, shortlist_of

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TAKEN = {"train", "dev", "bpe", "vocab", "words", "held"}
_BLOCK = 2000
"""Pairs that a worker is given at a time."""

Bitext = tuple[str | Path, str | Path]
"""The source file and the target file; line n of one belongs to line n of the other."""

PhraseTable = tuple[str | Path]
"""Moses's phrase table alone: training pairs of another form."""

Files = Bitext | PhraseTable

logger = logging.getLogger("nmtkit")


def prepare(
    settings: PrepareSettings,
    output: str | Path,
    train: Bitext | PhraseTable,
    dev: Bitext | None = None,
    tests: Mapping[str, Bitext] | None = None,
    workers: int = 1,
    force: bool = False,
) -> dict[str, Any]:
    """Prepare training, dev and test data into a folder that appears whole or not at all.

    :param output: the folder to make.
    :param train: a bitext, or a phrase table in a tuple of its own; that asks for
        `settings.text.tokenized`.
    :param tests: test sets by name; their files get that name.
    :param workers: processes that share the work; the result is the same for any number.
    :param force: replace an earlier prepared folder.
    :return: the manifest.
    :raises ConfigError: settings that contradict each other, or a test set of a bad name.
    :raises DataError: a file that cannot be read, is not UTF-8, or sides of different length.
    :raises OutputError: the folder exists and `force` is not given, or is no prepared folder.
    """
    settings.check()
    if len(train) == 1 and not settings.text.tokenized:
        raise ConfigError("a phrase table holds tokens already: text.tokenized must be true")
    if dev and settings.held_out:
        raise ConfigError("the dev set is either given or held out; leave --dev or --held-out out")
    _check_names(tests or {})
    splits: dict[str, Files] = {"train": train, **({"dev": dev} if dev else {}), **(tests or {})}
    with (
        output_folder(output, MANIFEST, "prepared folder", force) as folder,
        ProcessPool(workers) as shared,
    ):
        return _Preparation(settings, folder, shared).run(splits)


def _check_names(tests: Mapping[str, Bitext]) -> None:
    for name in tests:
        if not _NAME.fullmatch(name) or name in _TAKEN:
            raise ConfigError(
                f"'{name}' cannot be the name of a test set; choose letters, digits, '.', '_'"
                f" and '-', and none of {', '.join(sorted(_TAKEN))}"
            )


class _Preparation:
    """The making of one folder, split after split."""

    def __init__(self, settings: PrepareSettings, folder: Path, workers: ProcessPool) -> None:
        self.settings = settings
        self.folder = folder
        self.workers = workers
        self.bpe: str | None = None

    def run(self, splits: Mapping[str, Files]) -> dict[str, Any]:
        """Write all files of the folder; the manifest comes last and is returned."""
        if self.settings.codes:
            self._save_bpe([BPE.load(path) for path in self.settings.codes])
        reports = self._train(splits["train"])
        _log_reports(reports)
        for name, files in splits.items():
            if name != "train":
                reports[name] = self._convert(name, files)
                _log_reports({name: reports[name]})
        manifest = _manifest(self.settings, splits, reports, self.folder)
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        (self.folder / MANIFEST).write_text(text, encoding="utf-8", newline="\n")
        return read_manifest(self.folder)

    def _train(self, files: Files) -> dict[str, Report]:
        """Tokenise and clean the training data; hold out dev pairs and learn BPE where wanted."""
        settings = self.settings
        train, dev = ("words", "held") if settings.merges else ("train", "dev")
        cleaned = "cleaned" if settings.held_out else train
        report = self._convert(cleaned, files, clean=True)
        if not report.pairs:
            raise DataError(
                f"{', '.join(map(str, files))}: no training pair is left of {report.read:,}; look"
                " at the files, and at --max-length and --max-ratio"
            )
        reports = {"train": report}
        if settings.held_out:
            pairs, count = self._paths(cleaned), settings.held_out
            reports["dev"] = hold_out(pairs, self._paths(train), self._paths(dev), count, report)
            for path in pairs:
                path.unlink()
        if settings.merges:
            self._learn(self._paths(train))
            for (name, report), made in zip(reports.items(), (train, dev), strict=False):
                words = self._paths(made)
                report.tokens = self._convert(name, words, tokenized=True).tokens
                for path in words:
                    path.unlink()
        return reports

    def _paths(self, name: str) -> tuple[Path, Path]:
        return self.folder / f"{name}.src", self.folder / f"{name}.tgt"

    def _learn(self, words: tuple[Path, Path]) -> None:
        """Learn BPE from files of words: one for both together, or one for each."""
        counts = [self._count(path) for path in words]
        if self.settings.text.bpe == "joint":
            counts = [counts[0] + counts[1]]
        logger.info("learning %s BPE merges", f"{self.settings.merges:,}")
        learn = partial(BPE.learn, merges=self.settings.merges)
        self._save_bpe(list(self.workers.in_order(learn, counts)))

    def _count(self, path: str | Path) -> Counter[str]:
        """How often each word occurs."""
        counts: Counter[str] = Counter()
        blocks = (b"\n".join(lines) for (lines,) in read_raw_blocks(_BLOCK, path))
        for counted in self.workers.in_order(count_block, blocks):
            counts.update(counted)
        return counts

    def _save_bpe(self, learned: list[BPE]) -> None:
        learned[0].save(self.folder / "bpe.src")
        learned[-1].save(self.folder / "bpe.tgt")
        self.bpe = str(self.folder)

    def _convert(
        self,
        name: str,
        files: Files,
        clean: bool = False,
        tokenized: bool = False,
    ) -> Report:
        """Write one bitext, or the phrase table, in prepared form, as `name.src` and `name.tgt`.

        :param clean: it is training data, from which pairs go.
        :param tokenized: it is tokenised already; only BPE is applied.
        """
        report = Report(clean=clean)
        seen = Seen(grouped=not self.settings.dedup)
        tasks = self._tasks(files, clean, tokenized)
        with ExitStack() as stack:
            outputs = [stack.enter_context(open(path, "wb")) for path in self._paths(name)]
            bar = stack.enter_context(tqdm(desc=name, unit=" pairs", disable=_no_bar()))
            for block in self.workers.in_order(process, tasks):
                if block.digests:
                    block.drop_seen(seen)
                for number, lines in enumerate((block.src, block.tgt)):
                    report.tokens[SIDES[number]] += _write(lines, outputs[number])
                report.read += block.read
                report.pairs += len(block.src)
                report.gone += block.gone
                report.replaced += block.replaced
                bar.update(block.read)
        return report

    def _tasks(self, files: Files, clean: bool, tokenized: bool) -> Iterator[Task]:
        names = (str(files[0]), str(files[-1]))
        unique = clean and (self.settings.dedup or len(files) == 1)
        first = 1
        for lines in self._blocks(files):
            src, tgt = map(b"\n".join, lines)
            yield Task(self.settings, names, first, src, tgt, clean, tokenized, self.bpe, unique)
            first += len(lines[0])

    def _blocks(self, files: Files) -> Iterator[tuple[list[bytes], ...]]:
        if len(files) == 1:
            any_bytes = self.settings.invalid == "drop"
            return read_phrase_blocks(_BLOCK, files[0], any_bytes)
        return read_raw_blocks(_BLOCK, *files)


def _log_reports(reports: Mapping[str, Report]) -> None:
    for name, report in reports.items():
        logger.info("%s", report.summary(name))


def _no_bar() -> bool | None:
    """For tqdm: no bar where the log is quiet, nor (None) where stderr is no terminal."""
    return None if logger.isEnabledFor(logging.INFO) else True


def _write(lines: list[str], output: BinaryIO) -> int:
    """Write the lines of tokens; return the number of tokens."""
    if not lines:
        return 0
    text = "\n".join(lines)
    output.write(f"{text}\n".encode())
    return text.count(" ") + len(lines) - lines.count("")


def _manifest(
    settings: PrepareSettings,
    splits: Mapping[str, Files],
    reports: Mapping[str, Report],
    folder: Path,
) -> dict[str, Any]:
    options = dataclasses.asdict(settings)
    text = options.pop("text")
    inputs = [path for files in splits.values() for path in files] + list(settings.codes)
    return {
        "format": FORMAT,
        "text": text,
        "splits": {name: report.manifest() for name, report in reports.items()},
        "settings": options,
        "versions": {
            "nmtkit": nmtkit.__version__,
            "python": platform.python_version(),
            "sacremoses": metadata.version("sacremoses"),
        },
        "inputs": {
            str(path): None if str(path) == STANDARD else file_sha256(path) for path in inputs
        },
        "outputs": {path.name: file_sha256(path) for path in sorted(folder.iterdir())},
    }


def cut_shortlist(
    corpus: str | Path, size: int, output: str | Path, force: bool = False
) -> Shortlist:
    """Write the vocabulary file of a tokenised corpus; log how much of the corpus it covers.

    :param size: words kept, `</s>` and `<unk>` counted.
    :raises DataError: the corpus cannot be read, or the size is below 3.
    :raises OutputError: the file exists and `force` is not given, or cannot be written.
    """
    with open_output(output, force=force) as stream:
        result = shortlist_of(corpus, size)
        result.vocabulary.write(stream)
    _log_coverage(corpus, result)
    return result


def cut_shortlists(
    folder: str | Path, src_size: int, tgt_size: int, force: bool = False
) -> tuple[Shortlist, Shortlist]:
    """Write `vocab.src` and `vocab.tgt` of a prepared folder, both or neither; log the coverage.

    :param src_size, tgt_size: words kept, `</s>` and `<unk>` counted.
    :raises DataError: the folder is not a prepared one, or a size is below 3.
    :raises OutputError: a file exists and `force` is not given, or cannot be written.
    """
    read_manifest(folder)
    paths = [Path(folder) / f"train.{side}" for side in SIDES]
    with ExitStack() as stack:
        streams = [
            stack.enter_context(open_output(Path(folder) / f"vocab.{side}", force=force))
            for side in SIDES
        ]
        src, tgt = (
            shortlist_of(path, size) for path, size in zip(paths, (src_size, tgt_size), strict=True)
        )
        for result, stream in zip((src, tgt), streams, strict=True):
            result.vocabulary.write(stream)
    for result, path in zip((src, tgt), paths, strict=True):
        _log_coverage(path, result)
    return src, tgt


def _log_coverage(corpus: str | Path, result: Shortlist) -> None:
    logger.info(
        "%s: %s words cover %.2f %% of %s tokens, %.2f %% of %s types",
        corpus,
        f"{len(result.vocabulary):,}",
        100 * result.token_coverage,
        f"{result.tokens:,}",
        100 * result.type_coverage,
        f"{result.types:,}",
    )
