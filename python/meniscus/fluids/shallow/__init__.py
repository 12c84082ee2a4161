"""Shallow water."""
