"""The one way out: connections, time limits, retries, rate limits; no secret comes back in."""
