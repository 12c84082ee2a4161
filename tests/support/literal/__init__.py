"""Printed formulas of the documents that the package does not use, beside their corrected forms."""
