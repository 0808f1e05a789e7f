"""Options of `translate` for lines that are translated in segments, and what they mean."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from nmtkit.inference.segmenter import Segmenter
    from nmtkit.inference.translator import Translator

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Segmenting:
    """How lines are segmented; `how` is None where they are not.

    longest: words of a segment, None where that is not given.
    lengths: the file that says how long random segments are.
    segments: where the chosen ones are written.
    """

    how: str | None
    reverse_models: tuple[str, ...]
    longest: int | None
    lengths: str | None
    segments: str | None

    def check(self, others: dict[str, Any], output: str) -> None:
        """Refuse options that need others, or exclude them.

        :param others: options that are not for segments, and what was given.
        :param output: the file of the translations.
        """
        wrong = self._wrong_alone() or self._wrong_among(others, output)
        if wrong:
            raise click.UsageError(wrong)

    def _wrong_alone(self) -> str | None:
        given = {
            "--reverse-model": self.reverse_models,
            "--max-segment": self.longest,
            "--segment-lengths": self.lengths,
            "--segments": self.segments,
        }
        if self.how is None:
            return next((f"{name} is for --segment." for name, v in given.items() if v), None)
        if self.how == "confidence" and not self.reverse_models:
            return "--segment needs a --reverse-model, which translates back."
        if self.how != "confidence" and self.reverse_models:
            return f"--segment {self.how} has no use for a --reverse-model; leave it out."
        if self.how == "random" and not self.lengths:
            return (
                "--segment random needs --segment-lengths: the FILE that 'translate --segment"
                " --segments FILE' wrote."
            )
        if self.how != "random" and self.lengths:
            return "--segment-lengths is for --segment random."
        return None

    def _wrong_among(self, others: dict[str, Any], output: str) -> str | None:
        if self.how is None:
            return None
        if self.segments == output:
            return "--output and --segments need different files."
        exclude = next((name for name, value in others.items() if value), None)
        return f"--segment and {exclude} exclude each other." if exclude else None

    def segmenter(
        self, translator: "Translator", batch_size: int, device: str, seed: int
    ) -> "Segmenter":
        """What translates in segments."""
        from nmtkit.inference import segmenter as driver
        from nmtkit.inference.scorer import Scorer

        longest = self.longest or driver.MAX_SEGMENT_WORDS
        if self.how == "confidence":
            reverse = Scorer.load(*self.reverse_models, device=device, batch_size=batch_size)
            return driver.ConfidentSegmenter(translator, reverse, longest)
        if self.lengths:
            return driver.RandomSegmenter(
                translator, driver.random_lengths(self.lengths, longest), seed
            )
        return driver.RandomSegmenter(translator, driver.with_random_confidences(longest), seed)


def segment_options(function: Function) -> Function:
    """`--segment` and all that belongs to it: the one parameter `segmenting`."""

    @functools.wraps(function)
    def command(
        *arguments: Any,
        segment: str | None,
        reverse_models: tuple[str, ...],
        max_segment: int | None,
        segment_lengths: str | None,
        segments: str | None,
        **others: Any,
    ) -> Any:
        segmenting = Segmenting(segment, reverse_models, max_segment, segment_lengths, segments)
        return function(*arguments, segmenting=segmenting, **others)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command  # type: ignore[return-value]


_OPTIONS: list[Callable[[Function], Function]] = [
    click.option(
        "--segment",
        is_flag=False,
        flag_value="confidence",
        metavar="[random|random-confidence]",
        type=click.Choice(["confidence", "random", "random-confidence"]),
        help="Cut each line into the segments that are translated with the largest confidence in"
        " both directions, and translate these one by one: for models that fail at long sentences."
        " 'random' cuts anywhere, 'random-confidence' at the largest total of random numbers; both"
        " are for comparing.",
    ),
    click.option(
        "--reverse-model",
        "reverse_models",
        multiple=True,
        metavar="DIR",
        help="For --segment: a model that translates back; several are an ensemble.",
    ),
    click.option(
        "--max-segment",
        type=click.IntRange(min=1),
        metavar="N",
        help="Words of a segment at most.  [default: 20]",
    ),
    click.option(
        "--segment-lengths",
        metavar="FILE",
        help="For --segment random: what --segments wrote before; random segments have the mean and"
        " the variance of the lengths of those.",
    ),
    click.option(
        "--segments",
        metavar="FILE",
        help="Write the chosen segments of each line: a list in JSON.",
    ),
]
