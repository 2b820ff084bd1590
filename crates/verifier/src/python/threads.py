# No thread of the kernel can be started here. A thread of the program is a function that runs on the stack of whoever needs it: at
# once, when it is started; or, in a program that names what threads wait for each other with, when somebody waits, and at the end.
# So what happens is the same every time. Two that wait for each other in turns cannot be run this way, and are told why.

WAITING = "Queue", "Event", "Lock", "Condition", "Semaphore", "Barrier", "Timer"


class OneAtATime(RuntimeError):
    def __init__(self):
        super().__init__("it waits for another thread, but threads run one after the other here")


def run_threads_in_turns(is_patient):
    import threading

    main = threading.get_ident()
    identities, waiting, running = [main], [], []

    def run(thread):
        running.append(thread)
        identities.append(id(thread))
        thread._ident = id(thread)
        threading._active[id(thread)] = thread
        try:
            thread.run()
        except OneAtATime:
            raise
        except SystemExit:
            pass
        except BaseException:
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), thread)))
        finally:
            threading._active.pop(id(thread), None)
            identities.pop()
            running.pop()

    def run_next():
        # Whether there was one.
        if waiting:
            run(waiting.pop(0))
            return True
        return False

    def start(thread):
        if thread._started.is_set():
            raise RuntimeError("threads can only be started once")
        thread._started.set()
        if is_patient:
            waiting.append(thread)
        else:
            run(thread)

    def join(thread, timeout=None):
        if not thread._started.is_set():
            raise RuntimeError("cannot join thread before it is started")
        if thread in waiting:
            waiting.remove(thread)
            run(thread)
        elif thread in running and timeout is None:
            raise OneAtATime()

    class Lock:
        def __init__(self):
            self.is_held = False

        def acquire(self, blocking=True, timeout=-1):
            while self.is_held and blocking and run_next():
                pass
            if not self.is_held:
                self.is_held = True
                return True
            if blocking and timeout < 0:
                raise OneAtATime()
            return False

        def release(self):
            if not self.is_held:
                raise RuntimeError("release unlocked lock")
            self.is_held = False

        def locked(self):
            return self.is_held

        def _at_fork_reinit(self):
            self.is_held = False

        def __enter__(self):
            return self.acquire()

        def __exit__(self, *_):
            self.release()

    notify = threading.Condition.notify

    def notified(condition, n=1):
        condition.is_notified = True
        notify(condition, n)

    def wait(condition, timeout=None):
        if not condition._is_owned():
            raise RuntimeError("cannot wait on un-acquired lock")
        condition.is_notified = False
        held = condition._release_save()
        try:
            while not condition.is_notified and run_next():
                pass
        finally:
            condition._acquire_restore(held)
        if not condition.is_notified and timeout is None:
            raise OneAtATime()
        return condition.is_notified

    sleep = time.sleep

    def rest(seconds):
        while run_next():
            pass
        sleep(seconds)

    time.sleep = rest
    threading.get_ident = lambda: identities[-1]
    threading.Lock = threading._allocate_lock = Lock
    threading.RLock = threading._PyRLock
    threading.Condition.wait, threading.Condition.notify = wait, notified
    threading.Thread.start, threading.Thread.join = start, join
    threading.Thread.is_alive = lambda thread: thread in waiting or thread in running
    if is_patient:
        import queue

        queue.SimpleQueue = queue._PySimpleQueue

    def finish():
        # As at the end of an interpreter, which waits for all but daemons.
        while waiting:
            thread = waiting.pop(0)
            if not thread.daemon:
                run(thread)

    return finish


def submit(pool, function, /, *positional, **keyword):
    # An executor's work is done when it is given.
    from concurrent.futures import Future

    if pool._shutdown:
        raise RuntimeError("cannot schedule new futures after shutdown")
    future = Future()
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(function(*positional, **keyword))
        except BaseException as error:
            future.set_exception(error)
    return future
