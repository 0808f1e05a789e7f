"""Installs nmtkit; everything that describes it stands in pyproject.toml."""

from setuptools import setup

setup()
