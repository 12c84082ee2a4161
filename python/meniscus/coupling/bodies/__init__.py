"""Thick bodies that a fluid moves: a fluid and a world of solids in one step."""
