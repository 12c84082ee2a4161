"""Liquids with a level set."""
