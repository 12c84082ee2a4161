"""Particles."""
