"""Pictures of fluids beside thin shells: surfaces and rays that see one side at a time."""
