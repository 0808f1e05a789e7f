"""Preprocessing: prepare a folder of training data, clean it, split it, and select pairs."""
