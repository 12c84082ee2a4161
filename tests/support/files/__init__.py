"""Readers of files, apart from those of the package."""
