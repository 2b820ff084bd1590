# Imports the packages that programs may use. What a child imports later comes from its folders as Python source.

import importlib

# A thread of a library would not be in the children.
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
PARTS = {
    "numpy": ["numpy", "numpy.fft", "numpy.linalg", "numpy.ma", "numpy.polynomial", "numpy.random"],
    "sympy": ["sympy", "sympy.abc", "sympy.geometry", "sympy.ntheory", "sympy.stats"],
}
known = list(sys.path)
sys.path.extend(sys.argv[1:])
for package in PACKAGES:
    for part in PARTS[package]:
        importlib.import_module(part)
sys.path[:] = known
if "numpy" in PACKAGES:
    sys.modules["numpy"].random.seed(int.from_bytes(urandom(4), "big"))
