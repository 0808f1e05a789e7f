"""`nmtkit phrase-table`: commands for phrase tables of Moses."""

from nmtkit.cli.command_group import LazyGroup

COMMANDS = {
    "score": ("nmtkit.cli.phrase_table.score", "Add a model's scores to a phrase table."),
    "report": ("nmtkit.cli.phrase_table.report", "Compare a phrase table with a model."),
}

command = LazyGroup(
    name="phrase-table",
    lazy_commands=COMMANDS,
    help="""Score phrase tables of Moses, and compare them with a model.

    Train a model on the table with 'nmtkit prepare --phrase-table' and 'nmtkit train --recipe
    phrase-rnn' (Cho et al. 2014).

    Examples:
      nmtkit phrase-table score -m rnn phrase-table.gz -o with-rnn.gz
      nmtkit phrase-table report -m rnn phrase-table.gz -o report
    """,
)
