# The standard library as programs find it. Its modules with machine code are loaded here, since a child may not map executable
# memory; which files these are differs between builds of Python.

import importlib.machinery
import selectors

NO_TERMINAL = "there is no terminal"
NO_DISPLAY = "there is no display"
NOT_OFFERED = {
    "readline": NO_TERMINAL,
    "tkinter": NO_DISPLAY,
    "_tkinter": NO_DISPLAY,
    "turtle": NO_DISPLAY,
    "idlelib": NO_DISPLAY,
    "nis": "there is no network",
    "ossaudiodev": "there is no sound",
    "_dbm": "there are no files to write",
    "_gdbm": "there are no files to write",
}


def load_machine_code():
    # Only into memory: a module is made of it where it is imported.
    folder = next((path for path in sys.path if path.endswith("lib-dynload")), None)
    for file in sorted(os.listdir(folder)) if folder else ():
        name = file.partition(".")[0]
        if name not in NOT_OFFERED and not name.lstrip("_").startswith(("test", "xx", "ctypes_test")):
            try:
                ctypes.CDLL(folder + "/" + file)
            except OSError:
                # It needs a library that this machine lacks.
                continue


class Silence(selectors._BaseSelectorImpl):
    # An event loop waits for files, of which nothing is ever heard here, and for a time.
    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("it waits for a file or a thread, and there are none to wait for here")
        if timeout > 0:
            time.sleep(timeout)
        return []


def tame_event_loop(module):
    nothing = lambda loop: None
    loop = module.BaseSelectorEventLoop
    loop._make_self_pipe = loop._close_self_pipe = loop._write_to_self = nothing


def tame_executor(module):
    module.ThreadPoolExecutor.submit = submit


class Library:
    # Looked into before the files are.
    tamed = {"asyncio.selector_events": tame_event_loop, "concurrent.futures.thread": tame_executor}

    def find_spec(self, name, path=None, target=None):
        if name in NOT_OFFERED:
            raise ModuleNotFoundError("`%s` is not offered in the sandbox: %s" % (name, NOT_OFFERED[name]), name=name)
        if name not in self.tamed:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            self.tamed[name](module)

        spec.loader.exec_module = exec_module
        return spec


load_machine_code()
selectors.DefaultSelector = Silence
sys.meta_path.insert(0, Library())
