"""Penalty response of tetrahedral bodies."""
