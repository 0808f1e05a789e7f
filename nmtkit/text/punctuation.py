"""Punctuation at the ends of sentences, in the scripts of the world.

The constants are contents of character classes of regular expressions. The signs are those of
scripts in use with Unicode's property Sentence_Terminal, except the Burmese ၊, which is a comma;
the Tibetan shad, which has not got it, ends a clause and is as good a place.
"""

from functools import lru_cache

SENTENCE_SIGNS = (
    ".!?…\u037e\u0589\u061d-\u061f\u06d4\u0700-\u0702\u07f9\u0837\u0839\u083d\u083e\u0964\u0965"
    "\u1362\u1367\u1368\u166e\u1735\u1736\u1803\u1809\u1944\u1945\u1aa8-\u1aab\u1b5a\u1b5b\u1b5e"
    "\u1b5f\u1c3b\u1c3c\u1c7e\u1c7f\u203c\u203d\u2047-\u2049\u2e2e\ua4ff\ua60e\ua60f\ua6f3\ua6f7"
    "\ua876\ua877\ua8ce\ua8cf\ua92f\ua9c8\ua9c9\uaa5d-\uaa5f\uaaf0\uaaf1\uabeb\U00011047\U00011048"
    "\U000110be-\U000110c1\U00011141-\U00011143"
)
"""Signs that end a sentence if a blank follows."""

UNSPACED_SIGNS = "。！？｡\ufe12\ufe15\ufe16\ufe56\ufe57\u104b\u17d4\u17d5"
"""Signs that end a sentence without a blank: Chinese, Japanese, Burmese, Khmer."""

WIDE_STOP = "．"
"""Sign that ends sentences like `。`, and also stands in numbers and behind those of items."""

SHADS = "\u0f0d-\u0f12\u0f14"
"""The Tibetan shad and its forms."""

CLOSING_QUOTES = "\"'”’»›)\\]}】」』》〉〕）］｝｣"
"""Quotation marks and brackets that close; straight ones may open, too."""

QUOTES_BEHIND_SIGNS = f"“‘«‹{CLOSING_QUOTES}"
"""Those that close, and those that do so in some languages, as in German."""

DIRECTION_MARKS = "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
"""Invisible characters without a width, which may stand behind a sentence."""

_MORE_SIGNS = {"el": ";", "hy": ":", "hyw": ":"}
"""Signs of one language alone, as keyboards write them: the Greek question mark, and the Armenian
full stop."""


@lru_cache(maxsize=16)
def sentence_signs(language: str) -> str:
    """Return the signs that end a sentence of a language if a blank follows."""
    return SENTENCE_SIGNS + _MORE_SIGNS.get(language, "")
