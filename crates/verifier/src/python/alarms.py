# Alarms go off by what the program does, not by the machine's clock, so at the same place in every child: after
# `LINES_A_SECOND` lines of Python for a second, and what is slept. CPython as well runs a handler only between lines of Python, never in the middle of C.
# Lines are counted, which makes them slower, while an alarm is set.

import opcode

LINES_A_SECOND = 4_000_000
ALARMS = {
    signal.ITIMER_REAL: signal.SIGALRM,
    signal.ITIMER_VIRTUAL: signal.SIGVTALRM,
    signal.ITIMER_PROF: signal.SIGPROF,
}
# `while True: pass` is one instruction that jumps to itself, which is no new line.
EMPTY_LOOP = bytes([opcode.opmap.get("JUMP_BACKWARD", 0), 1])


def fix_alarms():
    sleep = time.sleep
    # By timer, the line at which it goes off and the lines after which again.
    due, past, soonest, with_empty_loop = {}, 0, None, {}

    def look_into(frame, look):
        code = frame.f_code
        if code not in with_empty_loop:
            with_empty_loop[code] = EMPTY_LOOP in code.co_code
        frame.f_trace_opcodes = with_empty_loop[code]
        frame.f_trace = look

    def count():
        nonlocal soonest
        was, soonest = soonest, min((line for line, _ in due.values()), default=None)
        if (was is None) == (soonest is None):
            return
        look = None if soonest is None else look_at
        frame = sys._getframe(1)
        while frame:
            look_into(frame, look)
            frame = frame.f_back
        sys.settrace(look)

    def look_at(frame, event, _):
        nonlocal past
        past += 1
        if event == "call":
            look_into(frame, look_at)
        if soonest is not None and past >= soonest:
            try:
                ring(frame)
            except BaseException:
                # With an exception of its own CPython's tracing ends, and any other alarm with it.
                due.clear()
                count()
                raise
        return look_at

    def ring(frame):
        gone = [timer for timer, (line, _) in due.items() if line <= past]
        for timer in gone:
            _, again = due.pop(timer)
            if again:
                due[timer] = past + again, again
        count()
        for number in map(ALARMS.get, gone):
            handler = signal.getsignal(number)
            if handler is signal.SIG_DFL:
                raise SystemExit("an alarm went off that has no handler")
            if callable(handler):
                handler(number, frame)

    def passed(seconds):
        nonlocal past
        past += int(seconds * LINES_A_SECOND)
        if soonest is not None and past >= soonest:
            ring(sys._getframe(2))

    def rest(seconds):
        sleep(seconds)
        passed(seconds)

    def remaining(timer):
        line, again = due.get(timer, (past, 0))
        return max(line - past, 0) / LINES_A_SECOND, again / LINES_A_SECOND

    def setitimer(which, seconds, interval=0.0):
        if which not in ALARMS or seconds < 0 or interval < 0:
            raise signal.ItimerError(22, "Invalid argument")
        before = remaining(which)
        due.pop(which, None)
        if seconds:
            lines = [max(int(length * LINES_A_SECOND), 1) if length else 0 for length in (seconds, interval)]
            due[which] = past + lines[0], lines[1]
        count()
        return before

    def alarm(seconds):
        return math.ceil(setitimer(signal.ITIMER_REAL, operator.index(seconds))[0])

    def pause():
        if soonest is None:
            raise RuntimeError("it waits for a signal, and none can come")
        passed(max(soonest - past, 0) / LINES_A_SECOND)

    time.sleep = rest
    for module in signal, sys.modules["_signal"]:
        module.alarm, module.setitimer, module.getitimer, module.pause = alarm, setitimer, remaining, pause


fix_alarms()
