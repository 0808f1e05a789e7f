"""Defaults of the switches of text, which depend on its kind."""

from typing import TypedDict


class TextSwitches(TypedDict):
    """Switches of `TextConfig` with defaults for new prepared folders."""

    nfc: bool
    protected: bool
    combining: bool
    joiners: bool
    copy_names: bool


def switches_asked(**switches: bool | None) -> tuple[str, ...]:
    """Return the names of the switches that are on by the user's wish."""
    return tuple(name for name, value in switches.items() if value)


def text_switches(
    words_given: bool,
    words_split: bool,
    nfc: bool | None = None,
    protected: bool | None = None,
    joiners: bool | None = None,
    copy_names: bool | None = None,
) -> TextSwitches:
    """Return the switches of text; None stands for the default.

    :param words_given: the text is tokenised already, or is not tokenised at all: it is left as it
        is unless a switch is on.
    :param words_split: BPE splits words that have their capitals, so that names can be copied.
    """
    default = not words_given
    return {
        "nfc": default if nfc is None else nfc,
        "protected": default if protected is None else protected,
        "combining": default,
        "joiners": default if joiners is None else joiners,
        "copy_names": words_split if copy_names is None else copy_names,
    }
