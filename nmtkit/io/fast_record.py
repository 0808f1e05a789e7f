"""The record of what makes a model translate faster, checked on a dev set: `fast.json`.

`nmtkit optimize` writes it into the model folder, with the lexical table `lexicon.gz` beside it.
8-bit matrices are not stored: they follow from the parameters, and are computed when a model is
loaded. The record holds the checksums of the parameters and of the table that were checked, so that
it is stale once either changes.
"""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nmtkit.errors import ModelError
from nmtkit.io.atomic import atomic_path
from nmtkit.io.checksums import with_checksum
from nmtkit.io.folder_files import MIB, check_file, regular_file_sha256
from nmtkit.io.json_record import read_record
from nmtkit.io.lines import open_output
from nmtkit.io.sync import sync_folder

FAST_FILE = "fast.json"

LEXICON_FILE = "lexicon.gz"

FORMAT = 1

MAX_FAST_BYTES = {FAST_FILE: MIB, LEXICON_FILE: 256 * MIB}
"""Maximum sizes of these files."""

OPTIONAL = ("chrf", "fast_chrf")
"""Fields of a record that may be absent."""

REMEDY = "run 'nmtkit optimize' again"


@dataclass(frozen=True)
class FastRecord:
    """What was checked on the dev set.

    parameters: checksum of the parameters. lexicon: SHA-256 of the lexical table, "" for none.
    quantize: 8-bit products are good enough.
    pairs: pairs of the dev set. bleu, fast_bleu: BLEU in percent without and with what is used.
    speed: time without it over time with it, on the machine and the dev set of the check; 0 if that
    took too short a time.
    chrf, fast_chrf: chrF in percent, if no reference has the four words that BLEU needs; else None.
    """

    parameters: str
    lexicon: str
    quantize: bool
    pairs: int
    bleu: float
    fast_bleu: float
    speed: float
    chrf: float | None = None
    fast_chrf: float | None = None

    @property
    def figures(self) -> tuple[str, float, float]:
        """Return the metric that was compared, and its values without and with what is used."""
        if self.chrf is None or self.fast_chrf is None:
            return "BLEU", self.bleu, self.fast_bleu
        return "chrF", self.chrf, self.fast_chrf

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that have a value, for JSON."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @property
    def contents(self) -> str:
        """Say what the model may use, for messages; "" for nothing."""
        parts = ["candidates"] if self.lexicon else []
        return " and ".join([*parts, "8-bit products"] if self.quantize else parts)

    def check_parameters(self, folder: Path, checksum: object) -> None:
        """Compare the checksum of parameters with the one that was checked.

        :raises ModelError: they are others.
        """
        if checksum != self.parameters:
            path = folder / FAST_FILE
            raise ModelError(f"{path}: stale: the parameters have changed since; {REMEDY}")

    def check_lexicon(self, folder: Path) -> None:
        """Compare the lexical table, if there is one, with the one that was checked.

        :raises ModelError: it is missing, or another.
        """
        if not self.lexicon:
            return
        path = folder / LEXICON_FILE
        if not path.exists():
            raise ModelError(f"{path}: missing, though {FAST_FILE} names it; {REMEDY}")
        check_file(folder, path, MAX_FAST_BYTES[LEXICON_FILE])
        if regular_file_sha256(path) != self.lexicon:
            raise ModelError(
                f"{path}: changed or damaged: {FAST_FILE} has another checksum; {REMEDY}"
            )


class NewFastFiles(NamedTuple):
    """The files that take the place of those in a model folder.

    lexicon: path of the lexical table, to be written first. write_record: writes the record, last;
    without a checksum of the table there the folder gets none.
    """

    lexicon: Path
    write_record: Callable[[FastRecord], None]


@contextlib.contextmanager
def new_fast_files(folder: Path) -> Iterator[NewFastFiles]:
    """Yield what the block writes; both files get their names when it succeeds.

    The record is away while the table gets its name: a process that is killed then leaves a model
    that `translate --fast` translates without either, and no record of another table.

    :raises OutputError: a file cannot be written.
    """
    has_lexicon = True
    with open_output(folder / FAST_FILE, force=True) as file:

        def write_record(record: FastRecord) -> None:
            nonlocal has_lexicon
            has_lexicon = bool(record.lexicon)
            file.write(_text_of(record))
            file.flush()  # a full disk is noticed while the earlier files are there

        with atomic_path(folder / LEXICON_FILE, force=True) as table:
            yield NewFastFiles(table, write_record)
            (folder / FAST_FILE).resolve().unlink(missing_ok=True)
            sync_folder(folder)
        if not has_lexicon:
            (folder / LEXICON_FILE).unlink()
            sync_folder(folder)


def write_fast_record(folder: Path, record: FastRecord) -> None:
    """Write the record of a model folder, replacing an existing one."""
    with open_output(folder / FAST_FILE, force=True) as file:
        file.write(_text_of(record))


def _text_of(record: FastRecord) -> str:
    table = with_checksum({"format": FORMAT, **record.as_dict()})
    return json.dumps(table, indent=2) + "\n"


def read_fast_record(folder: Path) -> FastRecord | None:
    """Read the record of a model folder; return None if there is none.

    :raises ModelError: the file is damaged, has an unknown format, or is not a regular file in the
        folder.
    """
    return read_record(folder / FAST_FILE, MAX_FAST_BYTES[FAST_FILE], FORMAT, _record_of, REMEDY)


def _record_of(table: Mapping[str, Any]) -> FastRecord:
    """Return the record in a JSON object.

    :raises ValueError: a value is missing, or not of the right type.
    """
    types = FastRecord.__annotations__ | dict.fromkeys(OPTIONAL, float)
    names = [name for name in types if name in table or name not in OPTIONAL]
    values: dict[str, Any] = {name: table.get(name) for name in names}
    for name, value in values.items():
        if type(value) is not types[name]:
            raise ValueError(f"{name} is missing, or not of the right type")
    return FastRecord(**values)
