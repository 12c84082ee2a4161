"""Spray, foam and bubbles."""
