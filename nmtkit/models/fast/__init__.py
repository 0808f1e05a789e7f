"""Fast twins of the models' plain pieces; see `models/kernels.py` for the choice."""
