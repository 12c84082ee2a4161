"""Solver for smoke and hot gas, with its forces and options."""
