"""`nmtkit check`: a folder or file in, what is damaged and how to mend it out."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from nmtkit.cli.command import FILES, declare_command, group
from nmtkit.cli.shared_options import PathName, force_option, json_option, output_option
from nmtkit.errors import DataError, counted

if TYPE_CHECKING:
    from nmtkit.integrity.findings import CheckResult


@declare_command()
@click.argument("path", type=PathName(allow_dash=True))
@group(
    FILES,
    output_option("File of the findings."),
    json_option("Write the findings as JSON."),
)
@force_option
def command(path: str, output: str, as_json: bool, force: bool) -> None:
    """Check a prepared folder, a model folder, a phrase table or an n-best list for damage.

    Every file of PATH is compared with its checksum, as far as one was recorded, and read as the
    other commands read it; nothing is changed. A table or list may be '-' or compressed. A training
    that runs in a model folder is not disturbed, and what it replaces meanwhile is no damage.

    Each finding is one line: 'error' if content is lost or cannot be used, otherwise 'warning'; the
    file, and the line in it; what is wrong; and how to mend it. The last line is a summary. Files
    in a folder that do not belong to it are listed in the log and not read.

    The exit status is 0 if there are no errors, and 1 with a message on stderr if there are errors
    or PATH cannot be checked.

    Examples:
      nmtkit check prepared
      nmtkit check model --json | jq '.findings[].path'
      nmtkit check phrase-table.gz

    """
    from nmtkit.integrity.check import check
    from nmtkit.io.lines import open_output

    with open_output(output, force) as results:
        result = check(path)
        text = _format_json(result) if as_json else _format_text(result)
        results.write(text)
    if result.errors:
        first = next(finding for finding in result.findings if finding.severity == "error")
        count = counted(result.errors, "error")
        raise DataError(f"{first.location}: {first.problem}; {count}, which the findings explain")


def _format_text(result: "CheckResult") -> str:
    """Format a line for each finding, and the summary."""
    from nmtkit.cli.main import one_line

    lines = [f"{f.severity}: {f.location}: {f.problem}; {f.remedy}" for f in result.findings]
    return "".join(f"{one_line(line)}\n" for line in [*lines, _summary(result)])


def _summary(result: "CheckResult") -> str:
    files = counted(result.files, "file")
    counts = [counted(result.errors, "error"), counted(result.warnings, "warning")]
    found = ", ".join(count for count in counts if not count.startswith("0 ")) or "no errors"
    return f"{result.path}: {result.kind}, {files} checked, {found}"


def _format_json(result: "CheckResult") -> str:
    counts = {"errors": result.errors, "warnings": result.warnings}
    table: dict[str, Any] = {**asdict(result), **counts}
    return json.dumps(table, indent=2) + "\n"  # ASCII: the name of a file may not be UTF-8
