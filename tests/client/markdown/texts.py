"""Markdown to test with: whole answers, and strategies that make more of them."""

from itertools import pairwise

from hypothesis import strategies as st

ANSWER = """# Title *it*

Some **bold**, `code` and a [link](http://x.example/z), and <b>html</b>.
Second line.

- one
- two
  - nested **b**
    continued text
  1. num

    ```python
    def f(x):
    \treturn "a"  # c
    ```

Setext
---

> quote *a*
> ```py
> x = 1
> ```
lazy

| a | b |
|---|--:|
| 1 | 2 |

***

```js
/* over
lines */ var x
```
    indented code

1. [ ] todo
2. done
"""

LINES = st.sampled_from(
    [
        "",
        " ",
        "words and *more* of them",
        "a | b",
        "--|--",
        "---",
        "===",
        "# head",
        "- item",
        "  - deeper",
        "7. seven",
        "1) one",
        "> said",
        "```",
        "````python",
        "  ~~~",
        "    deep",
        "\ttab",
        "<div>",
        "日本語 👨‍👩‍👧 e\u0301",
        "x" * 90,
    ]
)
TEXTS = st.builds(
    lambda lines, end: "\n".join(lines) + end,
    st.lists(LINES, max_size=14),
    st.sampled_from(["", "\n", "\r\n"]),
) | st.text(alphabet="ab-`#>| \n*1.~=\t", max_size=60)


def cut_up(text: str, places: list[int]) -> list[str]:
    """A text cut at these places, wherever they are."""
    found = sorted({place % (len(text) + 1) for place in places} | {0, len(text)})
    return [text[start:end] for start, end in pairwise(found)]


PLACES = st.lists(st.integers(min_value=0, max_value=400), max_size=20)
