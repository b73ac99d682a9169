"""What a person can see: the command line and ``/lcm`` in a chat.

Knows the store and the tools, not the host. What only a host knows (is the engine active, how
large is the window) comes in as *facts*.
"""
