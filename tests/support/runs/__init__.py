"""Runs of scenes as processes of their own."""
