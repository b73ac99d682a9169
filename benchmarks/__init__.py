"""How fast it is, each figure beside the least that bare SQLite needs for the same durable result.

``python -m benchmarks`` in the clone; ``--help`` says what there is. The
machines of two readers differ, so what counts is the ratio: both sides run in
turns, in one process, on the same disk, and what is shown are medians.
"""
