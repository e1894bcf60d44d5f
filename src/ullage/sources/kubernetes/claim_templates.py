"""The claims that a StatefulSet makes for each of its replicas, as volumes of its template."""

from typing import Any, Final

import msgspec

from ullage.model.cluster import Volume
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.faults import Fault, wrong_type
from ullage.sources.kubernetes.objects import claimed, template_group
from ullage.sources.kubernetes.pods import template_names_no_class
from ullage.sources.kubernetes.wire import ClaimTemplate

_CLAIM_TEMPLATES: Final = msgspec.json.Decoder(list[ClaimTemplate] | None)


def claims_of_templates(value: Any, owner: str, amounts: Amounts) -> tuple[list[Volume], frozenset[str]]:
    """Return the volumes of a StatefulSet, and those of them that name no class; raises a Fault.

    There is one of each per replica: the claim of replica 3 is called CLAIM-3.
    """
    path = ("spec", "volumeClaimTemplates")
    text = msgspec.json.encode(value["spec"].get("volumeClaimTemplates"))
    try:
        templates = _CLAIM_TEMPLATES.decode(text) or []
    except msgspec.ValidationError as error:
        raise wrong_type(error, text).under(*path) from None
    volumes, classless = [], set()
    for index, template in enumerate(templates):
        try:
            storage_class, size_bytes = claimed(template.spec, amounts)
        except Fault as fault:
            raise fault.under(*path, index, "spec") from None
        try:
            group = template_group(template)
        except Fault as fault:
            raise fault.under(*path, index) from None
        volume_name = (template.metadata and template.metadata.name) or f"volume-{index}"
        claim = f"{volume_name}-{owner}"
        volumes.append(Volume(volume_name, claim, storage_class, size_bytes, storage_group=group))
        if template_names_no_class(template):
            classless.add(volume_name)
    return volumes, frozenset(classless)
