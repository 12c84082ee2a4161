"""Extraction and measures of level-set surfaces."""
