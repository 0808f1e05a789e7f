"""Fast twins of the models' plain implementations; see `models/kernels.py` for the choice."""
