"""Broad phase: elements whose boxes overlap."""
