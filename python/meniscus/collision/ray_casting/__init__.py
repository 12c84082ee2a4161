"""Ray casting and visibility against thickened triangle surfaces."""
