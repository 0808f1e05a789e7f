"""Neural machine translation from the papers that began it: train, translate, score, align."""

__version__ = "0.1.0"
