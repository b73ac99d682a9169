"""Conversations replayed request by request, through lcm and through Hermes's own compressor.

Both sides walk the same rows, are asked to compact at the same size, keep a tail of the same size
and have their summaries written by the same stub; one counter counts for both, one validator that
knows the code of neither judges both. The compressor's side runs in a process of the host's Python.
"""
