"""Entry point of `python -m nmtkit`, `torchrun -m nmtkit` and profilers.

The process ends as any Python process does, with all clean-up of the interpreter.
"""

from nmtkit.cli.main import cli

if __name__ == "__main__":
    cli.main(prog_name="nmtkit")
