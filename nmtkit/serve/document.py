"""Translation of files in a process of their own: a fork of the model's host, with limits.

The process has the model in memory that it shares with the workers, translates one file, and ends.
If another model translates the translation, as through a pivot language, the process gives back the
texts of the file, and one of the other model's translates these and writes them into the file.
It has a low priority, so that sentences of others do not wait for a book, and a limit on memory,
as what it parses came from a client.
"""

import base64
import os
import sys
from collections.abc import Sequence
from typing import Any

from nmtkit.errors import DataError, is_out_of_memory
from nmtkit.inference.document import DocumentOptions, SegmentedDocument, format_of
from nmtkit.inference.translator import Translator
from nmtkit.serve.lines import PLAIN, joined_text, split_text
from nmtkit.serve.routes import Pair
from nmtkit.text.sentences import find_sentences

NICENESS = 10
"""By how much its priority is lower than that of workers."""

MEMORY_FACTOR, MEMORY_ROOM = 40, 1 << 30
"""Memory that it may use, beside what it begins with: so many bytes for each byte, and so many."""


def prepare_for_files(translator: Translator) -> None:
    """Load what divides texts into sentences, so that processes for files share it.

    Each of them would load it again, and the libraries warn of its limits on stderr.
    """
    find_sentences("One. Two.", translator.ensemble.first.config.text.src_language)


def translate_files(translator: Translator, files: dict[str, Any]) -> dict[str, Any]:
    """Translate files.

    :param files: `contents`, each in base64; `name`, whose ending names their format; `languages`
        of the source and the translation; `texts`, those of each file in the language from which
        the model translates, or None if it is that of the file; `is_last`: write the translations.
    :return: `contents`: the translations, in base64; or `texts`, if another model goes on.
    :raises DataError: one cannot be read.
    :raises SystemExit: memory has run out; the server takes the end of the process for that.
    """
    contents = [base64.b64decode(content) for content in files["contents"]]
    _limit(sum(map(len, contents)))
    try:
        return _translate(translator, contents, files)
    except Exception as error:
        if is_out_of_memory(error):
            sys.exit(1)
        raise


def _translate(
    translator: Translator, contents: Sequence[bytes], files: dict[str, Any]
) -> dict[str, Any]:
    parsed = [_parsed(data, files["name"], files["languages"]) for data in contents]
    given = files["texts"]
    pairs = zip(parsed, [file.texts for file in parsed] if given is None else given, strict=True)
    texts = [file.translate(texts, translator) for file, texts in pairs]
    if not files["is_last"]:
        return {"texts": texts}
    written = [file.write(own) for file, own in zip(parsed, texts, strict=True)]
    return {"contents": [base64.b64encode(data).decode("ascii") for data in written]}


def _parsed(data: bytes, name: str, languages: Pair) -> "_Lines | SegmentedDocument":
    """Return the texts of a file, and what writes others into it."""
    format = None if name.lower().endswith(PLAIN) else format_of(name)
    if format is None:
        return _Lines(data)
    return SegmentedDocument(data, format, "the file", DocumentOptions(*languages))


class _Lines:
    """A file of lines; see `SegmentedDocument`."""

    def __init__(self, data: bytes) -> None:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(
                f"the file is not UTF-8 (byte {error.start + 1}); convert it"
            ) from error
        self.texts, self._endings = split_text(text)

    def translate(self, texts: Sequence[str], translator: Translator) -> list[str]:
        """Return the translations of the texts."""
        return [n_best[0].text for n_best in translator.translate(texts)]

    def write(self, texts: Sequence[str]) -> bytes:
        """Return the bytes of the file with other texts."""
        return joined_text(texts, self._endings).encode("utf-8")


def _limit(size: int) -> None:
    """Limit the memory of this process, and lower its priority."""
    os.nice(NICENESS)
    try:
        import resource
    except ImportError:
        return
    try:
        with open("/proc/self/statm", "rb") as status:
            begun = int(status.read().split()[0]) * resource.getpagesize()
    except OSError:  # not Linux: its memory so far is not known
        return
    limit = begun + MEMORY_ROOM + MEMORY_FACTOR * size
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
