"""A rollout with other words: line by line, as `rewriting` does it for events.

Pure. A line that holds nothing of what is looked for stays byte for byte, torn
and foreign ones too. Content that stands in a line as base64 is rewritten and
gets its new digest, which the lines after it name.
"""

import base64
import hashlib
import json

from askd.core.event_lines import decode_blob
from askd.core.records import Json
from askd.core.rewriting import Rewrite, rewrite_fields, rewrite_record
from askd.core.rollout import BLOB_LINE, EVENT_LINE
from askd.core.rollout_lines import encode_line
from askd.core.scrubbing import Scrub


def scrub_lines(content: bytes, scrub: Scrub) -> bytes:
    """A rollout's content without a secret; itself if it holds none."""
    blobs: dict[str, tuple[str, int]] = {}
    rewrite = Rewrite(
        text=scrub.replace,
        token=scrub.replace_token,
        name=scrub.replace,
        blobs=blobs,
    )
    lines = content.split(b"\n")
    return b"\n".join(_scrub_line(line, scrub, rewrite, blobs) for line in lines)


def _scrub_line(
    line: bytes, scrub: Scrub, rewrite: Rewrite, blobs: dict[str, tuple[str, int]]
) -> bytes:
    text = line.decode("utf-8", "replace")
    is_blob = BLOB_LINE in text
    if not (is_blob or scrub.may_stand_in(text) or any(sha256 in text for sha256 in blobs)):
        return line
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return scrub.replace_bytes(line)
    if not isinstance(record, dict):
        return scrub.replace_bytes(line)
    changed = _scrub_record(record, scrub, rewrite, blobs)
    scrubbed = line if changed == record else encode_line(changed)[:-1]
    # What crosses the bounds of a value is left: such a line is of use to nobody as JSON.
    return scrub.mask_bytes(scrubbed)


def _scrub_record(
    record: dict[str, Json], scrub: Scrub, rewrite: Rewrite, blobs: dict[str, tuple[str, int]]
) -> dict[str, Json]:
    payload = record.get("payload")
    match record.get("type"):
        case str() as kind if kind == EVENT_LINE and isinstance(payload, dict):
            told = {**payload, "event": rewrite_record(payload.get("event"), rewrite)}
            return {**record, "payload": told}
        case str() as kind if kind == BLOB_LINE:
            try:
                sha256, content = decode_blob(payload)
            except ValueError:
                return rewrite_fields(record, rewrite)
            return {**record, "payload": _scrub_blob(sha256, content, scrub, blobs)}
        case _:
            return rewrite_fields(record, rewrite)


def _scrub_blob(
    sha256: str, content: bytes, scrub: Scrub, blobs: dict[str, tuple[str, int]]
) -> dict[str, Json]:
    changed = scrub.replace_bytes(content)
    digest = sha256
    if changed != content:
        digest = hashlib.sha256(changed).hexdigest()
        blobs[sha256] = (digest, len(changed))
    return {"sha256": digest, "base64": base64.b64encode(changed).decode()}
