"""Jobs: durable background work, caused by events and committed with them.

A job's effect and its completion are one write, guarded by the attempt's fence:
tries repeat, effects do not. This room answers nobody's request.
"""
