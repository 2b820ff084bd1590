"""Charts as SVG files, legible on white and on dark."""

from xml.sax.saxutils import escape

# Of medium lightness, so that they stand out from both.
COLOURS = ["#1f77e0", "#d9480f", "#2f9e44", "#9c36b5", "#0c8599", "#c2255c", "#a87200", "#7048e8"]
TEXT = "#6e7781"
WIDTH, HEIGHT = 760, 380
FONT = "font-family='system-ui, sans-serif' font-size='13'"


class Frame:
    """A drawing with axes; `x` and `y` are the ends of what is shown."""

    def __init__(self, title, x, y, width=WIDTH, height=HEIGHT, left=56, right=230):
        self.parts = []
        self.x, self.y, self.width, self.height = x, y, width, height
        self.left, self.right, self.top, self.bottom = left, width - right, 54, height - 44
        self.text(12, 22, title, weight="600", size=15)

    def at_x(self, value):
        low, high = self.x
        return self.left + (value - low) / (high - low or 1) * (self.right - self.left)

    def at_y(self, value):
        low, high = self.y
        return self.bottom - (value - low) / (high - low or 1) * (self.bottom - self.top)

    def text(self, x, y, text, anchor="start", colour=TEXT, weight="400", size=13):
        style = f"text-anchor='{anchor}' fill='{colour}' font-weight='{weight}' font-size='{size}'"
        self.parts.append(f"<text x='{x:.1f}' y='{y:.1f}' {style}>{escape(text)}</text>")

    def path(self, points, colour, width=2.0, dash="", fill="none", opacity=1.0):
        drawn = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        dashed = f" stroke-dasharray='{dash}'" if dash else ""
        stroke = f"stroke='{colour}' stroke-width='{width}'" if fill == "none" else "stroke='none'"
        self.parts.append(f"<path d='{drawn}' {stroke} fill='{fill}' opacity='{opacity}'{dashed} stroke-linejoin='round'/>")

    def dot(self, x, y, colour):
        self.parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4' fill='{colour}'/>")

    def axes(self, x_label, x_ticks, y_ticks, y_label=""):
        for value, label in y_ticks:
            y = self.at_y(value)
            self.path([(self.left, y), (self.right, y)], TEXT, 0.5, opacity=0.5)
            self.text(self.left - 8, y + 4, label, "end")
        for value, label in x_ticks:
            self.text(self.at_x(value), self.bottom + 18, label, "middle")
        self.text((self.left + self.right) / 2, self.height - 8, x_label, "middle")
        self.text(self.left, self.top - 8, y_label)

    def svg(self, description):
        return "\n".join(
            [
                f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.height}' "
                f"width='{self.width}' height='{self.height}' role='img' {FONT}>",
                f"<desc>{escape(description)}</desc>",
                *self.parts,
                "</svg>",
                "",
            ]
        )


def ticks(low, high, count=5):
    """Round numbers between two ends.

    >>> ticks(0.0, 0.52)
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    """
    rough = (high - low) / count
    power = 10.0 ** _floor_log10(rough)
    step = min((factor * power for factor in (1, 2, 2.5, 5, 10)), key=lambda step: abs(step - rough))
    first = int(-(-low // step))
    return [round(index * step, 10) for index in range(first, int(high // step) + 1)]


def _floor_log10(value):
    power = 0
    while value >= 10:
        value, power = value / 10, power + 1
    while 0 < value < 1:
        value, power = value * 10, power - 1
    return power


def lines(title, x_label, y_label, curves, description, x_places=None, is_share=True):
    """Curves with bands. A curve is its name, its points (x, y, low, high) and whether it is dashed; x may be named by place. Shares
    are shown in per cent, from 0 on."""
    values = [value for _, points, _ in curves for _, y, low, high in points for value in (y, low, high)]
    xs = sorted({x for _, points, _ in curves for x, *_ in points})
    places = {x: index for index, x in enumerate(xs)} if x_places else {x: x for x in xs}
    bounds = (min(places.values()), max(places.values()))
    if is_share:
        frame = Frame(title, bounds, (0.0, min(1.0, max(values) * 1.08) or 1.0))
        y_ticks = [(tick, f"{100 * tick:.0f}") for tick in ticks(*frame.y)]
    else:
        margin = 0.06 * (max(values) - min(values) or 1.0)
        frame = Frame(title, bounds, (min(values) - margin, max(values) + margin))
        y_ticks = [(tick, f"{tick:g}") for tick in ticks(*frame.y)]
    frame.axes(x_label, [(places[x], f"{x:g}") for x in xs], y_ticks, y_label)
    for index, (name, points, is_dashed) in enumerate(curves):
        colour = TEXT if name == "base" else COLOURS[index % len(COLOURS)]
        at = [(frame.at_x(places[x]), y, low, high) for x, y, low, high in points]
        band = [(x, frame.at_y(high)) for x, _, _, high in at] + [(x, frame.at_y(low)) for x, _, low, _ in reversed(at)]
        if any(low != high for _, _, low, high in points):
            frame.path(band, colour, fill=colour, opacity=0.13)
        frame.path([(x, frame.at_y(y)) for x, y, _, _ in at], colour, 2.5, "6 4" if is_dashed else "")
        y = frame.top + 8 + 22 * index
        frame.path([(frame.right + 16, y - 4), (frame.right + 40, y - 4)], colour, 2.5, "6 4" if is_dashed else "")
        frame.text(frame.right + 48, y, name)
    return frame.svg(description)


def differences(title, x_label, rows, description):
    """Differences with their intervals. A row is its name, its value and the interval."""
    ends = [value for _, _, interval in rows for value in interval] + [0.0]
    margin = 0.05 * (max(ends) - min(ends) or 1.0)
    height = 106 + 40 * len(rows)
    frame = Frame(title, (min(ends) - margin, max(ends) + margin), (0.0, 1.0), height=height, left=330, right=24)
    for tick in ticks(*frame.x):
        x = frame.at_x(tick)
        frame.path([(x, frame.top), (x, frame.bottom)], TEXT, 0.5, opacity=0.5)
        frame.text(x, frame.bottom + 18, f"{100 * tick:+.0f}", "middle")
    frame.text((frame.left + frame.right) / 2, height - 8, x_label, "middle")
    zero = frame.at_x(0.0)
    frame.path([(zero, frame.top), (zero, frame.bottom)], TEXT, 1.5)
    for index, (name, value, (low, high)) in enumerate(rows):
        y = frame.top + 22 + 40 * index
        colour = (COLOURS[0] if value > 0 else COLOURS[1]) if low > 0 or high < 0 else TEXT
        frame.text(frame.left - 14, y + 4, name, "end")
        frame.path([(frame.at_x(low), y), (frame.at_x(high), y)], colour, 5, opacity=0.45)
        frame.dot(frame.at_x(value), y, colour)
    return frame.svg(description)
