"""Translation of files in a process of their own: a fork of the model's host, with limits.

The process has the model in memory that it shares with the workers, translates one file, and ends.
It has a low priority, so that sentences of others do not wait for a book, and a limit on memory,
as what it parses came from a client.
"""

import base64
import os
import sys
from typing import Any

from nmtkit.errors import DataError, is_out_of_memory
from nmtkit.inference.document import format_of, translate_document
from nmtkit.inference.translator import Translator
from nmtkit.serve.lines import PLAIN, joined_text, split_text
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


def translate_files(translator: Translator, files: dict[str, Any]) -> list[str]:
    """Translate files.

    :param files: `contents`, each in base64, and `name`, whose ending names their format.
    :return: their translations in base64.
    :raises DataError: one cannot be read.
    :raises SystemExit: memory has run out; the server takes the end of the process for that.
    """
    contents = [base64.b64decode(content) for content in files["contents"]]
    _limit(sum(map(len, contents)))
    name = files["name"]
    format = None if name.lower().endswith(PLAIN) else format_of(name)
    try:
        translated = [_translate(translator, content, format) for content in contents]
    except Exception as error:
        if is_out_of_memory(error):
            sys.exit(1)
        raise
    return [base64.b64encode(content).decode("ascii") for content in translated]


def _translate(translator: Translator, data: bytes, format: str | None) -> bytes:
    if format is None:
        return _translate_lines(translator, data)
    return translate_document(data, format, translator, name="the file").data


def _translate_lines(translator: Translator, data: bytes) -> bytes:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"the file is not UTF-8 (byte {error.start + 1}); convert it") from error
    lines, endings = split_text(text)
    texts = (n_best[0].text for n_best in translator.translate(lines))
    return joined_text(texts, endings).encode("utf-8")


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
