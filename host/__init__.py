"""What Hermes calls: the engine, and the only place that knows Hermes."""
