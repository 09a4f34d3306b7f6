"""The hub over HTTP: the public API under `/v1`, and the six legs of the nodes under `/v1/node`."""
