# Values of the standard library that cross between a program and its test as a mark, a name and the parts that they are made of.
# Only what every process has is made of parts: a program that forges a mark gets one of these values, which it could return anyway.

from types import GeneratorType

COPIED.update(
    {
        fractions.Fraction: ("Fraction", lambda value: (value.numerator, value.denominator)),
        decimal.Decimal: ("Decimal", lambda value: (str(value),)),
        datetime.date: ("date", lambda value: (value.year, value.month, value.day)),
        datetime.timedelta: ("timedelta", lambda value: (value.days, value.seconds, value.microseconds)),
        datetime.datetime: ("datetime", lambda value: (value.isoformat(),)),
        datetime.time: ("time", lambda value: (value.isoformat(),)),
        range: ("range", lambda value: (value.start, value.stop, value.step)),
        GeneratorType: ("iterator", lambda value: items_of(value)),
    }
)
COPIED.update((kind, COPIED[GeneratorType]) for kind in (map, filter, zip, enumerate, reversed, type(iter([])), itertools.chain))
# How many items of an iterator cross.
MAX_ITEMS = 10_000


def items_of(iterator):
    items = list(itertools.islice(iterator, MAX_ITEMS + 1))
    return tuple(items[:MAX_ITEMS]), len(items) > MAX_ITEMS


def replayed(items, is_cut):
    yield from items
    if is_cut:
        raise Unjudgeable("it takes more than %d items of an iterator of the program" % MAX_ITEMS)


# What a call may change in place.
MUTABLE = list, dict, set


def snapshot(arguments):
    mutable = [one for one in arguments if type(one) in MUTABLE]
    try:
        return dumps(mutable, 2)
    except ValueError:
        # They hold objects of the program.
        try:
            return encode(mutable, True, MAX_ARGUMENTS)
        except Unserialisable:
            return None


def with_changed(arguments, value):
    changed = tuple(one if type(one) in MUTABLE else None for one in arguments)
    try:
        encode(changed, True, MAX_ARGUMENTS)
    except Unserialisable:
        return value
    return MARK, "changed", (changed, value)


class Changed:
    # A value, and the arguments as the call left them.
    def __init__(self, arguments, value):
        self.arguments, self.value = arguments, value

    def written_to(self, own):
        for one, changed in zip(own, self.arguments):
            if type(one) is type(changed) and type(one) is list:
                one[:] = changed
            elif type(one) is type(changed) and type(one) in MUTABLE:
                one.clear()
                one.update(changed)
        return self.value


def printed(text, value):
    # What the program prints in a call appears where the test looks for it.
    sys.stdout.write(text)
    return value


MADE = {
    "printed": printed,
    "changed": Changed,
    "Fraction": fractions.Fraction,
    "Decimal": decimal.Decimal,
    "date": datetime.date,
    "timedelta": datetime.timedelta,
    "datetime": datetime.datetime.fromisoformat,
    "time": datetime.time.fromisoformat,
    "range": range,
    "iterator": replayed,
    "namedtuple": lambda name, fields, values: collections.namedtuple(name, fields)._make(values),
}


def restored(value):
    kind = type(value)
    if kind is tuple and len(value) == 3 and value[0] == MARK:
        return MADE[value[1]](*map(restored, value[2]))
    if kind is list or kind is tuple or kind is set or kind is frozenset:
        return kind(map(restored, value))
    if kind is dict:
        return {restored(key): restored(item) for key, item in value.items()}
    return value


def restored_from(text, value):
    # Most texts have no mark, and nothing is looked for in their values.
    return restored(value) if MARK_IN_TEXT in text else value
