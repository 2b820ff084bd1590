# The zygote: starts confined, imports what programs use, then forks one child for each program. It is trusted and never
# reads a request: the socket of a run arrives as a descriptor and is passed on unread.

import ctypes
import os
import resource
import select
import signal
import socket
import struct
import sys
import types

# Children read a clock of their own (`clock.py`), and forget these.
from time import clock_gettime_ns, monotonic_ns

CONTROL = 3
PR_SET_PDEATHSIG = 1
PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
ORDER = struct.Struct("<QQ")
LIMITS = struct.Struct("<QQQQQ")
REPORT = struct.Struct("<iIQQ")
# The address space was laid out for a stack of this size; programs get the usual one.
MAX_STACK = resource.getrlimit(resource.RLIMIT_STACK)[1]
STACK = min(8 << 20, MAX_STACK)
SEED = int(os.environ["PYTHONHASHSEED"])
KILLED_CPU, KILLED_WALL, KILLED_HOST, KILLED_BUDGET = 1, 2, 3, 4

prctl = ctypes.CDLL(None, use_errno=True).prctl
prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]


class FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def stage():
    # The module in which a child's program runs, so that it sees neither the zygote's names nor an empty `__main__`.
    module = types.ModuleType("program")
    sys.modules["program"] = sys.modules["__main__"] = module
    return module


def cpu_nanoseconds(pid):
    # CPU clock of another process: the kernel's MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED).
    return clock_gettime_ns((~pid << 3) | 2)


def watch(control, pid, pidfd, cpu_limit, wall_limit, slowest, cpu_budget, waiting_budget):
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    poller.register(control, select.POLLIN)
    deadline = monotonic_ns() + wall_limit
    # The limits hold for a call and begin anew with the next; the budgets hold for the rest of the task.
    last_deadline = monotonic_ns() + waiting_budget
    base = total = 0
    killed = 0
    while True:
        # A single thread cannot use more CPU time than wall time, so sleeping this long never overshoots a budget.
        try:
            total = cpu_nanoseconds(pid)
        except OSError:
            pass
        used = total - base
        asleep = monotonic_ns()
        # Time spent working extends the deadlines, so a busy machine ends only programs that wait.
        left, why = min(
            (cpu_limit - used, KILLED_CPU),
            (deadline + slowest * used - asleep, KILLED_WALL),
            (cpu_budget - total, KILLED_BUDGET),
            (last_deadline + slowest * total - asleep, KILLED_BUDGET),
        )
        if not killed and left <= 0:
            killed = why
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        pause = None if killed else max(1, (left + 999_999) // 1_000_000)
        ready = dict(poller.poll(pause))
        if pause is not None:
            # If this process did not run, or the machine was suspended, the child may not have run either.
            late = max(0, monotonic_ns() - asleep - pause * 1_000_000)
            deadline += late
            last_deadline += late
        if pidfd in ready:
            return killed
        if control.fileno() in ready:
            message = control.recv(16)
            if message.startswith(b"extend"):
                wall_limit = int.from_bytes(message[6:], "little")
                base = cpu_nanoseconds(pid)
                deadline = monotonic_ns() + wall_limit
            elif not killed:
                killed = KILLED_HOST
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            if not message:
                os._exit(0)


def main():
    global FILTER, STAGE
    STAGE = stage()
    resource.setrlimit(resource.RLIMIT_STACK, (STACK, MAX_STACK))
    sys.path[:] = [entry for entry in sys.path if entry]
    os.environ.clear()
    control = socket.socket(fileno=CONTROL)
    code = control.recv(1 << 16)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = FilterProgram(len(code) // 8, ctypes.addressof(buffer))
    FILTER = ctypes.addressof(program)
    control.send(b"ready " + sys.version.encode())
    while True:
        run_one(control)


def run_one(control):
    # A function of its own, so that the frames above a program hold nothing of earlier ones. What is left of the task's
    # budget follows in a second message, which is read only after the fork: a program could tell from it what ran before.
    message, fds, _, _ = socket.recv_fds(control, ORDER.size, 3)
    if not message:
        os._exit(0)
    if len(message) < ORDER.size:
        return
    address_space, cpu_seconds = ORDER.unpack(message)
    pid = os.fork()
    if pid == 0:
        try:
            child(fds, cpu_seconds, address_space)
        finally:
            os._exit(98)
    for fd in fds:
        os.close(fd)
    message = control.recv(LIMITS.size)
    if len(message) < LIMITS.size:
        # The host is gone, and the child ends with this process.
        os._exit(0)
    pidfd = os.pidfd_open(pid)
    killed = watch(control, pid, pidfd, *LIMITS.unpack(message))
    os.close(pidfd)
    _, status, usage = os.wait4(pid, 0)
    control.send(REPORT.pack(status, killed, int((usage.ru_utime + usage.ru_stime) * 1e9), usage.ru_maxrss * 1024))
