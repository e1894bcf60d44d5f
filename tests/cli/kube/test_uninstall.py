def test_a_kubeconfig_that_is_not_there_is_named(ask):
    asked = ask("kube", "uninstall", "--kubeconfig", "absent.yaml")
    assert asked.code == 1
    assert "absent.yaml" in asked.err
    assert asked.err.count("\n") == 1


def test_help_says_that_nothing_is_deleted_by_itself(ask):
    assert "Say what an uninstallation deletes, or delete it." in ask("kube", "uninstall", "--help").out
