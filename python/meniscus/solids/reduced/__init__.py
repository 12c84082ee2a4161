"""Reduced deformable models."""
