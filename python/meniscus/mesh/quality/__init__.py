"""Quality measures of elements."""
