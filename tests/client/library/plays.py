"""What a turn is told that is followed from its beginning: its own prompt first."""

from tests.fakes.daemon import FakeDaemon, Script, Stage


def told(script: Script) -> Script:
    """The script, after the event of the prompt, as the daemon sends it to whoever follows."""

    def play(stage: Stage) -> None:
        stage.notify("event", find_prompt(stage.daemon, stage.turn["turn_id"]))
        script(stage)

    return play


def find_prompt(daemon: FakeDaemon, turn_id: str) -> dict[str, object]:
    """The event of a turn's prompt."""
    (found,) = [
        event
        for log in daemon.events.values()
        for event in log
        if event["type"] == "prompt_accepted" and event["turn_id"] == turn_id
    ]
    return found
