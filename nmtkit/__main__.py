"""`python -m nmtkit`, which is how `torchrun -m nmtkit` starts it, too, and profilers do: so the
process ends as any of Python does."""

from nmtkit.cli.main import cli

if __name__ == "__main__":
    cli.main(prog_name="nmtkit")
