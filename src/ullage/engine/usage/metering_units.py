"""Billing units over time: the formula of engine/capacity/billing.py at every moment, in integers.

billing_cu is no sum of a part for processors and a part for memory: which of its terms counts changes from
moment to moment, so that it is taken of both levels at the same moments, before it is summed over time.
"""

from typing import Final

import numpy as np

from ullage.engine.usage.metering_levels import Held, exact_product

GIBIBYTE: Final = 1 << 30
CPU_STEPS: Final = 1000
COMPUTE_STEPS: Final = 8 * CPU_STEPS * GIBIBYTE
"""So many steps are one billing_cu: all terms of its formula are whole numbers of them."""
HDD_SHARE: Final = 1200
SSD_SHARE: Final = 200
STORAGE_STEPS: Final = HDD_SHARE * GIBIBYTE
"""So many steps are one billing_su: a byte of HDD is one."""


def compute_units(cpu: Held, memory: Held) -> Held:
    """Return the billing_cu of levels of processors and memory, in steps."""
    of_memory = {part: exact_product(memory, COMPUTE_STEPS // GIBIBYTE // part) for part in (2, 4, 8)}
    of_cpu = {part: exact_product(cpu, COMPUTE_STEPS // CPU_STEPS // part) for part in (1, 2, 4)}
    amounts = np.minimum(
        np.minimum(np.maximum(of_memory[4], of_cpu[2]), np.maximum(of_memory[8], of_cpu[1])),
        np.maximum(of_memory[2], of_cpu[4]),
    )
    return Held(amounts, np.maximum(cpu.states, memory.states))


def storage_units(ssd: Held, hdd: Held) -> Held:
    """Return the billing_su of levels of SSD and HDD space, in steps."""
    amounts = exact_product(hdd, 1) + exact_product(ssd, HDD_SHARE // SSD_SHARE)
    return Held(amounts, np.maximum(ssd.states, hdd.states))
