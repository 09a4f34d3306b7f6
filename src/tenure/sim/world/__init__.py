"""A world that holds all parts by their ports: one loop in virtual time, machines, a network, providers, people."""
