"""Springs."""
