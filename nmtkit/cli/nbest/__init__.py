"""`nmtkit nbest`: commands for n-best lists of Moses."""

from nmtkit.cli.command_group import LazyGroup

COMMANDS = {
    "score": ("nmtkit.cli.nbest.score", "Add a model's scores to an n-best list."),
    "rerank": ("nmtkit.cli.nbest.rerank", "Write the best hypotheses of an n-best list."),
    "tune": ("nmtkit.cli.nbest.tune", "Tune the weights of the features of an n-best list."),
}

command = LazyGroup(
    name="nbest",
    lazy_commands=COMMANDS,
    help="""Score, rerank and tune n-best lists of Moses.

    A list has lines as Moses writes them, and may be '-' for stdin, or compressed:

      NUMBER ||| HYPOTHESIS ||| LM0= -44.02 TM0= -9.1 -12.6 ||| TOTAL

    Example:
      nmtkit nbest score -m cslm moses.100best.gz -o rescored.gz
      nmtkit nbest tune rescored.dev.gz dev.fr --start moses.ini -o tuned
      nmtkit nbest rerank rescored.gz --weights-file tuned -o test.fr
    """,
)
