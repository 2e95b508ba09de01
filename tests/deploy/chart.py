"""The Helm chart in the modes that tests look at, rendered by Helm."""

import yaml

from tests.deploy.commands import DEPLOY
from tests.deploy.go_tools import HELM
from tests.deploy.kubernetes_schemas import NEWEST

CHART = DEPLOY / "helm" / "tsproxy"
TOKEN = "a" * 32
ENVIRONMENT = {"TSPROXY_PASSWORD": "secret"}

PLAIN = {
    "image": {"repository": "registry.example.com/tsproxy"},
    "upstream": {"bootstrapServers": ["kafka-bootstrap.kafka.svc:9092"]},
}
MODES = {
    "ports": PLAIN,
    "ports, ids from 1001 on, load balancer": PLAIN
    | {
        "listener": {
            "advertisedHost": "kafka.example.com",
            "brokers": {"firstId": 1001, "count": 6},
            "proxyProtocolFrom": ["10.0.0.0/8"],
        },
        "service": {
            "type": "LoadBalancer",
            "externalTrafficPolicy": "Local",
            "annotations": {"example.com/internal": "true"},
        },
        "drain": {"delaySeconds": 20, "timeoutSeconds": 60},
        "workers": 4,
    },
    "SNI, everything with TLS": PLAIN
    | {
        "listener": {
            "mode": "sni",
            "advertisedHost": "kafka.example.com",
            "brokers": {"host": "b{node_id}.kafka.example.com"},
            "tls": {"secret": "listener", "clientCaSecret": "clients"},
            "settings": {"tls": {"principal_mapping": ["RULE:^CN=(.*?),.*$/$1/", "DEFAULT"]}},
        },
        "upstream": {
            "bootstrapServers": ["kafka-1:9093", "kafka-2:9093"],
            "tls": {"enabled": True, "caSecret": "kafka-ca", "certificateSecret": "proxy"},
        },
        "admin": {"tlsSecret": "admin", "tokenSecret": {"name": "token"}},
        "monitoring": {
            "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
            "rules": {"enabled": True, "docs": "https://docs.example.com/monitoring"},
            "dashboard": {"enabled": True},
        },
    },
    "Deployment, one volume for all, reports": PLAIN
    | {
        "workload": "Deployment",
        "decisions": {"volume": "shared", "storageClass": "nfs"},
        "reports": {
            "enabled": True,
            "image": "registry.example.com/tsproxy-reports:0.1.0",
            "arguments": ["--fail-on=rejected_rate>1%"],
        },
        "monitoring": {"serviceMonitor": {"enabled": True}},
    },
    "Deployment without a volume, SASL": PLAIN
    | {
        "workload": "Deployment",
        "decisions": {"volume": "none"},
        "upstream": {
            "bootstrapServers": ["kafka:9092"],
            "admin": {
                "sasl": {
                    "mechanism": "SCRAM-SHA-512",
                    "username": "tsproxy",
                    "password": "${TSPROXY_PASSWORD}",
                }
            },
        },
        "environmentSecrets": ["tsproxy-password"],
        "config": {
            "policy": {
                "mode": "enforce",
                "rules": [
                    {
                        "name": "week",
                        "match": {"topics": ["clicks"]},
                        "message.timestamp.before.max.ms": 604_800_000,
                    }
                ],
            },
            "limits": {"buffered": "512MiB"},
            "decisions": {"topic": {"name": "tsproxy-decisions"}},
        },
        "podDisruptionBudget": {"enabled": False},
        "restartOnConfigChange": False,
    },
    "closed by a NetworkPolicy, with a sidecar": PLAIN
    | {
        "networkPolicy": {
            "enabled": True,
            "clients": [{"namespaceSelector": {"matchLabels": {"kafka": "yes"}}}],
            "admin": [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}}}],
            "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}, {"ports": [{"port": 53}]}],
        },
        "listener": {"brokers": {"portsFrom": 9300, "firstId": 5, "count": 20}},
        "priorityClassName": "kafka",
        "admin": {"tokenSecret": {"name": "token"}},
        "extraEnv": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "extraInitContainers": [
            {
                "name": "shipper",
                "image": "shipper:1",
                "restartPolicy": "Always",
                "volumeMounts": [{"name": "decisions", "mountPath": "/log", "readOnly": True}],
            }
        ],
    },
    "reports of files elsewhere": PLAIN
    | {
        "reports": {
            "priorityClassName": "batch",
            "extraInitContainers": [{"name": "jars", "image": "jars:1"}],
            "enabled": True,
            "image": "reports:1",
            "input": ["s3a://lake/tsproxy/{date}"],
            "storage": {"prefix": "s3a://lake"},
            "environmentSecrets": ["lake"],
        }
    },
}


def render(tmp_path, values, chart=CHART, namespace="streams", release="px"):
    """The objects that Helm makes of the chart."""
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    options = ("--namespace", namespace, "--kube-version", NEWEST, "--values", file)
    text = HELM.output("template", release, chart, *options)
    rendered = tmp_path / "rendered.yaml"
    rendered.write_text(text)
    return [each for each in yaml.safe_load_all(text) if each]


def all_of_kind(objects, *kinds):
    return [made for made in objects if made["kind"] in kinds]


def of_kind(objects, *kinds):
    [only] = all_of_kind(objects, *kinds)
    return only


def pods(objects):
    """The pod template of the proxies."""
    return of_kind(objects, "StatefulSet", "Deployment")["spec"]["template"]["spec"]


def job(objects):
    """The pod template of the reports' job."""
    return of_kind(objects, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def services(objects):
    return all_of_kind(objects, "Service")


def configuration(tmp_path, objects, certificates):
    """The file that the ConfigMap holds, with certificates and a token where its Secrets would be mounted."""
    [text] = [
        made["data"]["tsproxy.yaml"]
        for made in all_of_kind(objects, "ConfigMap")
        if "tsproxy.yaml" in made["data"]
    ]
    folder = tmp_path / "tls"
    pair = certificates.issue("kafka.example.com")
    for mount in pods(objects)["containers"][0]["volumeMounts"]:
        if mount["mountPath"].startswith("/etc/tsproxy/tls/"):
            secret = folder / mount["mountPath"].rpartition("/")[2]
            secret.mkdir(parents=True)
            (secret / "tls.crt").write_bytes(pair.certificate.read_bytes())
            (secret / "tls.key").write_bytes(pair.key.read_bytes())
            (secret / "ca.crt").write_bytes(certificates.certificate.read_bytes())
            (secret / "token").write_text(TOKEN)
    file = tmp_path / "tsproxy.yaml"
    file.write_text(text.replace("/etc/tsproxy/tls", str(folder)))
    return file
