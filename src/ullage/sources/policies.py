"""Policies by name or file: the built-in profiles, and files that users write over them.

A file may inherit a profile or another file, named relative to it; each becomes one layer, the base first.
The hard part is that a chain of files may be a circle, or without end: it is followed at most CHAIN_MAX
steps, and a circle is named in full.
"""

import os
from collections.abc import Mapping
from importlib import resources as package_files
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from ullage.model.errors import InputError
from ullage.model.policy import PROFILE_NAMES, Layer, Policy
from ullage.model.resources import ResourceTypes
from ullage.model.settings import check_setting
from ullage.sources.documents import Document, documents_of, read_documents
from ullage.sources.given import given, is_there
from ullage.sources.limits import POLICY_LIMITS
from ullage.sources.own_format import read_policy_document
from ullage.sources.own_records import PolicyDocument, SettingValue
from ullage.sources.places import shown

_FIELDS: Final = msgspec.json.Decoder(dict[str, Any])
CHAIN_MAX: Final = 16
"""Policies that may inherit one another in one chain."""


class PolicyFile(NamedTuple):
    """A policy as it stands in its file, and where that is."""

    origin: str
    document: Document
    content: PolicyDocument
    built_in: bool


def builtin_names() -> tuple[str, ...]:
    """Return the names of the built-in profiles."""
    return PROFILE_NAMES


def describe_profile(name: str) -> str:
    """Return in one line what a built-in profile stands for."""
    return _read_profile(name).content.description


def load_policy(name_or_path: str, types: ResourceTypes, *, checked: bool = True) -> Policy:
    """Return a profile or the policy in a file, with all that it inherits; unchecked, any setting is kept."""
    chain = _chain(name_or_path)
    if checked:
        for file in chain:
            _check_settings(file, types)
    return Policy(_name(chain[0], name_or_path), tuple(_layer(file) for file in reversed(chain)))


def read_policy_file(path: str) -> PolicyFile:
    """Return the one policy that stands in a file, without what it inherits."""
    if is_there(path) and given(path) is None and Path(path).is_dir():
        raise InputError("is a folder", where=path, remedy="name a policy file")
    documents = list(read_documents(path, limits=POLICY_LIMITS))
    if len(documents) != 1:
        raise InputError(
            f"{len(documents)} documents where one policy is expected", where=path, remedy="split the file"
        )
    content = read_policy_document(documents[0])
    _check_fields(documents[0])
    return PolicyFile(path, documents[0], content, built_in=False)


def _check_fields(document: Document) -> None:
    """Refuse a field that policies do not have: whoever wrote it believes that it is in force."""
    for name in document.decode(_FIELDS):
        if name not in PolicyDocument.__struct_encode_fields__:
            raise document.error(
                f"a policy has no field {shown(name)!r}",
                path=(name,),
                remedy="write settings under cluster, groups or nodes, and name a profile with inherits",
            )


def _chain(name_or_path: str) -> list[PolicyFile]:
    """Return a policy, the one it inherits, and so on."""
    chain: list[PolicyFile] = []
    seen: list[str] = []
    wanted, folder = name_or_path, ""
    while wanted:
        identity, file = _find(wanted, folder, chain[-1].document.where(("inherits",)) if chain else "")
        if identity in seen:
            circle = " -> ".join([*(each.origin for each in chain[seen.index(identity) :]), file.origin])
            raise InputError(
                f"policies inherit in a circle: {circle}",
                where=chain[-1].document.where(("inherits",)),
                remedy="let one of them inherit a profile",
            )
        if len(chain) == CHAIN_MAX:
            raise InputError(
                f"more than {CHAIN_MAX} policies inherit one another",
                where=chain[-1].document.where(("inherits",)),
                remedy="join some of them",
            )
        chain.append(file)
        seen.append(identity)
        wanted, folder = file.content.inherits, "" if file.built_in else str(Path(file.origin).parent)
    return chain


def _find(wanted: str, folder: str, where: str) -> tuple[str, PolicyFile]:
    """Return what a policy is known by, and the policy; a path is relative to the file that names it."""
    if wanted in PROFILE_NAMES:
        return wanted, _read_profile(wanted)
    path = os.path.normpath(Path(folder, wanted))
    if not is_there(path):
        raise InputError(
            f"policy {shown(wanted)!r} is neither a profile nor a file",
            where=where,
            remedy=f"use {', '.join(PROFILE_NAMES)}, or the path of a policy file",
        )
    return os.path.realpath(path), read_policy_file(path)


def _read_profile(name: str) -> PolicyFile:
    if name not in PROFILE_NAMES:
        raise InputError(f"{shown(name)!r} is no profile", remedy=f"use {', '.join(PROFILE_NAMES)}")
    data = package_files.files("ullage").joinpath("profiles", f"{name}.yaml").read_bytes()
    (document,) = documents_of(data, f"profile {name}")
    return PolicyFile(f"profile {name}", document, read_policy_document(document), built_in=True)


def _name(file: PolicyFile, name_or_path: str) -> str:
    return file.content.name or (name_or_path if file.built_in else Path(name_or_path).stem)


def _layer(file: PolicyFile) -> Layer:
    content = file.content
    return Layer(
        file.origin,
        file.built_in,
        texts(content.cluster),
        {name: texts(settings) for name, settings in content.groups.items()},
        {name: texts(settings) for name, settings in content.nodes.items()},
    )


def texts(settings: Mapping[str, SettingValue]) -> dict[str, str]:
    """Return settings as text, whether they were written as numbers or in quotes."""
    return {key: value if isinstance(value, str) else repr(value) for key, value in settings.items()}


def _check_settings(file: PolicyFile, types: ResourceTypes) -> None:
    content = file.content
    places: list[tuple[tuple[str, ...], Mapping[str, SettingValue]]] = [(("cluster",), content.cluster)]
    places += [(("groups", name), settings) for name, settings in content.groups.items()]
    places += [(("nodes", name), settings) for name, settings in content.nodes.items()]
    for path, settings in places:
        for key, text in texts(settings).items():
            try:
                check_setting(key, text, types)
            except InputError as error:
                where = file.document.where((*path, key))
                raise InputError(error.what, where=where, remedy=error.remedy) from None
