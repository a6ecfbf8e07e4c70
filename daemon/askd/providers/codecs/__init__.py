"""The dialects as pure codecs: requests to bytes, bytes to events. Nothing is opened here."""
