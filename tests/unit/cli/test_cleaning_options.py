"""The options of cleaning name what there is."""

from nmtkit.cli.prepare import command
from nmtkit.preprocessing.rules import RULES


def test_the_help_lists_every_rule() -> None:
    (rule,) = (parameter for parameter in command.params if parameter.name == "rules")
    listed = rule.to_info_dict()["help"].partition("Rules: ")[2].rstrip(".")
    assert listed.split(", ") == list(RULES)
