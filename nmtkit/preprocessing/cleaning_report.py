"""The report of cleaning: `dropped.tsv.gz`, `cleaning.html`, and a table for the terminal."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self

from nmtkit.errors import NAME_ERRORS
from nmtkit.preprocessing.cleaning import ALL_RULES, CleanedBlock
from nmtkit.preprocessing.cleaning_page import render_page
from nmtkit.preprocessing.leakage import RULE as LEAK
from nmtkit.preprocessing.leakage import LeakCounts, log_leaks
from nmtkit.preprocessing.settings import CleaningSettings
from nmtkit.preprocessing.tally import COLUMNS, Tally, compress_rows

DROPPED_FILE = "dropped.tsv.gz"
PAGE_FILE = "cleaning.html"

REPORT_MARK = "cleaning.json"
"""File of counts and settings in a folder that holds only the report."""

REPORT_FILES = frozenset({DROPPED_FILE, PAGE_FILE, REPORT_MARK})
"""Files of such a folder."""


class CleaningReport:
    """What was dropped of the training data, written block by block.

    :param folder: folder for the files.
    """

    def __init__(self, folder: Path, settings: CleaningSettings) -> None:
        self._folder, self._settings = folder, settings
        self._stream: BinaryIO | None = None
        self.tally = Tally()
        self.leaks = LeakCounts()

    def __enter__(self) -> Self:
        self._stream = open(self._folder / DROPPED_FILE, "wb")
        self._stream.write(compress_rows(("\t".join(COLUMNS) + "\n").encode()))
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()

    def add(self, block: CleanedBlock) -> None:
        """Write the rows of a block, and add up its numbers."""
        assert self._stream is not None
        self._stream.write(block.tally.rows)
        self.tally.add(block.tally)
        for leak in block.leaks.values():
            self.leaks.add(leak)

    def finish(self) -> None:
        """Write the page, and warn of leakage."""
        page = render_page(self.tally, self._rules(), self.leaks.rows(), self._settings)
        (self._folder / PAGE_FILE).write_text(
            page, encoding="utf-8", errors=NAME_ERRORS, newline="\n"
        )
        log_leaks(self.leaks, self.tally.samples.get(LEAK, []), self._settings.leakage)

    def _rules(self) -> list[str]:
        """Return the rules that dropped a pair, in the order in which they are tried."""
        used = {rule for (_, rule), count in self.tally.counts.items() if count}
        return [rule for rule in ALL_RULES if rule in used]

    def manifest(self) -> dict[str, Any]:
        """Return the report's entries in the manifest: leakage, if there is any."""
        leaks = self.leaks.manifest()
        return {"leakage": leaks} if leaks else {}


def table_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the numbers of a report, or of a manifest, in columns separated by tabs.

    The columns are a rule and its number of pairs. Leakage follows: `leakage`, the number of pairs
    in both, the set, and the numbers of source sides and target sides.
    """
    train = report["splits"]["train"]
    yield f"read\t{train['read']}"
    yield f"kept\t{train['pairs']}"
    for rule, count in train["dropped"].items():
        if count:
            yield f"{rule}\t{count}"
    for name, counts in report.get("leakage", {}).items():
        yield f"leakage\t{counts['pairs']}\t{name}\t{counts['src']}\t{counts['tgt']}"
