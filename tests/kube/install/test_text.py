import json

import yaml

from ullage.kube.install.choices import COMPONENTS, Choices
from ullage.kube.install.objects import objects
from ullage.kube.install.text import json_text, yaml_text


def test_both_forms_say_what_the_objects_say():
    made = objects(Choices(components=COMPONENTS))
    assert list(yaml.safe_load_all(yaml_text(made))) == made
    assert json.loads(json_text(made)) == {"apiVersion": "v1", "kind": "List", "items": made}


def test_yaml_repeats_itself_rather_than_refer_to_another_place():
    shared = {"a": 1}
    assert yaml_text([{"b": shared, "c": shared}]) == "b:\n  a: 1\nc:\n  a: 1\n"
