"""Which attack comes when."""

import sys
import time

from . import chaos, programs, promises, readers, requests
from .instance import Instance

# Each with its share of the time.
MODULES = {
    "promises": (promises, 0),
    "programs": (programs, 0.2),
    "requests": (requests, 0.3),
    "readers": (readers, 0.2),
    "faults": (chaos, 0.3),
}
ATTACKS = list(MODULES)
# How long the instance may take to be ready after an attack.
AFTER = 120


def run(binaries, minutes, seed, chosen, findings):
    with Instance(binaries) as instance:
        if not instance.clock.works:
            print("attack: no C compiler, so no clock jumps", file=sys.stderr)
        if not instance.has_disk:
            print("attack: not root, so no full disks", file=sys.stderr)
        for name in chosen:
            module, share = MODULES[name]
            seconds = 60 * minutes * share
            print(f"attack: {name} for {seconds:.0f} s", file=sys.stderr, flush=True)
            module.attack(instance, findings, time.monotonic() + seconds, seed)
            findings.holds(name, instance.process.poll() is None, "`lyceum up` has ended")
            findings.holds(name, instance.until_ready(AFTER), f"the server was not ready {AFTER} s after the attack")
