# The user's own reward. It gets a completion as a text and nothing else of the model: code in it runs in another process,
# which has neither this one's memory nor its socket.


class Printed(str):
    # What a program printed, and how it ended: `ok`, `error`, `timeout`, `memory`, ..
    status, reason = "ok", ""

    @property
    def timed_out(self):
        return self.status == "timeout"


def execute(code, stdin=""):
    answer(b"C", encode((str(code), str(stdin)), False, MAX_ARGUMENTS))
    reply = request()
    if reply is None:
        raise RuntimeError("the sandbox has ended")
    printed = Printed(reply["stdout"])
    printed.status, printed.reason = reply["status"], reply["reason"]
    return printed


def number(value):
    if isinstance(value, (str, bytes, bytearray)) or not hasattr(value, "__float__"):
        name = type(value).__name__[:100]
        raise TypeError("`score` gave a %s: a number, or a dict of numbers by name, is valid" % name)
    return float(value)


def awaited(scored):
    # Nothing here ever ends later, so what waits for something waits in vain.
    steps = scored.__await__()
    try:
        next(steps)
    except StopIteration as end:
        return end.value
    raise RuntimeError("`score` awaits something that never ends here, such as a timer or a network")


def reward(message):
    names = STAGE.__dict__
    names["execute"] = execute
    exec(compiled(message["source"], "<reward>"), names)
    if "setup" in names:
        names["setup"]()
    scored = names["score"](message["prompt"], message["completion"], message["row"])
    if hasattr(scored, "__await__"):
        scored = awaited(scored)
    if not isinstance(scored, dict):
        scored = {"score": scored}
    return b"V", encode({name: number(value) for name, value in scored.items()}, False, MAX_ARGUMENTS)


HANDLERS["reward"] = reward
