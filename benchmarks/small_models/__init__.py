"""Has a real Hermes compact a conversation with a small model on this machine as its summariser."""
