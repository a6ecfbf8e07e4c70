"""Renders `docs/reference/protocol.md` from `ask.protocol.messages` and the core's events.

Run `python -m tests.house.protocol_page` to write it. Methods, parameters,
results, notifications, events, limits and errors come from the code; only the
sentences that frame them are written here.
"""

import dataclasses
import inspect
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from ask.protocol import CAPABILITIES, PROTOCOL, messages
from ask.protocol.frames import REQUEST_MEMBER_LIMIT
from ask.protocol.messages import METHODS, NOTIFICATIONS
from askd.core import items
from askd.core.events import VERSION, Body, UnknownBody
from tests.house.pages import REFERENCE, render_table, write_page

PATH = REFERENCE / "protocol.md"

HEAD = f"""\
# The protocol

Version {PROTOCOL}. `askd` listens on a Unix stream socket, the path is in its owner's file and in
`ask daemon status`. Messages are [MessagePack-RPC](https://github.com/msgpack-rpc/msgpack-rpc):

| message | shape |
| --- | --- |
| request | `[0, id, method, [params]]` |
| response | `[1, id, error, result]` |
| notification | `[2, method, [params]]` |

`params` is one map of named arguments; one that has a default may be left out, one that is not
known is refused. Nothing is coerced: `"1"` is no number. Times `*_at` (and `at`) are unix seconds,
durations `*_s` seconds, sizes `*_bytes` bytes.

The first request is `hello`, within 2 seconds; the next may follow in the same write. Requests are
answered as they are done, not in their order: the `id` (0 to 4294967295) tells which. A response
comes before the notifications that its request causes. `daemon/drain` is frozen: a client of any
version may call it, so that it can replace the daemon; anything else is refused to a client of
another version with `wrong_protocol`, whose `data` is what `hello` answers.

From Python, with nothing but the `msgpack` package:

```python
import msgpack, socket

stream = socket.socket(socket.AF_UNIX)
stream.connect("/run/user/1000/ask/askd.sock")
hello = {{"client": "mine", "version": "1", "protocol": {PROTOCOL}}}
stream.sendall(msgpack.packb([0, 1, "hello", [hello]]))
stream.sendall(msgpack.packb([0, 2, "conversation/list", [{{"limit": 5}}]]))
unpacker = msgpack.Unpacker()
while data := stream.recv(65536):
    unpacker.feed(data)
    for message in unpacker:
        print(message)
```

Capabilities of this version, as `hello` answers them:
{", ".join(f"`{c}`" for c in CAPABILITIES)}.

## Limits

A message that breaks a rule is answered with an error (id 0 if its own could not be read) and the
connection is closed; whole requests before it are still answered.

"""

ERRORS = """
## Errors

An error is `{code, message, data}`: the exit code that `ask` would end with, a sentence for people,
and a map with at least `reason`, a word for programs. [Exit codes](exit-codes.md) lists them all.

"""

FOLLOWING = """
## Following a conversation

`conversation/subscribe` answers pages of events after `after_seq`. While `next_after_seq` is a
number there is more: subscribe again from there. The last page has `next_after_seq: null` and in
`live` the text so far of every item that is being written; from then on each committed event comes
as an `event`, each fragment of an answer as a `delta`, in order, none missing and none twice;
fragments that come faster than they are written come as one. (A text so far that is too long
for the answer comes as deltas from offset 0, with `live` empty.) A delta's `offset` counts code
points: print only what is beyond your own offset. The text of the item, when its event comes, is
what counts. `turn/start` with `follow: true` does the same from the prompt's own event on.

Only the end of a long conversation is wanted? Its summary has `last_seq`, and there are no gaps:
read or subscribe from so many events before it on. A prompt may stand far before its
`turn_started`, so go back further until what you show is whole; `message_count` is of the same
moment as `last_seq`.

A client that reads too slowly loses deltas, never events: it gets one `gap` and nothing more of
that conversation until it subscribes again after the last seq that it has. A client whose socket
takes nothing for 10 seconds is disconnected. Turns go on without their clients. When a conversation
is deleted, whoever follows it gets a `gap` too, and is told when it subscribes again.

Who else is there? A conversation's summary has `attached`, how many connections follow it, and
`clients`, the first of them. A client that says `attached` among its `capabilities` in `hello` gets
the same as a notification: when it has subscribed, and whenever somebody comes or leaves. The
`client` is what a program calls itself; `pid` is the kernel's word, and of a program that reaches
the daemon through another it is that one's.
"""

EVENTS = f"""
## Events

What a conversation is made of, in pages and as `event` notifications: a map of the envelope
(`conversation_id`, `seq` from 1 without a gap, `at`, `type`, `version`, now {VERSION}) and, beside
it, the fields of the type. A field that has its default is left out. Expect types and fields that
are not listed here: a newer daemon may have written them. An event that does not fit one message
has `left_out`, a sentence, in place of its large fields.

"""

QUESTIONS = """
### Questions

The `detail` of a `question_asked` holds `text`, what a person is to read, and `choices`, each with
the `decision` that `question/answer` takes and a `label`; whatever else it holds is for programs
that show a kind in their own way.

An `elicitation` is what a server of tools wants to know in the middle of a call. Its `detail` names
the `server`, the `tool` and the `call_id`, has the server's own words in `message`, and a `mode`:

- `form`: `schema` is a JSON schema of an object with flat `properties`, in the order in which they
  are asked for: `string` (with `minLength`, `maxLength`, `format` of `email`, `uri`, `date`,
  `date-time`; a `pattern` is the server's to check), `integer` and `number` (`minimum`, `maximum`),
  `boolean`, one of several (`oneOf` of `const` and `title`), some of several (an `array` with
  `items.anyOf`, `minItems`, `maxItems`), each with `title`, `description` and `default` or without.
- `url`: `url` is a page that a person is to open, `host` where it leads. Nobody opens it for them.
- `confirm`: a yes is all that is wanted.

It is answered with `accept`, `decline` or `cancel`; `content` goes with the `accept` of a form.
What does not fit is refused with `bad_params`, a sentence for each field in `data.fields` (`""`:
all of it), and the question stays open. The turn runs while it waits, and the question lives no
longer than its call: `question_answered` with `by: closed` says that nobody waits for an answer
any more. All that a server says is untrusted text.

"""

ITEMS = """
## Items

The content inside of `prompt_accepted` and `item_added`, each with its `type`. Parts are maps with
`type: text` or `type: blob`; a blob's content is read with `blob/read`.

"""

FOOT = """
This page is generated from `client/ask/protocol/messages.py` and `daemon/askd/core` by
`tests/house/protocol_page.py`.
"""


def render() -> str:
    """The whole page."""
    limits = [
        ("one message, either way", f"{messages.MESSAGE_LIMIT_BYTES} bytes"),
        ("the first message, `hello`", f"{messages.HELLO_LIMIT_BYTES} bytes"),
        ("lists and maps within each other", f"{messages.NESTING_LIMIT}, the message counts as 1"),
        ("lists and maps in one message", str(messages.CONTAINER_LIMIT)),
        ("values in one list, keys in one map of a request", str(REQUEST_MEMBER_LIMIT)),
        ("keys of maps", "text, none twice"),
        ("numbers", "finite"),
        ("extension types, timestamps", "none"),
        ("a pause inside a message", "5 s"),
        ("one message in all", "60 s"),
        ("one blob", f"{messages.BLOB_LIMIT_BYTES} bytes"),
        ("one chunk of a blob", f"{messages.BLOB_CHUNK_BYTES} bytes"),
        ("one text in a prompt", f"{items.PART_LIMIT_BYTES} bytes of UTF-8; larger: `blob/put`"),
    ]
    parts = [HEAD, render_table(("what", "limit"), limits), ERRORS.rstrip("\n") + "\n", FOLLOWING]
    parts.append("\n## Methods\n")
    parts += [_render_method(name) for name in METHODS]
    parts.append("\n## Notifications\n")
    parts += [
        f"\n### `{name}`\n\n{each.text}\n\n{_render_fields(each.params)}"
        for name, each in NOTIFICATIONS.items()
    ]
    parts.append("\n## Shapes\n")
    parts += [
        f"\n### `{shape.__name__}`\n\n{_sentence(shape)}\n\n{_render_fields(shape)}"
        for shape in find_shapes()
    ]
    parts += [EVENTS, _render_tagged(_members(Body)), QUESTIONS]
    parts += [ITEMS, _render_tagged(_members(items.Item))]
    parts.append(FOOT)
    return "".join(parts)


def find_shapes() -> list[type]:
    """The dataclasses inside of parameters and results, and results that several methods share."""
    found: dict[type, None] = {}

    def collect(hint: Any) -> None:
        if _is_shape(hint):
            found.setdefault(hint)
            for each in typing.get_type_hints(hint).values():
                collect(each)
        for each in typing.get_args(hint):
            collect(each)

    for method in METHODS.values():
        for hint in typing.get_type_hints(method.params).values():
            collect(hint)
        collect(method.result)
    return sorted(found, key=lambda shape: shape.__name__)


def _render_method(name: str) -> str:
    method = METHODS[name]
    fields = dataclasses.fields(method.params)
    params = _render_fields(method.params) if fields else "No parameters.\n"
    result = f"Result: [`{method.result.__name__}`](#{method.result.__name__.lower()})."
    return f"\n### `{name}`\n\n{method.text} {result}\n\n{params}"


def _render_fields(shape: Any) -> str:
    if not dataclasses.fields(shape):
        return "No fields.\n"
    return render_table(("name", "type", "default", "meaning"), _rows(shape))


def _rows(shape: Any) -> Iterator[tuple[str, str, str, str]]:
    hints = typing.get_type_hints(shape, include_extras=True)
    for field in dataclasses.fields(shape):
        hint = hints[field.name]
        meaning = next(iter(getattr(hint, "__metadata__", ())), "")
        yield f"`{field.name}`", describe_type(hint), describe_default(field), meaning


def _render_tagged(members: list[Any]) -> str:
    rows = []
    for member in members:
        hints = typing.get_type_hints(member)
        fields = [
            f"`{f.name}`{'' if f.default is dataclasses.MISSING else '?'}: "
            f"{describe_type(hints[f.name])}"
            for f in dataclasses.fields(member)
        ]
        rows.append((f"`{member.TYPE}`", ", ".join(fields), _sentence(member)))
    return render_table(("type", "fields", "meaning"), rows)


def _members(union: Any) -> list[Any]:
    return [m for m in typing.get_args(union) if m not in (UnknownBody, items.Unknown)]


def describe_type(hint: Any) -> str:
    """A type in words that need no Python."""
    if typing.get_origin(hint) is typing.Annotated:
        return describe_type(typing.get_args(hint)[0])
    if _is_shape(hint):
        return f"[`{hint.__name__}`](#{hint.__name__.lower()})"
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return " or ".join(f"`{value}`" for value in arguments)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(describe_type(each) for each in arguments)
    if origin in (list, tuple):
        return f"list of {describe_type(arguments[0])}"
    if origin in (dict, Mapping) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        inner = "" if arguments[1] is Any else f" of {describe_type(arguments[1])}"
        return f"map{inner}"
    words: dict[Any, str] = {
        str: "text",
        int: "integer",
        float: "number",
        bool: "boolean",
        bytes: "bytes",
        type(None): "null",
        Any: "anything",
    }
    if hint in words:
        return words[hint]
    return str(getattr(hint, "TYPE", hint.__name__.lower()))


def describe_default(field: dataclasses.Field[Any]) -> str:
    """What a parameter is when it is left out."""
    if field.default is dataclasses.MISSING:
        return "*needed*"
    match field.default:
        case None:
            return "null"
        case bool():
            return str(field.default).lower()
        case int() | float() | str():
            return f"`{field.default}`"
        case _:
            return "its defaults"


def _is_shape(hint: Any) -> bool:
    return (
        isinstance(hint, type)
        and getattr(hint, "__module__", "") == messages.__name__
        and (dataclasses.is_dataclass(hint))
    )


def _sentence(shape: Any) -> str:
    """The opening of a docstring; the one that dataclasses write themselves says nothing."""
    text = inspect.getdoc(shape) or ""
    return "" if text.startswith(f"{shape.__name__}(") else text.partition("\n\n")[0]


if __name__ == "__main__":
    write_page(PATH, render())
