"""Position based dynamics."""
