"""Procedural flows and emitters."""
