"""Cloth that remeshes as it folds."""
