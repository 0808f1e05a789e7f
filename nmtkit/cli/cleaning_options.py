"""Options of `nmtkit prepare` for cleaning the training data."""

import click

from nmtkit.cli.command import group, option
from nmtkit.cli.shared_options import FloatRange


def _parse_rules(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, float | bool | None]:
    if not texts:
        return {}
    from nmtkit.errors import ConfigError
    from nmtkit.preprocessing.rules import parse_rule, rule_limits

    try:
        rules = dict(map(parse_rule, texts))
        rule_limits("none", rules)
    except ConfigError as error:
        raise click.BadParameter(f"{error}.") from error
    return rules


cleaning_options = group(
    "Cleaning of training data",
    option(
        "--max-length",
        type=click.IntRange(min=1),
        default=100,
        metavar="N",
        common=True,
        help="Maximum words on a side. Subwords are not counted. In scripts without blanks,"
        " 2 ideographs, 3 kana or 5 letters of Thai and its like are a word.",
    ),
    option(
        "--max-ratio",
        type=FloatRange(min=1),
        default=9.0,
        metavar="R",
        help="Maximum ratio of the lengths of the two sides.",
    ),
    option("--dedup", is_flag=True, help="Drop repeated pairs."),
    option(
        "--near-dedup",
        type=click.Choice(["both", "src", "tgt"]),
        metavar="SIDE",
        help="Drop pairs that differ from an earlier one only in case, digits, punctuation and"
        " whitespace: on 'both' sides, or on 'src' or 'tgt' alone.",
    ),
    option(
        "--clean",
        type=click.Choice(["none", "safe", "strict"]),
        default="safe",
        metavar="PRESET",
        common=True,
        help="Rules on text: none, safe or strict. 'safe' drops practically no good pair, 'strict'"
        " drops more, 'none' leaves only the options above.",
    ),
    option(
        "--rule",
        "rules",
        multiple=True,
        callback=_parse_rules,
        metavar="NAME[=LIMIT]",
        help="Add a rule, or change its limit; NAME=off takes it out. Repeatable. Rules: mojibake,"
        " control, char-ratio, long-word, repeated, script, copied, letters, digits, markup,"
        " address, language.",
    ),
    option(
        "--leakage",
        type=click.Choice(["report", "drop", "drop-any"]),
        default="report",
        metavar="ACTION",
        help="Training pairs that also stand in --dev or --test: 'report' them; 'drop' those that"
        " stand there as a pair; 'drop-any' also those with one side there.",
    ),
    option(
        "--dry-run",
        is_flag=True,
        help="Write only the report of cleaning into DIR, and print its numbers.",
    ),
)
