"""Fluids on meshes for tests."""
