"""A dump of 30 000 pods to a snapshot, against `json.load` of the same file: CPU time and peak memory.

Each reading is a process of its own, because memory that was used once stays with its process. The dump is
made once, from a fixed seed, and kept in .cache/benchmarks.
"""

import json
import resource
import sys
import time
from itertools import chain
from pathlib import Path

import msgspec

from dump_objects import Draw, node_names, nodes, pods
from measure import ROUNDS, calibration_seconds, child_figures

ROOT = Path(__file__).resolve().parents[2]
DUMP = ROOT / ".cache" / "benchmarks" / "dump-30000-pods.json"
SEED = 20_260_101
NODES = 1_000
PODS = 30_000
PEAK_BYTES_MAX = 700_000_000
SPEEDUP_MIN = 3
