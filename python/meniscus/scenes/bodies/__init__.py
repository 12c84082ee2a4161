"""Bases of scenes of several bodies."""
