"""Child processes: each starts through a launcher and cannot outlive the daemon.

`supervise.open_child` is the door. This room does not know what its children do.
"""
