"""Ray casting against thickened triangle surfaces."""
