"""Whether a bitext is in the languages that the user names, before the long work begins.

The first pairs of each file are looked at by py3langid, which brings its model along. Lines are
joined to blocks, because one caption or heading says too little. Markup, addresses, code, numbers
and pairs that are the same on both sides are left out: they say nothing about the language. Only
what is beyond doubt is an error: hardly any block looks like the language named, and most of them
look like one other. Languages that are as good as the same for an identifier count as one. The
scripts are looked at before (`script_check.py`).
"""

import logging
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from nmtkit.errors import DataError
from nmtkit.extras import install_command
from nmtkit.io.bitext import PairBlock
from nmtkit.preprocessing.corpora import TrainingCorpus
from nmtkit.preprocessing.corpus_reading import read_corpus
from nmtkit.preprocessing.languages import language_name, named_language
from nmtkit.preprocessing.script_check import check_scripts
from nmtkit.preprocessing.settings import PrepareSettings
from nmtkit.text.language_identifier import language_identifier, related_languages
from nmtkit.text.languages import base_language

CHECKED_PAIRS = 2000
"""Number of pairs of each file that are looked at."""

BLOCK_LETTERS = 300
"""Minimum number of characters of a block; fewer are not identified well."""

MIN_BLOCKS, MIN_WORDS = 8, 150
"""Minimum numbers of blocks and of distinct words of a side. Shorter files are not checked, nor are
artificial languages of few words."""

MAX_BLOCKS = 80
"""Maximum number of blocks of a side that are identified, evenly spaced."""

MAX_LINE = 1000
"""Maximum number of characters of a line that are looked at."""

MAX_OWN, MIN_OTHER = 0.1, 0.7
"""A side is in another language if at most this share of its blocks looks like the one named, and
at least that share like the other."""

_NOT_TEXT = re.compile(
    r"<[^<>]*>|\{[^{}]*\}|&#?\w+;"
    r"|(?<![^\s>};])(?:\S*[/\\_=@#$%*<>{}|~^]\S*|\S*\d\S*|\S+\.\S+)"
)
"""Markup, addresses, paths, code and numbers; words from their beginnings, or behind markup."""

logger = logging.getLogger("nmtkit")


class LanguageCheck:
    """Checks that bitexts are in two languages.

    :param src, tgt: tags of the languages.
    """

    def __init__(self, src: str, tgt: str) -> None:
        self._tags = (src, tgt)
        self._related = [related_languages(base_language(tag)) for tag in self._tags]
        self._is_reported = False

    def check(self, block: PairBlock) -> None:
        """Check the first pairs of a bitext.

        :raises DataError: the sides are swapped, or one is not in its language.
        """
        running = _running_texts(block)
        has_scripts = [not _has_unusual_script(tag) for tag in self._tags]
        joined = (" ".join(running[0]), " ".join(running[1]))
        check_scripts(self._tags, joined, block.names, has_scripts)
        texts = [_joined(lines) for lines in running]
        if not all(map(_is_enough, texts)) or not self._is_known():
            return
        shares = [_shares(text) for text in texts]
        src, tgt = self._related
        if not src & tgt:
            src_as_tgt, tgt_as_src = _share(shares[0], tgt), _share(shares[1], src)
            own = _share(shares[0], src), _share(shares[1], tgt)
            if min(src_as_tgt, tgt_as_src) >= MIN_OTHER and max(own) <= 1 - MIN_OTHER:
                self._refuse_swapped(block.names, src_as_tgt, tgt_as_src)
        for side in range(2):
            self._check_side(side, shares[side], block.names[side])

    def _is_known(self) -> bool:
        """Return whether the identifier is installed; log once what cannot be checked."""
        known = _known_languages()
        unknown = [t for t, r in zip(self._tags, self._related, strict=True) if not known & r]
        if not self._is_reported:
            self._is_reported = True
            if not known:
                command = install_command("langid")
                logger.info("the languages of the text are not checked; to check them: %s", command)
            for tag in unknown if known else ():
                logger.info("py3langid does not know %s: it is not checked", language_name(tag))
        return bool(known)

    def _check_side(self, side: int, shares: Counter[str], name: str) -> None:
        related, tag = self._related[side], self._tags[side]
        if not _known_languages() & related or _has_unusual_script(tag):
            return
        other = max(
            shares, key=lambda language: _share(shares, related_languages(language)), default=""
        )
        share = _share(shares, related_languages(other))
        if _share(shares, related) > MAX_OWN or share < MIN_OTHER:
            return
        option = ("-s", "-t")[side]
        raise DataError(
            f"{name}: {share:.0%} of the text looks like {named_language(other)}, not like"
            f" {named_language(tag)}; name another file, or give {option} {other}, or use"
            " --no-language-check"
        )

    def _refuse_swapped(self, names: Sequence[str], src_share: float, tgt_share: float) -> None:
        src, tgt = map(named_language, self._tags)
        raise DataError(
            f"{' and '.join(dict.fromkeys(names))}: the sides look swapped: {src_share:.0%} of the"
            f" source text looks like {tgt}, {tgt_share:.0%} of the target text like {src}; swap"
            " the files, or -s and -t, or use --no-language-check"
        )


def _is_enough(blocks: Sequence[str]) -> bool:
    return len(blocks) >= MIN_BLOCKS and len(set(" ".join(blocks).split())) >= MIN_WORDS


def _has_unusual_script(tag: str) -> bool:
    """Return whether a tag has a script that the identifier may not know for its language."""
    script = re.search("-([A-Z][a-z]{3})(-|$)", tag)
    return script is not None and script[1] not in ("Hans", "Hant") and base_language(tag) != "sr"


def _share(shares: Counter[str], languages: frozenset[str]) -> float:
    """Return the share of blocks in one of the languages."""
    return sum(shares[language] for language in languages) / max(1, shares.total())


def _known_languages() -> frozenset[str]:
    """Return the languages that are identified; none if py3langid is not installed."""
    try:
        return frozenset(language_identifier().labels)
    except ImportError:
        return frozenset()


def _shares(blocks: Sequence[str]) -> Counter[str]:
    """Count the blocks in each language; those without any language are left out."""
    step = -(-len(blocks) // MAX_BLOCKS)
    shares = Counter(language_identifier().classify(block)[0] for block in blocks[::step])
    del shares["zxx"]
    return shares


def _running_texts(block: PairBlock) -> tuple[list[str], list[str]]:
    """Return the running text of both sides' lines; pairs of equal lines are left out."""
    pairs = [
        (src, tgt)
        for src, tgt in zip(block.src[:CHECKED_PAIRS], block.tgt[:CHECKED_PAIRS], strict=True)
        if src.strip() != tgt.strip()
    ]
    return [_decoded(src) for src, _ in pairs], [_decoded(tgt) for _, tgt in pairs]


def _decoded(line: bytes) -> str:
    return _running_text(line[: 4 * MAX_LINE].decode("utf-8", errors="ignore")[:MAX_LINE])


def _joined(lines: Sequence[str]) -> list[str]:
    """Return lines in blocks that are long enough."""
    blocks: list[str] = []
    waiting, size = [], 0
    for text in lines:
        waiting.append(text)
        size += len(text) * (3 if text and ord(max(text)) >= 0x2E80 else 1)
        if size >= BLOCK_LETTERS:
            blocks.append(" ".join(waiting))
            waiting, size = [], 0
    return blocks


def _running_text(line: str) -> str:
    """Return the words of a line, with subwords joined."""
    line = line.replace("@@ ", "").replace(" \u2581", "\n").replace("\u2581", " ")
    line = line.replace(" ", "").replace("\n", " ") if "\n" in line else line
    words = _NOT_TEXT.sub(" ", line).split()
    text = " ".join(word for word in words if any(map(str.isalpha, word)))
    return text.lower() if text.isupper() else text


def check_languages(
    corpora: Iterable[TrainingCorpus], settings: PrepareSettings, checker: LanguageCheck
) -> None:
    """Check all corpora that can be read again; a pipe is checked when it is read.

    :raises DataError: the sides of a corpus are swapped or the same file, or one is in another
        language; or a file cannot be read.
    """
    for corpus in corpora:
        _check_files(corpus, settings)
        if is_checked_ahead(corpus):
            for block in islice(read_corpus(corpus, settings, CHECKED_PAIRS), 1):
                checker.check(block)


def _check_files(corpus: TrainingCorpus, settings: PrepareSettings) -> None:
    """Refuse one file for both sides: all its pairs would be copies."""
    paths = [os.path.realpath(str(file)) for file in corpus.files]
    src, tgt = settings.text.src_language, settings.text.tgt_language
    if len(paths) == 2 and paths[0] == paths[1] and src != tgt and os.path.isfile(paths[0]):
        raise DataError(
            f"{corpus.files[0]} and {corpus.files[1]} are the same file; name one in"
            f" {language_name(src)} and one in {language_name(tgt)}, or use --no-language-check"
        )


def checked_blocks(
    blocks: Iterator[PairBlock], corpus: TrainingCorpus, checker: LanguageCheck
) -> Iterator[PairBlock]:
    """Yield the blocks of a corpus; check the first one of a pipe.

    :raises DataError: as `check_languages`.
    """
    unchecked = not corpus.is_phrase_table and not is_checked_ahead(corpus)
    for block in blocks:
        if unchecked:
            checker.check(block)
            unchecked = False
        yield block


def is_checked_ahead(corpus: TrainingCorpus) -> bool:
    """Return whether all files of a corpus can be read again, and hold running text."""
    return not corpus.is_phrase_table and all(os.path.isfile(str(f)) for f in corpus.files)
