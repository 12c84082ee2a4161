"""Triangulations of points."""
