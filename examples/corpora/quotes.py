"""One form of quotes and line ends for every text of the recipe.

The corpora write the apostrophe as ' or as the typographic one, in every mixture, and a tokenizer
tells `l'` from `l ’`: without one form a word has two entries in the vocabulary. The papers' data
were tokenised by a tokenizer.perl that maps U+2019 to '. What is normalised, and where, changes
BLEU (the French of newstest2014 has typographic apostrophes in 37 lines, that of 2012 and 2013
none), so it is done once and alike: training data, dev set, and both sides of the test set. The
published newstest2014 is kept beside it, untouched, for sacreBLEU on detokenised text.

- Apostrophes and single quotes ‘ ’ ‚ ‛ ʼ ´ become '; double quotes “ ” „ ‟ become ". The French « »
  stay: they are how the reference quotes.
- What ends a line for some programs but not for others (carriage return, vertical tab, form feed,
  U+001C to U+001E, U+0085, U+2028, U+2029) becomes a blank, \\r before \\n nothing: only \\n ends a
  line, and whoever counts lines in any manner counts alike.

Nothing else: other control characters, blank and long lines and what is no UTF-8 are the business
of `nmtkit select` and `nmtkit prepare`.
"""

_SINGLE = "‘’‚‛ʼ´"
_DOUBLE = "“”„‟"
_LINE_ENDS = "\u0085\u2028\u2029"
_CONTROLS = bytes.maketrans(b"\r\v\f\x1c\x1d\x1e", b"      ")

_REPLACED = [
    (character.encode(), by)
    for characters, by in ((_SINGLE, b"'"), (_DOUBLE, b'"'), (_LINE_ENDS, b" "))
    for character in characters
]


def normalized(text: bytes) -> bytes:
    """Whole lines, with quotes and line ends in one form; the number of lines stays as it is.

    :param text: UTF-8, as far as it is that: a byte that is none stays as it is.
    """
    text = text.replace(b"\r\n", b"\n").translate(_CONTROLS)
    for character, by in _REPLACED:
        text = text.replace(character, by)
    return text
