"""The settings of the text: languages, normalisation, tokenisation, subwords."""

from dataclasses import dataclass
from typing import Literal

Side = Literal["src", "tgt"]
"""A side of a bitext; prepared files have it in their names."""


@dataclass(frozen=True)
class TextConfig:
    """Languages, normalisation, tokenisation and subwords of the text.

    Every setting that is off by default was absent from older models, whose text was prepared
    without it.

    src_language, tgt_language: codes that choose the tokenisation rules.
    tokenized: the text is tokenised already; only split it at spaces.
    hyphens: split words at hyphens (`well @-@ known`).
    escape: write & ' " | < > [ ] as XML entities, as Moses does.
    nfc: normalise to Unicode's form NFC.
    punctuation: normalise punctuation as Moses does.
    protected: keep tags, addresses, placeholders and the like whole.
    combining: keep combining marks with the character that they belong to.
    joiners: mark spacing that the detokenizer would not restore.
    case: as in the text, Moses's truecasing, or small letters with marker tokens.
    copy_names: names and numbers that are rare in the training data are placeholders, which the
        model copies.
    markup: symbols stand for inline markup of HTML or XML, and the model puts them around the words
        that they belong to.
    subwords: learned on both sides together, on each side alone, or not used.
    tags: words that may stand before a source line, such as `<bt>`; each is one token.
    raw: the text is not tokenised; subwords are pieces of the line, whitespace included.
    glossaries: regular expressions; BPE does not split what they match.
    vocabulary_threshold: a piece that is rarer in its side of the training data is split again;
        0: every piece of the subword model is used.
    """

    src_language: str = "en"
    tgt_language: str = "fr"
    tokenized: bool = False
    hyphens: bool = False
    escape: bool = False
    nfc: bool = False
    punctuation: bool = False
    protected: bool = False
    combining: bool = False
    joiners: bool = False
    case: Literal["keep", "truecase", "markers"] = "keep"
    copy_names: bool = False
    markup: Literal["none", "html", "xml"] = "none"
    subwords: Literal["none", "joint", "separate"] = "none"
    tags: tuple[str, ...] = ()
    raw: bool = False
    glossaries: tuple[str, ...] = ()
    vocabulary_threshold: int = 0
