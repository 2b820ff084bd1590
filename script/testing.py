"""What script/test knows of its tests: what a change leaves out, which crates changed, and which tests were flaky, skipped or slow."""

import argparse
import json
import pathlib
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
SLOWEST = 30


def holder(path, crates):
    """The crate that holds a file: of those whose folders hold it, the innermost."""
    holders = [name for name, (folder, _) in crates.items() if path.startswith(folder + "/")]
    return max(holders, key=lambda name: len(crates[name][0]), default=None)


def changed(paths, crates):
    """The crates with a file among `paths`, each by the longest folder that holds it.

    >>> crates = {"worker": ("worker", []), "system": ("tests", []), "stand-in": ("tests/stand-in", [])}
    >>> changed(["tests/stand-in/src/lib.rs", "docs/A.md", "worker/Cargo.toml", "testsuite"], crates)
    ['stand-in', 'worker']
    """
    return sorted({holder(path, crates) for path in paths} - {None})


def touches(paths, guards):
    """Whether a path is one of the guarded ones: a file, or what begins like it.

    >>> touches(["worker/src/lib.rs"], ["worker/"]), touches(["docs/A.md"], ["worker/", "crates/core/src/verify"])
    (True, False)
    """
    return any(path.startswith(guard) for path in paths for guard in guards)


def unaffected(paths, crates, rules):
    """The crates that a change of `paths` cannot reach: neither they nor a crate that they use changed, nor a file that their tests
    read. `crates` gives each crate's folder and the crates that it uses.

    >>> crates = {"core": ("core", []), "store": ("store", ["core"]), "server": ("server", ["store"]), "engine": ("engine", ["core"])}
    >>> rules = {"reads": {"docs/": ["server"]}, "apart": {"rooms": ["core/recipes"], "crates": ["engine"]}}
    >>> unaffected(["store/a.rs", "docs/a.md"], crates, rules), unaffected(["configs/a.toml"], crates, rules)
    (['core', 'engine'], [])
    >>> unaffected(["core/recipes/a.rs"], crates, rules), unaffected(["core/work.rs"], crates, rules)
    (['engine'], [])
    """

    def reached(path):
        own = holder(path, crates)
        if own is None:
            return next((names for prefix, names in rules["reads"].items() if path.startswith(prefix)), list(crates))
        found = {own}
        while more := {name for name, (_, uses) in crates.items() if name not in found and found & set(uses)}:
            found |= more
        return found - set(rules["apart"]["crates"] if touches([path], rules["apart"]["rooms"]) else [])

    return sorted(set(crates) - {name for path in paths for name in reached(path)})


def plan(paths, crates, rules):
    """What may be left out after a change of `paths`, by script/test.toml: names of parts, and crates and filters of nextest whose
    tests may be left out.

    >>> crates = {"core": ("core", []), "server": ("server", ["core"])}
    >>> rules = {"everything": ["Cargo.lock"], "samples": {"guards": ["crates/verifier/"]}, "standin": {"guards": ["crates/engine/"]},
    ...     "crates": {"reads": {}, "apart": {"rooms": [], "crates": []}}, "tests": [{"tests": "test(/^api/)", "guards": ["server/"]}],
    ...     "kills": {"guards": ["crates/store/"], "of": [{"tests": "test(/^sage/)", "guards": ["core/sage"]},
    ...     {"tests": "test(/^gasp/)", "guards": ["core/gasp"]}]}}
    >>> plan(["core/sage.rs"], crates, rules)
    (['samples', 'standin'], [], ['test(/^api/)', 'test(/^gasp/)'])
    >>> plan(["crates/store/a", "crates/engine/b", "server/c"], crates, rules)
    (['samples'], [], [])
    >>> plan(["server/c"], crates, rules)
    (['samples', 'standin'], ['core'], ['test(/^sage/)', 'test(/^gasp/)'])
    >>> plan(["Cargo.lock"], crates, rules)
    ([], [], [])
    """
    if touches(paths, rules["everything"]):
        return [], [], []
    left = [part for part in ("samples", "standin") if not touches(paths, rules[part]["guards"])]
    single = rules["tests"] + (rules["kills"]["of"] if not touches(paths, rules["kills"]["guards"]) else [])
    return left, unaffected(paths, crates, rules["crates"]), [one["tests"] for one in single if not touches(paths, one["guards"])]


def workspace():
    """The folder of each crate of the workspace, and the others of them that it uses."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout)
    folder = lambda package: str(pathlib.Path(package["manifest_path"]).parent.relative_to(ROOT))
    uses = lambda package: [one["name"] for one in package["dependencies"] if "path" in one]
    return {package["name"]: (folder(package), uses(package)) for package in metadata["packages"]}


def cases(report):
    """Every test of nextest's JUnit report: its name, its seconds, whether it passed only when tried again, and why it was
    skipped, if it says so.

    >>> document = '''<testsuites><testsuite name="a::b"><testcase name="one" time="2.5"><flakyFailure/></testcase>
    ... <testcase name="two" time="0.1"><system-err>skipped: no GPU</system-err></testcase></testsuite></testsuites>'''
    >>> cases(document)
    [('a::b one', 2.5, True, None), ('a::b two', 0.1, False, 'no GPU')]
    """
    found = []
    for suite in ElementTree.fromstring(report):
        for case in suite.iter("testcase"):
            said = "\n".join(case.findtext(part) or "" for part in ("system-out", "system-err")).splitlines()
            reasons = [line.removeprefix("skipped: ") for line in said if line.startswith("skipped: ")]
            is_flaky = case.find("flakyFailure") is not None
            found.append((f"{suite.get('name')} {case.get('name')}", float(case.get("time")), is_flaky, next(iter(reasons), None)))
    return found


def listed(title, lines):
    if lines:
        print(f"== {title}")
        print("\n".join(lines))


def report(logs):
    """Prints the slowest tests, what was skipped, and what was flaky, which also goes into target/flaky.txt."""
    tests = []
    for profile in ("default", "standin"):
        junit = ROOT / "target/nextest" / profile / "junit.xml"
        if (logs / f"tested-{profile}").exists() and junit.exists():
            tests += cases(junit.read_text())
    by_time = sorted(tests, key=lambda test: -test[1])[:SLOWEST]
    (logs / "slowest").write_text("".join(f"{seconds:8.1f} s  {name}\n" for name, seconds, _, _ in by_time))
    if tests:
        print(f"== {len(tests)} tests; the slowest are in {(logs / 'slowest')}")
    noted = {name: (logs / name).read_text().splitlines() if (logs / name).exists() else [] for name in ("skipped", "flaky")}
    reasons = {}
    for name, _, _, reason in tests:
        if reason:
            reasons.setdefault(reason, []).append(name)
    skipped = noted["skipped"] + [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
    flaky = noted["flaky"] + [name for name, _, is_flaky, _ in tests if is_flaky]
    (ROOT / "target/flaky.txt").write_text("".join(line + "\n" for line in flaky))
    listed("skipped", skipped)
    listed("flaky: passed only at the second try, so to be mended", flaky)


def document(logs):
    """Writes the tables of the last run into the docs, between the two comments that mark them."""
    path = ROOT / "docs/PERFORMANCE.md"
    begin, end = "<!-- script/testing.py document: begin -->\n", "<!-- end -->\n"
    before, _, rest = path.read_text().partition(begin)
    _, _, after = rest.partition(end)
    phases = [line.split(" s  ", 1) for line in (logs / "times").read_text().splitlines()]
    slowest = [line.split(" s  ", 1) for line in (logs / "slowest").read_text().splitlines()]
    lines = ["| phase | seconds |", "|---|---|", *(f"| {name} | {seconds.strip()} |" for seconds, name in phases), ""]
    lines += ["| test | seconds |", "|---|---|"]
    lines += [f"| {name.split(' ', 1)[1].replace('::', ' ').replace('_', ' ')} (`{name.split('::')[0].split(' ')[0]}`) | {seconds.strip()} |" for seconds, name in slowest]
    path.write_text(before + begin + "\n".join(lines) + "\n" + end + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("crates", help="names the packages that hold the files named on standard input")
    commands.add_parser("plan", help="for a change of the files on standard input: parts to leave out, tests to leave out, crates to check")
    commands.add_parser("document", help="writes the tables of phases and of the slowest tests into docs/PERFORMANCE.md").add_argument(
        "logs", type=pathlib.Path
    )
    commands.add_parser("report", help="prints what was skipped and flaky").add_argument("logs", type=pathlib.Path)
    options = parser.parse_args()
    if options.command == "crates":
        print("\n".join(changed(sys.stdin.read().splitlines(), workspace())))
    elif options.command == "plan":
        crates, rules = workspace(), tomllib.loads((ROOT / "script/test.toml").read_text())
        left, apart, filters = plan(sys.stdin.read().splitlines(), crates, rules)
        print(" ".join(left))
        print(" + ".join([f"package({name})" for name in apart] + filters))
        print(" ".join(sorted(set(crates) - set(apart))))
    elif options.command == "document":
        document(options.logs)
    else:
        report(options.logs)


if __name__ == "__main__":
    main()
