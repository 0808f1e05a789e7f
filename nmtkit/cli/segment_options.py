"""Options of `nmtkit translate` for translating long lines in segments."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from nmtkit.cli.command import gather, group, option
from nmtkit.cli.rules import Rule, exclusive, needs
from nmtkit.cli.shared_options import FILE, FOLDER

if TYPE_CHECKING:
    from nmtkit.inference.scorer import Scorer
    from nmtkit.inference.segmenter import Segmenter
    from nmtkit.inference.translator import Translator

SEGMENT_RULES: list[Rule] = [
    needs("--reverse-model", "--segment", "--confidence", "--min-confidence"),
    *(
        needs(name, "--segment")
        for name in (
            *("--max-segment", "--no-segment-penalty"),
            *("--segment-lengths", "--segments"),
        )
    ),
    needs(
        "--segment",
        "--reverse-model",
        "--segment forward",
        "--segment random",
        "--segment random-confidence",
    ),
    *(
        exclusive(f"--segment {method}", "--reverse-model")
        for method in ("forward", "random", "random-confidence")
    ),
    *(
        exclusive(f"--segment {method}", "--no-segment-penalty", because="it has no confidence")
        for method in ("random", "random-confidence")
    ),
    needs("--segment random", "--segment-lengths", because="--segments writes that file"),
    needs("--segment-lengths", "--segment random"),
]


@dataclass(frozen=True)
class SegmentOptions:
    """How lines are cut into segments.

    segment: "confidence", "forward", "random" or "random-confidence"; None: translate whole lines.
    reverse_models: model folders of the other direction.
    max_segment: longest segment in words; None: the default.
    no_segment_penalty: do not divide confidence by the logarithm of the length.
    segment_lengths: file with the segment lengths that random segments imitate.
    segments: file to write the segments to.
    """

    segment: str | None
    reverse_models: tuple[str, ...]
    max_segment: int | None
    no_segment_penalty: bool
    segment_lengths: str | None
    segments: str | None

    def reverse_scorer(self, batch_size: int, device: str, params: str) -> "Scorer | None":
        """Load the reverse models; return None if there are none.

        :param params: which parameters, "best" or "last".
        """
        if not self.reverse_models:
            return None
        from nmtkit.inference.scorer import Scorer
        from nmtkit.model_folder import shared_parameters

        params = shared_parameters(params)
        return Scorer.load(
            *self.reverse_models, device=device, batch_size=batch_size, params=params
        )

    def segmenter(
        self, translator: "Translator", reverse: "Scorer | None", seed: int
    ) -> "Segmenter":
        """Build the segmenter for these options."""
        from nmtkit.inference.segmenter import MAX_SEGMENT_WORDS, ConfidentSegmenter

        max_words = self.max_segment or MAX_SEGMENT_WORDS
        if self.segment in ("forward", "confidence"):
            penalty = not self.no_segment_penalty
            return ConfidentSegmenter(translator, reverse, max_words, penalty)
        from nmtkit.inference import random_segmenter as controls

        if self.segment_lengths:
            draw = controls.random_lengths(self.segment_lengths, max_words)
        else:
            draw = controls.with_random_confidences(max_words)
        return controls.RandomSegmenter(translator, draw, seed)


def segment_options(function: Any) -> Any:
    """Declare `--segment` and related options; the command gets them as `segmentation`."""
    return group(
        "Long lines",
        option(
            "--segment",
            is_flag=False,
            flag_value="confidence",
            metavar="[confidence|forward|random|random-confidence]",
            type=click.Choice(["confidence", "forward", "random", "random-confidence"]),
            help="Cut each line into the segments with the highest confidence in both directions,"
            " and translate them one by one, for models that fail on long sentences. 'confidence'"
            " may be left out. Three controls: 'forward' takes confidence from the model alone,"
            " without --reverse-model; 'random' draws segments of random lengths;"
            " 'random-confidence' takes those with the highest sum of random confidences.",
        ),
        option(
            "--reverse-model",
            "reverse_models",
            type=FOLDER,
            multiple=True,
            metavar="DIR",
            help="For --segment, --confidence and --min-confidence: model folder of the other"
            " direction. Repeatable; several form an ensemble.",
        ),
        option(
            "--max-segment",
            type=click.IntRange(min=1),
            metavar="N",
            help="Longest segment in words.  [default: 20]",
        ),
        option(
            "--no-segment-penalty",
            is_flag=True,
            help="Do not divide confidence by log(words + 2). Division makes short segments less"
            " confident.",
        ),
        option(
            "--segment-lengths",
            type=FILE,
            metavar="FILE",
            help="For --segment random: a file that --segments wrote. Random segments have the mean"
            " and the variance of its lengths.",
        ),
        option(
            "--segments",
            type=FILE,
            metavar="FILE",
            help="Write the segments of each line as a JSON list.",
        ),
    )(gather("segmentation", SegmentOptions)(function))
