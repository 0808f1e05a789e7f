"""Rules by which a training pair is dropped, of the kind of OpusFilter and bicleaner-hardrules.

A rule measures one number of a pair, such as the ratio of the lengths of its sides, and drops the
pair if the number is beyond a limit. `RULES` lists the rules in the order in which they are tried;
a pair is counted under the first that applies. The rules for invalid, empty, long and unequal pairs
come before them, and those for copies of earlier pairs after them (`cleaning.py`).

Rules read raw lines, not tokens, so that they do not depend on the segmentation. Their time is
bounded for any line: only its first `MAX_CHARACTERS` characters are read.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from nmtkit.errors import ConfigError
from nmtkit.preprocessing.line_language import probability_of_other_language
from nmtkit.preprocessing.scripts import foreign_letters
from nmtkit.preprocessing.text_measures import (
    MAX_UNIT,
    control_characters,
    copied_letters,
    damaged_characters,
    length_ratio,
    letters,
    letters_beside_addresses,
    longest_word,
    repetitions,
    share_of_common_digits,
    share_of_letters,
    unequal_markup,
)

MAX_CHARACTERS = 5_000
"""Characters of a line that rules read."""

Preset = Literal["none", "safe", "strict"]
"""Rules that apply unless single ones are chosen; "none": only the rules on lengths."""

RuleValue = float | bool | None
"""A rule's limit; True: the default limit; False or None: the rule does not apply."""


@dataclass(frozen=True)
class LinePair:
    """The raw lines of a pair, and the languages of its sides."""

    src: str
    tgt: str
    languages: tuple[str, str]

    def largest(self, measure: Callable[[str], float]) -> float:
        """Return the larger of a measure's values on the two sides."""
        return max(measure(self.src), measure(self.tgt))

    def smallest(self, measure: Callable[[str], float]) -> float:
        """Return the smaller of a measure's values on the two sides."""
        return min(measure(self.src), measure(self.tgt))


@dataclass(frozen=True)
class Rule:
    """A rule of cleaning.

    help: what is dropped, as in "pairs whose ...".
    measure: returns the number that is compared with the limit.
    default: limit if the rule is chosen by name.
    safe, strict: limits in these presets; None: the preset does not have the rule.
    least: drop below the limit instead of above it.
    """

    name: str
    help: str
    measure: Callable[[LinePair], float]
    default: float
    safe: float | None = None
    strict: float | None = None
    least: bool = False

    def drops(self, value: float, limit: float) -> bool:
        """Return whether a measured number is beyond the limit."""
        return value < limit if self.least else value > limit


def char_ratio(lines: LinePair) -> float:
    """Return the ratio of the lengths of the sides in letters; see `length_ratio`."""
    return length_ratio(lines.src, lines.tgt)


def mojibake(lines: LinePair) -> float:
    """Return the number of damaged characters on the worse side."""
    return lines.largest(damaged_characters)


def control(lines: LinePair) -> float:
    """Return the number of control characters on the worse side."""
    return lines.largest(control_characters)


def long_word(lines: LinePair) -> float:
    """Return the length of the longest word."""
    return lines.largest(longest_word)


def repeated(lines: LinePair) -> float:
    """Return the largest number of repetitions in succession of a unit with a letter."""
    return lines.largest(repetitions)


def copied(lines: LinePair) -> float:
    """Return the number of letters of a source that the target copies, else 0."""
    return copied_letters(lines.src, lines.tgt)


def script(lines: LinePair) -> float:
    """Return the share of letters of scripts that neither language uses, on the worse side."""
    pattern = foreign_letters(lines.languages)
    if pattern is None:
        return 0.0

    def share(line: str) -> float:
        foreign = 0 if line.isascii() else len(pattern.findall(line))
        return foreign / max(1, letters(line)) if foreign else 0.0

    return lines.largest(share)


def letter_share(lines: LinePair) -> float:
    """Return the share of letters on the worse side."""
    return lines.smallest(share_of_letters)


def digits(lines: LinePair) -> float:
    """Return the share of the digits that both sides have."""
    return share_of_common_digits(lines.src, lines.tgt)


def markup(lines: LinePair) -> float:
    """Return the number of tags and entities that only one side has."""
    return unequal_markup(lines.src, lines.tgt)


def address(lines: LinePair) -> float:
    """Return the number of letters beside addresses, on the worse side; infinity without any."""
    return lines.smallest(letters_beside_addresses)


def language(lines: LinePair) -> float:
    """Return the probability that a side is not in its language, on the worse side."""
    return max(map(probability_of_other_language, (lines.src, lines.tgt), lines.languages))


_MOJIBAKE = "with characters of a wrong encoding (more than LIMIT)"
_CONTROL = "with control characters (more than LIMIT)"
_RATIO = "with a side of over LIMIT times the other's letters"
_LONG_WORD = "with a word of over LIMIT characters"
_REPEATED = "in which something is repeated over LIMIT times in succession"
_SCRIPT = "with a share over LIMIT of letters from scripts that neither language uses"
_COPIED = "whose target copies a source of over LIMIT letters"
_LETTERS = "with a share of letters below LIMIT"
_DIGITS = "with a share of their digits in common below LIMIT"
_MARKUP = "with over LIMIT tags or entities that only one side has"
_ADDRESS = "with a URL or e-mail address and below LIMIT letters beside it"
_LANGUAGE = "of another language with a probability over LIMIT"

RULES = {
    rule.name: rule
    for rule in (
        # name, help, measure, limits: default, safe, strict
        Rule("mojibake", _MOJIBAKE, mojibake, 0, 0, 0),
        Rule("control", _CONTROL, control, 0, None, 0),
        Rule("char-ratio", _RATIO, char_ratio, 3, 10, 3),
        Rule("long-word", _LONG_WORD, long_word, 100, 400, 100),
        Rule("repeated", _REPEATED, repeated, 5, 10, 5),
        Rule("script", _SCRIPT, script, 0.3, 0.75, 0.3),
        Rule("copied", _COPIED, copied, 15, 50, 15),
        Rule("letters", _LETTERS, letter_share, 0.3, None, 0.3, least=True),
        Rule("digits", _DIGITS, digits, 0.5, None, 0.5, least=True),
        Rule("markup", _MARKUP, markup, 0, None, 0),
        Rule("address", _ADDRESS, address, 10, None, 10, least=True),
        Rule("language", _LANGUAGE, language, 0.9),
    )
}
"""Every rule by its name, in the order in which they are tried."""


_MIN_LENGTH = {"long-word": 1, "repeated": 1, "copied": 0}
"""Rules that need a shorter (0) or longer (1) side with more characters than their limit, which is
looked at first because it costs nothing."""


def rule_limits(preset: str, chosen: Mapping[str, RuleValue]) -> dict[str, float]:
    """Return the limits of the rules that apply, in the order of `RULES`.

    :param preset: "none", "safe" or "strict".
    :param chosen: rules by name that differ from the preset.
    :raises ConfigError: the preset or a rule is unknown, or a limit is negative or not finite.
    """
    if preset not in get_args(Preset):
        names = ", ".join(get_args(Preset))
        raise ConfigError(f"unknown cleaning preset '{preset}'; choose one of {names}")
    for name, value in chosen.items():
        _check_rule(name, value)
    limits = {}
    for name, rule in RULES.items():
        value = chosen.get(name, _preset_limit(rule, preset))
        if value is True:
            limits[name] = rule.default
        elif value is not None and value is not False:
            limits[name] = float(value)
    return limits


def _preset_limit(rule: Rule, preset: str) -> float | None:
    return {"none": None, "safe": rule.safe, "strict": rule.strict}[preset]


def _check_rule(name: str, value: RuleValue) -> None:
    if name not in RULES:
        raise ConfigError(f"unknown rule '{name}'; choose from {', '.join(RULES)}")
    if value is not None and not 0 <= value < math.inf:
        raise ConfigError(f"the limit of the rule {name} must be a number from 0, not {value:g}")


def parse_rule(text: str) -> tuple[str, RuleValue]:
    """Parse NAME, NAME=LIMIT or NAME=off.

    :raises ConfigError: the limit is no number.
    """
    name, has_value, value = text.partition("=")
    if not has_value or value == "on":
        return name, True
    if value == "off":
        return name, False
    try:
        return name, float(value)
    except ValueError:
        raise ConfigError(
            f"'{text}' is no rule; write NAME, NAME=LIMIT with a number, or NAME=off"
        ) from None


def repeating_lines(sides: Sequence[Sequence[str]], limit: float) -> frozenset[int]:
    """Return the indices of pairs that may break the rule `repeated`; all others do not.

    This looks at all lines of a block at once: of a unit that stands in succession, each character
    equals the one that is a unit's length further on.
    """
    import numpy as np  # takes a tenth of a second

    found: set[int] = set()
    for lines in sides:
        text = "".join(f"{line[:MAX_CHARACTERS]} \n" for line in lines)
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        short = (codes ^ (codes >> 8)).astype(np.uint8)
        ends = np.flatnonzero(codes == ord("\n"))
        for period in range(1, min(MAX_UNIT + 1, len(short))):
            run = short[period:] == short[:-period]
            size, wanted = 1, max(1, math.floor(limit) * period)
            while size < wanted and len(run) > min(size, wanted - size):
                step = min(size, wanted - size)
                run = run[step:] & run[:-step]
                size += step
            if size >= wanted:
                found.update(np.searchsorted(ends, np.flatnonzero(run)).tolist())
    return frozenset(found)


def broken_rule(lines: LinePair, limits: Mapping[str, float]) -> tuple[str, float] | None:
    """Return the first rule that drops a pair and the number that it measured, or None."""
    if max(len(lines.src), len(lines.tgt)) > MAX_CHARACTERS:
        src, tgt = lines.src[:MAX_CHARACTERS], lines.tgt[:MAX_CHARACTERS]
        lines = LinePair(src, tgt, lines.languages)
    short, long = sorted((len(lines.src), len(lines.tgt)))
    for name, limit in limits.items():
        if name in _MIN_LENGTH and (short, long)[_MIN_LENGTH[name]] <= limit:
            continue
        rule = RULES[name]
        value = rule.measure(lines)
        if rule.drops(value, limit):
            return name, value
    return None
