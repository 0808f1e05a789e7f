"""Evaluation: corpus metrics, buckets, bootstrap tests and alignment error rate."""
