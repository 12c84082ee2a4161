"""Exact answers and hard queries for tests of continuous collision detection."""
