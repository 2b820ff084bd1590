"""What script/test knows of its tests: which crates changed, and which tests were flaky, skipped or slow."""

import argparse
import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
SLOWEST = 30


def crates(paths, packages):
    """The packages with a file among `paths`, each by the longest folder that holds it.

    >>> packages = {"worker": "worker", "tests": "system", "tests/stand-in": "stand-in"}
    >>> crates(["tests/stand-in/src/lib.rs", "docs/A.md", "worker/Cargo.toml", "testsuite"], packages)
    ['stand-in', 'worker']
    """
    found = set()
    for path in paths:
        holders = [folder for folder in packages if path.startswith(folder + "/")]
        if holders:
            found.add(packages[max(holders, key=len)])
    return sorted(found)


def packages():
    """Names of the workspace's packages by folder."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout)
    folders = {package["name"]: pathlib.Path(package["manifest_path"]).parent for package in metadata["packages"]}
    return {str(folder.relative_to(ROOT)): name for name, folder in folders.items()}


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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("crates", help="names the packages that hold the files named on standard input")
    commands.add_parser("report", help="prints what was skipped and flaky").add_argument("logs", type=pathlib.Path)
    options = parser.parse_args()
    if options.command == "crates":
        print("\n".join(crates(sys.stdin.read().splitlines(), packages())))
    else:
        report(options.logs)


if __name__ == "__main__":
    main()
