"""Options of `nmtkit translate` for files of other formats, translated in place."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from nmtkit.cli.command import FILES, gather, group, option
from nmtkit.cli.console import warn
from nmtkit.cli.rules import Rule, excludes, needs

if TYPE_CHECKING:
    from typing import BinaryIO

    from nmtkit.inference.translator import Translator
    from nmtkit.parallel.process_group import ProcessGroup

FORMATS = (
    "auto",
    "html",
    "po",
    "xliff",
    "tmx",
    "tsv",
    "srt",
    "md",
    "docx",
    "odt",
    "pptx",
    "odp",
    "epub",
    "xlsx",
)

DOCUMENT_RULES: list[Rule] = [
    *excludes(
        "--format",
        *("--n-best", "--sample", "--scores", "--counts", "--json", "--alignments"),
        *("--confidence", "--min-confidence", "--prefix"),
        because="the output is the file, translated",
    ),
    *excludes("--format", "--markup", because="a format says what markup is"),
    *excludes("--format", "--tokenized", "--segment", because="sentences are found in raw text"),
    *excludes("--format", "--replace-unk", because="unknown words are aligned, too"),
    *(needs(name, "--format") for name in ("--columns", "--reviewed", "--retranslate")),
]


@dataclass(frozen=True)
class FormatOptions:
    """How a file is translated in place.

    format: one of `FORMATS`, or None: translate lines of text.
    columns: of TSV, source and target. reviewed, retranslate: see `translate_document`.
    """

    format: str | None
    columns: tuple[int, int] | None
    reviewed: bool
    retranslate: bool

    def for_file(self, source: str) -> "FormatOptions":
        """Return the options with the format of a file in place of "auto".

        :raises click.UsageError: the name of the file tells no format, or an option is for another
            format.
        """
        format = self.format
        if format == "auto":
            from nmtkit.inference.document import format_of

            format = format_of(source)
            if format is None:
                names = ", ".join(FORMATS[1:])
                raise click.UsageError(
                    f"the ending of '{source}' names no format; give --format and one of {names}."
                )
        if self.columns and format not in (None, "tsv"):
            raise click.UsageError(f"--columns is for --format tsv, not for {format}.")
        for name, is_given in (("reviewed", self.reviewed), ("retranslate", self.retranslate)):
            if is_given and format not in (None, "po", "xliff"):
                raise click.UsageError(f"--{name} is for --format po and xliff, not for {format}.")
        return replace(self, format=format)

    def translate(
        self,
        source: str,
        translator: "Translator",
        protect: tuple[str, ...],
        output: "BinaryIO",
        process_group: "ProcessGroup",
    ) -> None:
        """Translate a file, and write it; warn of what was left as it is.

        :param protect: sources of patterns; see `read_patterns`.
        """
        from nmtkit.inference.document import translate_document
        from nmtkit.inference.markup_translator import read_patterns
        from nmtkit.io.lines import read_data
        from nmtkit.io.text_content import shown_name

        assert self.format is not None
        name = shown_name(source)
        data = process_group.broadcast(lambda: read_data(source))
        result = translate_document(
            data,
            self.format,
            translator,
            name=name,
            protect=read_patterns(protect),
            columns=self.columns or (1, 1),
            reviewed=self.reviewed,
            retranslate=self.retranslate,
            process_group=process_group,
        )
        output.write(result.data)
        for line, message in result.warnings:
            warn(f"{name}:{line}: {message}")


def document_options(function: Any) -> Any:
    """Declare `--format` and related options; the command gets them as `document`."""
    return group(
        FILES,
        option(
            "--format",
            type=click.Choice(FORMATS),
            metavar="FORMAT",
            common=True,
            help="Translate a file in place: html, xliff, docx and others. They are html, po,"
            " xliff, tmx, tsv, srt, md, docx, odt, pptx, odp, epub, xlsx; all else in the file is"
            " kept, and 'auto' chooses by the ending of its name.",
        ),
        option(
            "--columns",
            type=(click.IntRange(min=1), click.IntRange(min=1)),
            metavar="SRC TGT",
            help="For --format tsv: translate column SRC into column TGT, if that is empty or the"
            " line ends before it; the same number twice translates in place.  [default: 1 1]",
        ),
        option(
            "--reviewed",
            is_flag=True,
            help="For --format po and xliff: do not mark translations as in need of a review.",
        ),
        option(
            "--retranslate",
            is_flag=True,
            help="For --format po and xliff: also translate what is marked as in need of a review.",
        ),
    )(gather("document", FormatOptions)(function))
