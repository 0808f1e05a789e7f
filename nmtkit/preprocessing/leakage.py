"""Training pairs that also stand in a dev or test set.

Lines are compared with their whitespace normalised: each side alone, and both together. Some bytes
for each line of the dev and test sets are kept in memory, and of the training data nothing.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from nmtkit.errors import counted
from nmtkit.io.bitext import Columns, PairBlock, read_bitext
from nmtkit.io.inputs import Source
from nmtkit.preprocessing.duplicates import digest
from nmtkit.preprocessing.tally import Sample

LeakagePolicy = Literal["report", "drop", "drop-any"]
"""What is done with training pairs that also stand in a dev or test set: nothing; drop those whose
two sides stand there as a pair; drop also those with one side there."""

RULE = "leak"
"""Name of the rule by which such pairs are dropped, and of their samples."""

INDEX_FILE = "leakage.json"
"""Name of the file of digests, which is removed when the training data has been read."""

logger = logging.getLogger("nmtkit")


class Leak(NamedTuple):
    """Names of the dev and test sets where a training pair also stands.

    pair: both sides stand there as a pair. src, tgt: that side stands there.
    """

    pair: tuple[str, ...]
    src: tuple[str, ...]
    tgt: tuple[str, ...]

    def drops(self, policy: str) -> bool:
        """Return whether the pair is dropped."""
        return bool(self.pair) if policy == "drop" else policy == "drop-any"

    def where(self) -> str:
        """Return where the pair stands, such as `dev` or `test (source side)`."""
        for names, kind in zip(self, ("", " (source side)", " (target side)"), strict=True):
            if names:
                return ", ".join(names) + kind
        return ""


class LeakIndex:
    """The digests of all lines of dev and test sets, with the names of the sets."""

    def __init__(self, tables: Sequence[Mapping[str, list[str]]]) -> None:
        self._pairs, self._sources, self._targets = tables

    def find(self, src: str, tgt: str) -> Leak | None:
        """Return where a training pair also stands, or None."""
        src_key, tgt_key = _key(src), _key(tgt)
        sources, targets = self._sources.get(src_key), self._targets.get(tgt_key)
        if sources is None and targets is None:
            return None
        pairs = self._pairs.get(src_key + tgt_key, [])
        return Leak(tuple(pairs), tuple(sources or ()), tuple(targets or ()))


def _key(line: str) -> str:
    """Return the digest of a line with its whitespace normalised."""
    return digest(" ".join(line.split()).encode("utf-8", "surrogatepass")).hex()


def write_index(
    path: Path,
    sets: Mapping[str, Sequence[Source]],
    languages: tuple[str, str],
    columns: Columns = (1, 2),
) -> bool:
    """Write the digests of dev and test sets to a file; return False if there is no set.

    :param sets: files by name of the set.
    :param columns: columns of source and target in TSV files.
    """
    tables: tuple[dict[str, list[str]], ...] = ({}, {}, {})
    for name, files in sets.items():
        _add_set(tables, name, read_bitext(files, languages, columns=columns))
    if not tables[0]:
        return False
    path.write_text(json.dumps(tables), encoding="utf-8")
    return True


def _add_set(
    tables: Sequence[dict[str, list[str]]], name: str, blocks: Iterable[PairBlock]
) -> None:
    for block in blocks:
        for lines in zip(block.src, block.tgt, strict=True):
            src, tgt = (line.decode("utf-8", "replace") for line in lines)
            if not src.split() or not tgt.split():
                continue
            keys = _key(src), _key(tgt)
            for table, key in zip(tables, ("".join(keys), *keys), strict=True):
                names = table.setdefault(key, [])
                if name not in names:
                    names.append(name)


@lru_cache(maxsize=1)
def load_index(path: str) -> LeakIndex:
    """Load the digests that `write_index` wrote; cached for the blocks of a worker process."""
    return LeakIndex(json.loads(Path(path).read_text(encoding="utf-8")))


class LeakCounts:
    """Numbers of training pairs that stand in each dev or test set, as a pair or on one side."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, int]] = Counter()

    def add(self, leak: Leak) -> None:
        """Count one training pair."""
        for kind, names in enumerate(leak):
            self._counts.update((name, kind) for name in names)

    def rows(self) -> list[tuple[str, tuple[int, int, int]]]:
        """Return the numbers of pairs, source sides and target sides, by the set's name."""
        names = dict.fromkeys(name for name, _ in sorted(self._counts))
        return [(name, tuple(self._counts[name, kind] for kind in range(3))) for name in names]  # type: ignore[misc]

    def manifest(self) -> dict[str, Any]:
        """Return the entry of the manifest."""
        keys = ("pairs", "src", "tgt")
        return {name: dict(zip(keys, counts, strict=True)) for name, counts in self.rows()}


def log_leaks(counts: LeakCounts, samples: Sequence[Sample], policy: str) -> None:
    """Warn of training pairs that also stand in dev and test sets."""
    for name, (pairs, sources, targets) in counts.rows():
        logger.warning(
            "%s of the training data also %s in %s; with the source side alone %s, with the target"
            " side alone %s", counted(pairs, "pair") if pairs else "no pair",
            "stand" if pairs > 1 else "stands", name, f"{sources:,}", f"{targets:,}",
        )  # fmt: skip
    if counts.rows() and policy == "report":
        option = "drop" if any(pairs for _, (pairs, *_) in counts.rows()) else "drop-any"
        first = min(samples, key=lambda sample: (sample.file, sample.line))
        logger.warning(
            "scores on text that was trained on say nothing; drop such pairs with --leakage %s"
            " (for example %s:%s: %s)", option, first.file, first.line, first.src,
        )  # fmt: skip
