"""From a raw line to the tokens of a model and back: tokenizer, subwords, detokenizer."""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from nmtkit.config import Side as Side
from nmtkit.config import TextConfig
from nmtkit.text.case_markers import CaseMarkers, capitalize
from nmtkit.text.languages import base_language
from nmtkit.text.markers import CAPITAL, HYPHEN, UPPER, spacing, without_markers
from nmtkit.text.names import PLACEHOLDERS, Names, load_names, mask
from nmtkit.text.normalizer import Normalizer
from nmtkit.text.scripts import length_in_words, unspaced_characters
from nmtkit.text.subword import SubwordModel, load_subword_model
from nmtkit.text.subword.normalization import Normalization
from nmtkit.text.tokenizer import Detokenizer, Tokenizer
from nmtkit.text.truecaser import Truecaser, load_truecaser

if TYPE_CHECKING:
    from nmtkit.text.prefix import TextPrefix


OPEN_SIGNS = "'’-"
"""Signs at the end of a prefix that belong to what may follow them: `l'`, `well-`."""

PROBE = "a"
"""A letter that stands for what follows."""

_BLANKS = re.compile("[ \t]+")


class TextPipeline:
    """Converts raw lines of one language to the tokens that a model reads, and tokens to lines.

    :param language: language tag, such as `de` or `pt-BR`.
    :param settings: how the model's text was prepared.
    :param subwords: the subword model to apply, or None for words.
    :param tags: words that may stand before a line; they are kept as one token.
    :param truecaser: Moses's truecasing, or None while `prepare` has not learned it yet.
    :param names: finds names that placeholders stand for, or None.
    :param reads_source: lines are sources: in raw text, several blanks or tabs are read as one, as
        a model that saw few of them loses words behind them. Targets are kept as they are.
    :param rules: of the subword model, if `subwords` is None because the words are not split yet.
    """

    def __init__(
        self,
        language: str,
        settings: TextConfig,
        subwords: SubwordModel | None,
        tags: Sequence[str] = (),
        truecaser: Truecaser | None = None,
        names: Names | None = None,
        reads_source: bool = False,
        rules: Normalization | None = None,
    ) -> None:
        self.tags = tuple(tags)
        self.names = names
        self._language = language
        self._settings = settings
        self._subwords = subwords
        rules = rules if subwords is None else subwords.normalization
        self.rules = None if settings.tokenized else rules
        self._reads_source = reads_source
        markers = settings.case == "markers"
        self._case = CaseMarkers(language, not settings.joiners) if markers else truecaser

    @classmethod
    def load(
        cls, folder: str | Path, side: Side, settings: TextConfig, language: str = ""
    ) -> "TextPipeline":
        """Load the pipeline of one side of a prepared folder or a model folder.

        :param language: of the side; empty: that of the settings.
        :raises DataError: the model of subwords or truecasing cannot be read.
        """
        language = language or (settings.src_language if side == "src" else settings.tgt_language)
        tags = settings.tags if side == "src" else ()
        truecased = settings.case == "truecase"
        truecaser = load_truecaser(folder, side, language) if truecased else None
        is_source = side == "src"
        if settings.subwords == "none":
            return cls(language, settings, None, tags, truecaser, reads_source=is_source)
        limited = settings.vocabulary_threshold > 0
        subwords = load_subword_model(folder, side, settings.glossaries, limited)
        names = load_names(folder, side) if settings.copy_names else None
        return cls(language, settings, subwords, tags, truecaser, names, is_source)

    @cached_property
    def _tokenizer(self) -> Tokenizer:  # created on first use: few commands need both
        settings = self._settings
        return Tokenizer(
            self._language,
            hyphens=settings.hyphens,
            escape=settings.escape,
            protected=settings.protected,
            combining=settings.combining,
            joiners=settings.joiners,
        )

    @cached_property
    def _normalizer(self) -> Normalizer:
        settings = self._settings
        nfc, punctuation = settings.nfc, settings.punctuation
        return Normalizer(self._language, nfc, punctuation, self.rules)

    @cached_property
    def _detokenizer(self) -> Detokenizer:
        settings = self._settings
        # without `escape`, an entity is text; models without these settings always replaced it
        unescape = settings.escape or not (settings.joiners or settings.protected)
        return Detokenizer(self._language, unescape=unescape, joiners=settings.joiners)

    def readable_pair(self, src: str, tgt: str) -> tuple[str, str]:
        """Return the lines of a pair, with symbols in place of markup if models read these."""
        if self._settings.markup == "none":
            return src, tgt
        from nmtkit.text.markup_pieces import Markup
        from nmtkit.text.markup_symbols import symbol_pair

        tag, src = self.split_tag(src)
        src, tgt = symbol_pair(src, tgt, Markup(self._settings.markup))
        return f"{tag}{src}", tgt

    def words(self, line: str, tokenized: bool = False) -> str:
        """Return the words of a line, separated by blanks, before subword splitting.

        If the model reads raw text, this is the line itself.

        :param tokenized: the line is already tokenised, with whitespace between words.
        """
        tag, text = self.split_tag(line)
        words = self._words(text, tokenized)
        return f"{tag}{words}" if words.strip() or not tag else ""

    def _words(self, line: str, tokenized: bool) -> str:
        if self._settings.raw:
            return line if tokenized else self._raw_text(line)
        if tokenized or self._settings.tokenized:
            return " ".join(line.split())
        if self._settings.markup != "none":
            from nmtkit.text.markup_symbols import has_symbols

            if has_symbols(line):
                return " ".join(self._words_and_symbols(line))
        text = self._uncased_text(line)
        return self._case.apply(text) if self._case is not None and text else text

    def _raw_text(self, line: str) -> str:
        text = self._normalizer.normalize(line)
        return _BLANKS.sub(" ", text).strip(" ") if self._reads_source else text

    def _words_and_symbols(self, line: str) -> list[str]:
        """Return the words of a line with symbols of markup."""
        from nmtkit.text.markup_symbols import put_symbols, split_at_symbols, take_symbols

        plain, symbols = take_symbols(self._normalizer.normalize(line))
        split = partial(split_at_symbols, symbols=symbols, text=plain)
        words = self._cased(self._tokenizer.text(plain, split).split())
        return put_symbols(words, self.offsets(words, plain), symbols)

    def offsets(self, words: Sequence[str], text: str) -> list[tuple[int, int]]:
        """Return where words stand in their text; a tag of the models and markers stand nowhere."""
        from nmtkit.text.word_offsets import original_offsets, word_offsets  # start-up

        tags = self._leading_tag(words)
        shown = ["" if self.marks(word) else word for word in words[len(tags) :]]
        shown = ["-" if word == HYPHEN else word for word in shown]
        if self._settings.escape:
            import html  # start-up

            shown = [html.unescape(word) for word in shown]
        shown = [*("" for _ in tags), *shown]
        if self.rules is None:
            return word_offsets(shown, text)
        normalized, origins = self.rules.origins(text)
        return original_offsets(word_offsets(shown, normalized), origins)

    def _uncased_text(self, line: str) -> str:
        """Return the words of a raw line, separated by blanks, in the case of the text."""
        return self._tokenizer.text(self._normalizer.normalize(line))

    def as_read(self, text: str) -> str:
        """Return a text as the rules of the subword model write it; without any, as it is."""
        return text if self.rules is None else self.rules.normalize(text)

    def length(self, words: str) -> int:
        """Return the length of a line in words.

        In text that is not tokenised by hand, characters of scripts without blanks count as parts
        of words (`nmtkit.text.scripts`). Markers of spacing and case are not counted.

        :param words: the result of `words`.
        """
        if self._settings.tokenized:
            return len(words.split())
        if self._settings.joiners or self._settings.case == "markers":
            words = without_markers(words)
        return length_in_words(words)

    def pieces(self, words: str) -> str:
        """Split words into subwords if the model uses them; return tokens separated by blanks."""
        if self._subwords is None or not words:
            return words
        if words.isspace():
            return ""  # a blank line of raw text has no tokens
        tag, words = self.split_tag(words)
        return f"{tag}{self._subwords.apply_line(words.split(' '))}"

    def split_tag(self, line: str) -> tuple[str, str]:
        """Return the tag before a line with a blank after it, or "", and the rest of the line."""
        for tag in self.tags:
            if line.startswith(tag) and line[len(tag) :][:1].isspace():
                return f"{tag} ", line[len(tag) + 1 :]
        return "", line

    def with_tag(self, line: str, tag: str) -> str:
        """Return a line with a tag before it, unless it has one or `tag` is empty."""
        return f"{tag} {line}" if tag and not self.split_tag(line)[0] else line

    def tokens(
        self, line: str, tokenized: bool = False, names: Sequence[str] | None = None
    ) -> list[str]:
        """Return the tokens of a line, as in the model's vocabulary.

        :param tokenized: the line is already tokenised; only subwords are applied.
        :param names: words to replace by placeholders; by default those of `find_names`.
        """
        if not line or line.isspace():
            return []
        words = self.words(line, tokenized)
        text = self.pieces(self.masked(words, self.names_in(words) if names is None else names))
        return text.split(" ") if text else []

    def phrase_tokens(self, phrase: str) -> list[list[str]]:
        """Return the token sequences by which a phrase may stand in a line, each once.

        It may stand behind other text with a blank or without, in scripts without blanks always
        without.
        """
        variants = [self.tokens(phrase, names=())]
        if self._subwords is not None and variants[0]:
            spaced, inside = self._subwords.apply_behind(self.words(phrase).split(" "))
            variants = [inside] if unspaced_characters(phrase[:1]) else [*variants, spaced, inside]
        return [list(tokens) for tokens in dict.fromkeys(map(tuple, variants)) if tokens]

    def prefix(self, text: str, tokenized: bool = False, names: Sequence[str] = ()) -> "TextPrefix":
        """Return the tokens of the beginning of a line, which may end in the middle of a word.

        :param tokenized: the text is already tokenised.
        :param names: words for which placeholders stand in the line.
        """
        from nmtkit.text.prefix import Ending, TextPrefix  # rarely needed: start-up

        if not text.strip():
            return TextPrefix(text)
        if self._settings.raw:
            return self._raw_prefix(text, tokenized)
        words, last = self._prefix_words(text, tokenized)
        is_text = not (tokenized or self._settings.tokenized)
        tokens = self._pieces(self._cased(words) if is_text else words, names)
        if not last:
            return TextPrefix(text, tokens)
        forms = self._case.open_forms([*words, last]) if self._case and is_text else [[last]]
        endings = [
            Ending(tuple(markers), word.encode(errors="surrogatepass")) for *markers, word in forms
        ]
        begun = (n for n, name in enumerate(names[: len(PLACEHOLDERS)]) if name.startswith(last))
        endings += [Ending((PLACEHOLDERS[number],), b"") for number in begun]
        return TextPrefix(text, tokens, tuple(endings), last, self._pieces(forms[0], names))

    def _raw_prefix(self, text: str, tokenized: bool) -> "TextPrefix":
        """Return the prefix as pieces of raw text; the last word includes the blank before it."""
        from nmtkit.text.prefix import Ending, TextPrefix

        assert self._subwords is not None
        line = self._words(text.strip(), tokenized) + (" " if text[-1].isspace() else "")
        if not line.strip():  # normalisation removed all
            return TextPrefix(text)
        pieces = self._subwords.apply(line.split(" "))
        start = len(pieces) - self._subwords.open_pieces(pieces)
        tokens, last = pieces[:start], pieces[start:]
        spelling = b"".join(self._subwords.spelling(piece)[0] for piece in last)
        word = spelling.decode("utf-8", errors="replace")
        return TextPrefix(text, tokens, (Ending((), spelling),), word, last)

    def _prefix_words(self, text: str, tokenized: bool) -> tuple[list[str], str]:
        """Return the words of a prefix in the case of the text, and the last if it may go on."""
        if tokenized or self._settings.tokenized:
            words = text.split()
        elif text[-1] in OPEN_SIGNS:  # as they are split before a letter
            words = self._uncased_text(f"{text}{PROBE}").split(" ")
            words[-1] = words[-1].removesuffix(PROBE)
        else:
            words = self._uncased_text(text).split(" ")
        if text[-1].isspace():
            return words, ""
        return words[:-1], words[-1]

    def _cased(self, words: Sequence[str]) -> list[str]:
        text = " ".join(words)
        return (self._case.apply(text) if self._case is not None and text else text).split()

    def _pieces(self, words: Sequence[str], names: Sequence[str]) -> list[str]:
        return self.pieces(self.masked(" ".join(words), names)).split()

    def capitalized(self, phrase: str) -> str:
        """Return a phrase with a capital, as at the beginning of a sentence."""
        return capitalize(phrase, base_language(self._language))

    def word_boundaries(self, tokens: Iterable[str]) -> list[tuple[bool, bool]]:
        """Return for each token of the vocabulary whether it opens a word, and goes on with one.

        Two tokens belong to one word if the first opens and the second goes on.
        """
        model = self._subwords
        if model is None:
            return [(False, True) for _ in tokens]
        return [(model.opens(token), model.goes_on(token)) for token in tokens]

    def marks(self, token: str) -> bool:
        """Return whether a token is a marker, which shows no text."""
        settings = self._settings
        is_case = settings.case == "markers" and token in (CAPITAL, UPPER)
        return is_case or (settings.joiners and spacing(token) is not None)

    def spellings(self, tokens: Iterable[str]) -> list[tuple[bytes, bool]]:
        """Return for each token of the vocabulary its text, and whether its word may go on."""
        if self._subwords is None:
            return [(token.encode(), False) for token in tokens]
        return [self._subwords.spelling(token) for token in tokens]

    def find_names(self, line: str, tokenized: bool = False) -> list[str]:
        """Return the names and numbers of a source line that the model copies."""
        return self.names_in(self.words(line, tokenized)) if self.names is not None else []

    def names_in(self, words: str) -> list[str]:
        """Return the names in the words of a source line, separated by blanks, without its tag."""
        return [] if self.names is None else self.names.find(self.split_tag(words)[1].split(" "))

    @staticmethod
    def masked(words: str, names: Sequence[str], placeholders: Sequence[str] = PLACEHOLDERS) -> str:
        """Replace names by placeholders in words separated by blanks."""
        return " ".join(mask(words.split(" "), names, placeholders)) if names else words

    def line(self, tokens: Sequence[str], tokenized: bool = False) -> str:
        """Convert tokens to a line.

        :param tokenized: return tokenised text; only subwords are joined.
        """
        words = tokens if self._subwords is None else self._undo(tokens)
        return self.sentence(words, tokenized)

    def _undo(self, tokens: Sequence[str]) -> list[str]:
        """Join subwords to words; a tag is a word."""
        assert self._subwords is not None
        tags = self._leading_tag(tokens)
        return [*tags, *self._subwords.undo(tokens[len(tags) :])]

    def _leading_tag(self, tokens: Sequence[str]) -> Sequence[str]:
        """Return the first token if it is a tag, else nothing."""
        return tokens[:1] if self.tags and tokens and tokens[0] in self.tags else ()

    def join(self, tokens: Sequence[str]) -> tuple[list[str], list[int]]:
        """Return the words that tokens make, and for each token the index of its word."""
        if self._subwords is None:
            return list(tokens), list(range(len(tokens)))
        tags = self._leading_tag(tokens)
        words, indices = self._subwords.join(tokens[len(tags) :])
        return [*tags, *words], [*range(len(tags)), *(len(tags) + index for index in indices)]

    def sentence(self, words: Sequence[str], tokenized: bool = False) -> str:
        """Convert words to a line.

        :param tokenized: return tokenised text.
        """
        if tokenized or self._settings.tokenized or self._settings.raw:
            return " ".join(words)
        tags = self._leading_tag(words)
        words = words[len(tags) :]
        if self._settings.markup != "none":
            from nmtkit.text.markers import SYMBOLS
            from nmtkit.text.markup_symbols import insert_symbols

            parts = [word for word in words if word not in SYMBOLS]
            if len(parts) < len(words):
                text = self.sentence(parts)
                text = insert_symbols(words, self.offsets(parts, text), text)
                return " ".join([*tags, text])
        if self._case is not None:
            words = self._case.undo(words)
        return " ".join([*tags, self._detokenizer.detokenize(words)])
