"""Solver for liquids whose surface is a level set."""
