"""The agent's face: what an agent may ask of its own Task, as tools of the Model Context Protocol."""
