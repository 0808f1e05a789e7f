"""`python -m nmtkit`, which is how `torchrun -m nmtkit` starts it, too."""

from nmtkit.cli.main import main

if __name__ == "__main__":
    main()
