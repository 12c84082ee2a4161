"""Barrier energies that grow without limit as surfaces come near each other, and lagged friction."""
