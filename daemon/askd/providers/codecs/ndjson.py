"""Newline-delimited JSON out of bytes: the text of each record, incrementally.

The lines are those of `lines`, with the same caps; empty ones are no records. It
parses nothing: what a record must hold is the dialect's to say. A last line
without its end is no record either: a stream that was cut is never complete.
"""

from askd.providers.codecs.lines import LineSplitter


class RecordSplitter:
    """Bytes in, whole records out; what is incomplete is kept, and lost at the end."""

    def __init__(self, provider: str = "") -> None:
        self._lines = LineSplitter(provider)

    def feed(self, data: bytes) -> list[str]:
        """Every record that is whole after these bytes; bytes that are no text become U+FFFD.

        Raises:
            BadAnswer: a line or the stream is over its cap.
        """
        lines = (line.strip(b" \t") for line in self._lines.feed(data))
        return [line.decode("utf-8", "replace") for line in lines if line]
