"""computeml.py twice: its only instance goes in between, and with it the loader unloads the layer."""

import runpy
from pathlib import Path

for _ in range(2):
    runpy.run_path(str(Path(__file__).with_name("computeml.py")))
