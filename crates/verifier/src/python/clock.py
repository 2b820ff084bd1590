# What a child reads of clocks is the same in every child: time starts at one moment and moves on by a millisecond with each
# look, and by what is slept. So a program that depends on it does the same each time, and one that waits for a time to
# come is not left waiting. The module's own functions remain in closures here; what the kernel says of CPU time is denied.

import gc
import os
import posix
import time

BEGINNING = 1_700_000_000_000_000_000
CLOCK = [BEGINNING]


def look():
    CLOCK[0] += 1_000_000
    return CLOCK[0]


def elapsed():
    return look() - BEGINNING


def seconds(clock):
    return lambda: clock() / 1e9


def at_now(function):
    # For functions whose last argument is a moment, and now without it.
    def told(moment=None):
        return function(look() / 1e9 if moment is None else moment)

    return told


def fix_time():
    local, sleep, strftime, asctime = time.localtime, time.sleep, time.strftime, time.asctime

    def slept(duration):
        sleep(duration)
        CLOCK[0] += int(duration * 1_000_000_000)

    time.time_ns, time.time = look, seconds(look)
    for name in "monotonic", "perf_counter", "process_time", "thread_time":
        setattr(time, name + "_ns", elapsed)
        setattr(time, name, seconds(elapsed))
    os.times = posix.times = lambda: os.times_result((elapsed() / 1e9, 0.0, 0.0, 0.0, elapsed() / 1e9))
    time.clock_gettime_ns = lambda clock: look() if clock == time.CLOCK_REALTIME else elapsed()
    time.clock_gettime = lambda clock: time.clock_gettime_ns(clock) / 1e9
    time.localtime, time.gmtime, time.ctime = at_now(local), at_now(time.gmtime), at_now(time.ctime)
    time.sleep = slept
    time.strftime = lambda form, moment=None: strftime(form, time.localtime() if moment is None else moment)
    time.asctime = lambda moment=None: asctime(time.localtime() if moment is None else moment)


def fix_datetime(kind):
    # The methods that ask the system. A type written in C takes no attributes, but its dictionary does.
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)

    def utcnow(cls):
        return cls.utcfromtimestamp(time.time())

    for namespace in gc.get_referents(kind.__dict__):
        if type(namespace) is dict and "now" in namespace:
            namespace["now"], namespace["utcnow"] = classmethod(now), classmethod(utcnow)


fix_time()
import datetime

fix_datetime(datetime.datetime)
