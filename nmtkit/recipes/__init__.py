"""Settings that come with the package: one TOML file for each named recipe."""
