"""Scenes of cloth that remeshes as it folds."""
