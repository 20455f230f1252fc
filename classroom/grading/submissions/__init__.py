"""Finding submissions and reading them, without running anything."""
