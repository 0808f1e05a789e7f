"""Normalise quotes and line ends in every text of the example.

The corpora write the apostrophe as ' or as the typographic one, in every mixture, and a tokenizer
distinguishes `l'` from `l ’`: without normalisation a word has two vocabulary entries. The papers
do not mention it; among the code of Jean et al. 2015 is a tokenizer.perl that maps U+2019 to '.
Normalisation changes BLEU (the French of newstest2014 has typographic apostrophes in 37 lines, 2012
and 2013 have none), so training data, dev set and both sides of the test set are treated alike. The
published newstest2014 is kept unchanged beside it, for sacreBLEU on detokenised text.

- Apostrophes and single quotes ‘ ’ ‚ ‛ ʼ ´ become '; double quotes “ ” „ ‟ become ". The French « »
  stay, since the reference quotes with them.
- Characters that only some programs take for line ends (carriage return, vertical tab, form feed,
  U+001C to U+001E, U+0085, U+2028, U+2029) become a space, \r before \n is removed: only \n ends a
  line, so that all programs count the same lines.

Nothing else is changed: `nmtkit select` and `nmtkit prepare` handle other control characters, blank
and long lines and invalid UTF-8.
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
    """Return whole lines with normalised quotes and line ends, and the same number of lines.

    :param text: UTF-8; invalid bytes stay as they are.
    """
    text = text.replace(b"\r\n", b"\n").translate(_CONTROLS)
    for character, by in _REPLACED:
        text = text.replace(character, by)
    return text
