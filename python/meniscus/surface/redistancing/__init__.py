"""Redistancing and extension of fields."""
