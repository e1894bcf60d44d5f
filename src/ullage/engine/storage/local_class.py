"""Which local disks a storage class means.

csi-baremetal says so in a parameter of the class, in capitals or not; a word that it does not know means any
whole drive. Where no class of a name is known, each of the eight names stands for itself: a cluster that is
written by hand needs no such objects.
"""

from typing import Final, get_args

from ullage.model.drives import ANY, LocalClass
from ullage.model.storage import StorageClass

PROVISIONER: Final = "csi-baremetal"
STORAGE_TYPE: Final = "storageType"
LOCAL_CLASSES: Final[dict[str, LocalClass]] = {name: name for name in get_args(LocalClass)}


def local_class(storage_class: StorageClass | None, name: str) -> LocalClass | None:
    """Return what a volume of a class wants of a local disk; None where it wants none.

    `storage_class` is the class of that name, or None where no such class is known.
    """
    if storage_class is None:
        return LOCAL_CLASSES.get(name)
    if storage_class.provisioner != PROVISIONER:
        return None
    return stated_class(storage_class.parameters.get(STORAGE_TYPE, ""))


def stated_class(text: str) -> LocalClass:
    """Return the class that csi-baremetal reads in a text: any whole drive where it is none of the eight."""
    return LOCAL_CLASSES.get(text.upper(), ANY)


def class_standing_for_itself(name: str) -> StorageClass | None:
    """Return the class that one of the eight names stands for where no object of that name is known."""
    if name not in LOCAL_CLASSES:
        return None
    return StorageClass(name, PROVISIONER, "WaitForFirstConsumer", parameters={STORAGE_TYPE: name})
