"""What liquids exchange with other representations of water: drops, regions, volume and momentum."""
