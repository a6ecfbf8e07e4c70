"""Models by name: what each provider has, what a name means, which one answers."""
