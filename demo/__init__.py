"""The demonstration: a conversation of our own, a scripted model, and what runs them.

Nothing here is needed by the plugin, nothing of it is installed. Everything but
``drive`` and ``config_edit``, which run inside a Hermes environment, needs the
standard library only, so that it can run before anything is installed.
"""
