"""Adapting a trained model to a user's corrections, or to a small domain, in minutes."""
