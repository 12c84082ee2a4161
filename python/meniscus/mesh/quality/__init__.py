"""Quality of elements."""
