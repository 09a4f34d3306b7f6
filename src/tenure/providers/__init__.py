"""Where Effects land: one port, an adapter for each kind of provider."""
