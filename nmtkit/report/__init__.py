"""Figures, the HTML report and model cards."""
