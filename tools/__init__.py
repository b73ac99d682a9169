"""What the agent may ask."""
