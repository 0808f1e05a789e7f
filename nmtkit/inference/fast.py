"""Fast translation with what `nmtkit optimize` left in the model folders."""

import logging
from collections.abc import Sequence
from pathlib import Path

from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.translator import Translator
from nmtkit.io.fast_record import FAST_FILE, LEXICON_FILE, FastRecord, read_fast_record
from nmtkit.models.fast.int8 import is_int8_fast
from nmtkit.text.lexicon import Lexicon

log = logging.getLogger("nmtkit")


def fast_translator(
    ensemble: Ensemble, folders: Sequence[str | Path], batch_size: int
) -> Translator:
    """Return a translator that uses 8-bit products and candidates where they were checked.

    8-bit products need the record of every model and a processor that multiplies them fast,
    candidates the record of the first model. One warning says what is missing.

    :param folders: the model folders of the ensemble.
    :raises ModelError: a record or a lexical table is damaged, or the parameters are others.
    """
    records = []
    paths = [Path(folder) for folder in folders]
    for member, folder in zip(ensemble.members, paths, strict=True):
        record = read_fast_record(folder)
        if record is not None and member.path is not None:
            record.check_parameters(folder, member.metadata.sha256)
            record.check_lexicon(folder)
        records.append(record)
    on_cpu = all(member.device.type == "cpu" for member in ensemble.members)
    checked = all(record is not None and record.quantize for record in records)
    quantize = on_cpu and is_int8_fast() and checked
    has_lexicon = records[0] is not None and bool(records[0].lexicon)
    _warn_of_missing(paths, records, _why_no_int8(on_cpu) if checked and not quantize else "")
    translator = Translator(ensemble, batch_size=batch_size, quantize=quantize)
    if not has_lexicon:
        return translator
    vocabulary = translator.tgt_vocab
    lexicon = Lexicon.load(paths[0] / LEXICON_FILE, vocabulary, known_direction=True)
    return translator.with_candidates(lexicon)


def _why_no_int8(on_cpu: bool) -> str:
    """Return why 8-bit products are not used although the models were checked with them."""
    return "this processor multiplies 8 bits slowly" if on_cpu else "they are for a CPU"


def _warn_of_missing(
    folders: Sequence[Path], records: Sequence[FastRecord | None], why_no_int8: str
) -> None:
    """Say what is not used for want of a record, or of a fitting processor.

    What `nmtkit optimize` has found not to be good or fast enough is not missing.
    """
    without = [str(f) for f, record in zip(folders, records, strict=True) if record is None]
    missing = ["8-bit products"] if without or why_no_int8 else []
    missing += ["candidates"] if records[0] is None else []
    reason = why_no_int8
    if without:
        reason = f"no {FAST_FILE} in {', '.join(without)}: run 'nmtkit optimize'"
    if missing:
        log.warning("--fast goes without %s (%s)", " and ".join(missing), reason)
