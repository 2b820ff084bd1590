"""What was done, and what did not hold."""

import sys
import threading


class Findings:
    """Figures by attack, and everything that was broken. Used from several threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.figures = {}
        self.broken = []

    def count(self, attack, name, number=1):
        with self.lock:
            of_attack = self.figures.setdefault(attack, {})
            of_attack[name] = of_attack.get(name, 0) + number

    def most(self, attack, name, number):
        with self.lock:
            of_attack = self.figures.setdefault(attack, {})
            of_attack[name] = max(of_attack.get(name, 0), round(number, 2))

    def breaks(self, attack, what):
        with self.lock:
            self.broken.append((attack, what))
        print(f"attack: {attack}: BROKEN: {what}", file=sys.stderr, flush=True)

    def holds(self, attack, is_so, what):
        if not is_so:
            self.breaks(attack, what)

    def table(self):
        lines = []
        for attack, figures in self.figures.items():
            lines.append(f"{attack}: " + ", ".join(f"{name} {number:,}" for name, number in figures.items()))
        broken = [f"BROKEN: {attack}: {what}" for attack, what in self.broken]
        return "\n".join(lines + (broken or ["everything held"]))
