"""Training: the driver, the loop, checkpoints, validation, metrics and stop signals."""
