"""Every replica of the operator answers the API server, with the certificate that holds at the moment."""

import ssl

from kube_cluster import NAMESPACE, free_port_numbers, until

SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/ullage-webhook-certificate"


def test_every_replica_serves_the_webhook_and_a_new_certificate_without_a_restart(kube_cluster):
    ports = free_port_numbers(2)
    operators = [
        kube_cluster.start("operator", "--webhook-port", str(port), ready="serves the webhook")
        for port in ports
    ]

    def served() -> set[str]:
        return {ssl.get_server_certificate(("127.0.0.1", port)) for port in ports}

    (first,) = served()
    kube_cluster.plane.delete(SECRET)
    until(lambda: len(served()) == 1 and served() != {first}, "both serve the new certificate", 90)
    assert all(operator.process.poll() is None for operator in operators)
    leaders = [operator.said('"leads"') for operator in operators]
    assert leaders == [True, False]
