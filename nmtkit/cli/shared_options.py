"""Options that several commands share."""

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nmtkit.cli import completion
from nmtkit.cli.command import GENERAL, HARDWARE, TEXT, group, option
from nmtkit.durations import parse_duration

if TYPE_CHECKING:
    StringType = click.ParamType[str]
    FloatType = click.ParamType[float]
else:
    StringType = FloatType = click.ParamType  # not generic before click 8.4


class PathName(click.Path):
    """A path with shell completion, which is checked when the command opens it.

    A missing or unsuitable file is thus a failure (status 1), not wrong usage (status 2).
    """

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Return the path unchanged."""
        return self.coerce_path_result(value)


class FloatRange(click.FloatRange):
    """A number in a range; click takes NaN, which is neither below nor above any bound, for one."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


class Duration(FloatType):
    """A time such as 90s, 30m or 1h30m, as seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds."""
        try:
            return parse_duration(str(value))
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


def _device_name(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Return the name of a device of a known form; whether it exists here is asked of torch."""
    if not re.fullmatch("auto|cpu|cuda(:[0-9]{1,4})?|mps", value):
        raise click.BadParameter(
            f"'{value}' is not one of auto, cpu, cuda, cuda:0, cuda:1, ..., mps."
        )
    return value


FILE = PathName()
FOLDER = PathName(file_okay=False)

OptionDecorator = Callable[[Any], Any]
"""Decorator that adds an option to a command's function."""

device_option = option(
    "--device",
    metavar="NAME",
    callback=_device_name,
    shell_complete=completion.devices,
    default="auto",
    envvar="NMTKIT_DEVICE",
    common=True,
    help="Device of the model. One of auto, cpu, cuda, cuda:1 (GPUs count from 0) and mps (a Mac's"
    " GPU). 'auto' is cuda if there is a GPU, or else cpu.",
)
MAX_THREADS = 1024
"""Each takes memory; no machine has more cores for one model."""

threads_option = option(
    "--threads",
    type=click.IntRange(0, MAX_THREADS),
    metavar="N",
    default=0,
    envvar="NMTKIT_THREADS",
    common=True,
    help="CPU cores; 0 is all. If OMP_NUM_THREADS is set, 0 is that number.",
)
batch_size_option = option(
    "--batch-size",
    type=click.IntRange(min=1),
    metavar="N",
    default=64,
    envvar="NMTKIT_BATCH_SIZE",
    help="Sentences of 25 to 50 tokens that the model processes together: more if they are shorter,"
    " fewer if they are longer. It affects speed only.",
)
workers_option = option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    default=lambda: os.cpu_count() or 1,
    show_default=False,
    envvar="NMTKIT_WORKERS",
    common=True,
    help="Number of processes. It affects speed only.  [default: all CPU cores]",
)
force_option = group(
    GENERAL,
    option("--force", is_flag=True, help="Replace existing output, which is otherwise an error."),
)

model_run_options = group(HARDWARE, device_option, threads_option, batch_size_option)
"""Options of commands that run a model on a stream of sentences."""


def model_option(help: str = "Model folder.", **settings: Any) -> OptionDecorator:
    """Declare `-m/--model DIR`."""
    settings = {"type": FOLDER, "metavar": "DIR", "common": True, "required": True, **settings}
    return option("-m", "--model", help=help, **settings)


def models_option(help: str, **settings: Any) -> OptionDecorator:
    """Declare `-m/--model DIR` that may be repeated: the parameter `models`."""
    settings = {"type": FOLDER, "metavar": "DIR", "common": True, "required": True, **settings}
    return option("-m", "--model", "models", multiple=True, help=help, **settings)


params_option = option(
    "--params",
    metavar="best|last|FILE",
    default="best",
    help="Parameters of every model: those of the best validation, those of the last, or of a"
    " single model those in a file, such as a checkpoint's.",
)
"""Option of commands that load a model folder: the parameter `params`."""


def output_option(help: str, **settings: Any) -> OptionDecorator:
    """Declare `-o/--output FILE`."""
    settings = {"type": FILE, "metavar": "FILE", "default": "-", "common": True, **settings}
    return option("-o", "--output", help=help, **settings)


def plot_option(help: str) -> OptionDecorator:
    """Declare `--plot FILE`: a picture, whose format the name's ending tells."""
    path = PathName(path_type=Path, dir_okay=False)
    help = f"{help}: .png, .svg or .pdf."
    return option("--plot", type=path, metavar="FILE", common=True, help=help)


def json_option(help: str) -> OptionDecorator:
    """Declare `--json`: the parameter `as_json`."""
    return option("--json", "as_json", is_flag=True, common=True, help=help)


def tokenized_option(help: str) -> OptionDecorator:
    """Declare `--tokenized`: the input is tokenised already."""
    return option("--tokenized", is_flag=True, common=True, help=help)


more_references_option = option(
    "--reference",
    "more_references",
    type=FILE,
    multiple=True,
    metavar="REF",
    common=True,
    help="Another reference of the same lines. Repeatable.",
)
tag_option = option(
    "--tag",
    metavar="TAG",
    help="Put TAG before each source line, a tag of 'nmtkit prepare --tag'. A line that begins with"
    " a tag of the model and a blank keeps its own. Alignments count it as the first word.",
)


def language_options(function: Any) -> Any:
    """Declare `-s` and `-t` of raw text: the parameters `src_language` and `tgt_language`."""
    options = (language_option(side, required=True) for side in ("src", "tgt"))
    return group(TEXT, *options)(function)


def language_option(side: str, help: str = "", required: bool = False) -> OptionDecorator:
    """Declare `-s/--src-language LANG` or `-t/--tgt-language LANG`."""
    word = {"src": "Source", "tgt": "Target"}[side]
    return option(
        f"-{side[0]}",
        f"--{side}-language",
        required=required,
        metavar="LANG",
        common=True,
        help=help
        or f"{word} language, such as de. It is a code of ISO 639, and may have a script"
        " or a region: zh-Hant, pt-BR.",
    )


invalid_option = option(
    "--invalid",
    type=click.Choice(["error", "drop"]),
    default="error",
    help="Lines that are not UTF-8: stop with an error, or drop their pair. In dev and test sets"
    " 'drop' keeps the line, with replacement characters.",
)


def averaging_options(function: Any) -> Any:
    """Declare `--weights` and `--average` of an ensemble: the parameters `weights`, `average`."""
    return group(
        "Ensemble",
        option(
            "--weights",
            callback=_numbers,
            metavar="W,W,...",
            help="Weights of the models, in the order of --model.  [default: equal]",
        ),
        option(
            "--average",
            type=click.Choice(["probabilities", "logs"]),
            default="probabilities",
            help="Average the probabilities of the next word over the models, or their logarithms.",
        ),
    )(function)


def _numbers(context: click.Context, parameter: click.Parameter, value: str | None) -> list[float]:
    try:
        return [float(number) for number in value.split(",")] if value else []
    except ValueError:
        raise click.BadParameter(f"'{value}' is not a list of numbers such as 0.6,0.4.") from None
