"""Response to contact: nodes behind vertices, repulsion."""
