"""Sample points of elements."""
