"""A file a claim: what the house promises under a fault, and the control that must break it."""
