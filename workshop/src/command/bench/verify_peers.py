# Other ways of running untrusted Python, on the same programs as the benchmark.

import json, subprocess, sys, time

programs, count = json.loads(sys.argv[1]), int(sys.argv[2])


def measure(name, isolation, run, count):
    try:
        run(0)
    except ImportError as error:
        print("%-44s left out: %s" % (name, error))
        return
    start, times = time.perf_counter(), []
    for at in range(count):
        before = time.perf_counter()
        run(at)
        times.append(time.perf_counter() - before)
    elapsed = time.perf_counter() - start
    times.sort()
    p50, p99 = (times[int((count - 1) * share)] * 1e3 for share in (0.5, 0.99))
    line = "%-44s %10.0f verdicts/s %27s p50 %.2f ms   p99 %.2f ms   isolation: %s"
    print(line % (name, count / elapsed, "", p50, p99, isolation), flush=True)


def interpreter(at):
    program = programs[at % len(programs)] + "\nprint(repr(f(%d)))" % at
    subprocess.run([sys.executable, "-I", "-S", "-c", program], stdout=subprocess.DEVNULL, check=True)


def evalplus(at):
    from evalplus.eval import PASS, untrusted_check

    program = programs[at % len(programs)]
    status, _ = untrusted_check("humaneval", program, [[at]], "f", expected=[None], atol=0, ref_time=[1.0])


def execute(program, at):
    names = {}
    exec(program, names)
    return repr(names["f"](at))


pool = None


def pebble(at):
    global pool
    if pool is None:
        from pebble import ProcessPool

        pool = ProcessPool(max_workers=1)
    pool.schedule(execute, args=(programs[at % len(programs)], at), timeout=10).result()


measure("python3 -I -S for each program", "none", interpreter, min(count, 300))
measure("evalplus untrusted_check", "a process, reliability_guard", evalplus, min(count, 300))
measure("Pebble pool, one worker, as in AZR", "none, not even between programs", pebble, count)
if pool is not None:
    pool.stop()
    pool.join()
