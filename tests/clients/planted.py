"""computeml.py, but under capture it makes mistakes that check.py must find."""

import ctypes
import os
import runpy
import sys
from pathlib import Path

is_captured = "LANESCOPE_CAPTURE_FOLDER" in os.environ
if is_captured:
    # VkInstanceCreateInfo in words of 64 bits: its type, no chain, a flag that doesn't exist, and nothing more.
    creation = (ctypes.c_uint64 * 8)(1, 0, 1 << 30)
    ctypes.CDLL("libvulkan.so.1").vkCreateInstance(creation, None, ctypes.byref(ctypes.c_void_p()))
client = str(Path(__file__).with_name("computeml.py"))
runpy.run_path(client)
if is_captured:
    # More dispatches, more output, and another exit code.
    runpy.run_path(client)
    sys.exit(7)
