# Attacks tried at the start: each returns what it achieved, or None if it was stopped.

import ctypes
import os
import socket
import threading

libc = ctypes.CDLL(None, use_errno=True)


def read_a_file():
    try:
        return "read " + open("/etc/passwd").readline()
    except OSError:
        return None


def list_the_root():
    try:
        names = os.listdir("/etc") + os.listdir("/home")
    except OSError:
        return None
    return "saw %d names" % len(names)


def write_a_file():
    for folder in ("/tmp", "/dev/shm", "/var/tmp", "/", "."):
        try:
            open(folder + "/lyceum-self-test", "w").close()
            return "wrote into " + folder
        except OSError:
            pass
    return None


def open_a_socket():
    for family in (socket.AF_INET, socket.AF_UNIX, socket.AF_NETLINK):
        try:
            socket.socket(family, socket.SOCK_DGRAM).close()
            return "opened a socket of family %d" % family
        except OSError:
            pass
    return None


def start_a_process():
    try:
        pid = os.fork()
    except OSError:
        return None
    if pid == 0:
        os._exit(0)
    return "forked"


def start_a_thread():
    try:
        threading.Thread(target=int).start()
    except RuntimeError:
        return None
    return "started a thread"


def signal_the_host():
    for pid in (os.getppid(), 1, -1, 0):
        try:
            os.kill(pid, 0)
            return "may signal process %d" % pid
        except OSError:
            pass
    return None


def trace_a_process():
    return "may trace" if libc.ptrace(0, 0, 0, 0) == 0 else None


def map_executable_memory():
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(None, 4096, 7, 0x22, -1, 0)
    return None if address in (None, ctypes.c_void_p(-1).value) else "mapped"


def enter_a_namespace():
    return "entered" if libc.unshare(0x10000000) == 0 else None


def see_the_environment():
    return "saw " + " ".join(os.environ) if os.environ else None


def spin():
    while True:
        pass


def grow():
    return len([0] * (1 << 40))


def f(name):
    return globals()[name]()
