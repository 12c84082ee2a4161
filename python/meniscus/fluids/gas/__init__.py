"""Smoke and hot gas."""
