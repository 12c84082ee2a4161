"""Library of scenes."""
