/** Balancing, pools, ejection, TLS, tunnels and retries towards a service. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadBalancerProblems } from "./load-balancer.ts";
import { retryProblems } from "./retries.ts";
import { selectorProblems, targetProblems } from "./selectors.ts";
import { findings } from "./shared.fixture.ts";
import {
  clientTlsProblems,
  connectionPoolProblems,
  outlierDetectionProblems,
  tunnelProblems,
} from "./traffic-policy.ts";

type Rule = Parameters<typeof findings>[0];
type Cases = readonly (readonly [value: unknown, ...expected: readonly string[]])[];

function check(name: string, rule: Rule, cases: Cases): void {
  describe(name, () => {
    for (const [value, ...expected] of cases)
      it(`${JSON.stringify(value)?.slice(0, 120)}: ${expected[0] ?? "is good"}`, () =>
        assert.deepEqual(findings(rule, value), expected));
  });
}

const distribute = (from: string, to: Readonly<Record<string, number>>) => ({
  localityLbSetting: { distribute: [{ from, to }] },
});
const share = "x.localityLbSetting.distribute[0]";
const failover = (from: string, to: string) => ({ localityLbSetting: { failover: [{ from, to }] } });
const hash = (consistentHash: object) => ({ consistentHash });

check("balancing", (at) => loadBalancerProblems(at, true), [
  [undefined],
  [{ simple: "RANDOM" }],
  [hash({ httpHeaderName: "x-user" })],
  [hash({ httpHeaderName: "" }), "x.consistentHash.httpHeaderName a header has a name"],
  [hash({ httpCookie: { name: "c", ttl: "0s" } })],
  [
    hash({ httpCookie: { name: "c", ttl: "-1s" } }),
    "x.consistentHash.httpCookie.ttl must be a duration that is not negative",
  ],
  [
    hash({ httpCookie: { name: "c", ttl: "x" } }),
    "x.consistentHash.httpCookie.ttl must be a duration that is not negative",
  ],
  [hash({ httpCookie: { name: "c", attributes: [{ name: "a" }, { name: "b" }] } })],
  [
    hash({ httpCookie: { name: "c", attributes: [{ name: "" }, { name: "" }] } }),
    ...[0, 1].map((i) => `x.consistentHash.httpCookie.attributes[${i}].name must not be empty`),
  ],
  [
    hash({ httpCookie: { name: "c", attributes: [{ name: "a" }, { name: "a" }] } }),
    "x.consistentHash.httpCookie.attributes[1].name is set twice",
  ],
  [hash({ minimumRingSize: 7 }), "(x.consistentHash.minimumRingSize is deprecated, write ringHash.minimumRingSize)"],
  [hash({ ringHash: { minimumRingSize: 8_388_608 } })],
  [
    hash({ ringHash: { minimumRingSize: 8_388_609 } }),
    "x.consistentHash.ringHash.minimumRingSize 8388609 is more than 8388608, Envoy's largest ring",
  ],
  [
    hash({ minimumRingSize: 7, maglev: { tableSize: 7 } }),
    "(x.consistentHash.minimumRingSize is deprecated, write ringHash.minimumRingSize)",
    "x.consistentHash.minimumRingSize must not be set beside ringHash or maglev",
  ],
  [hash({ maglev: { tableSize: 65_537 } })],
  [hash({ maglev: { tableSize: 2 } })],
  [hash({ maglev: { tableSize: 3 } })],
  [
    hash({ maglev: { tableSize: 9 } }),
    "x.consistentHash.maglev.tableSize 9 is no prime number, which the size of a table is",
  ],
  [
    hash({ maglev: { tableSize: 4 } }),
    "x.consistentHash.maglev.tableSize 4 is no prime number, which the size of a table is",
  ],
  [
    hash({ maglev: { tableSize: 0 } }),
    "x.consistentHash.maglev.tableSize 0 is no prime number, which the size of a table is",
  ],
  [
    hash({ maglev: { tableSize: 5_000_011 } }),
    "x.consistentHash.maglev.tableSize 5000011 is more than 5000010, Envoy's largest table",
  ],
  [{ localityLbSetting: {}, zoneAwareLbSetting: {} }, "x.zoneAwareLbSetting must not be set beside localityLbSetting"],
  [distribute("a/*", { "a/b": 60, c: 40 })],
  [distribute("a/*", { "a/b": 60 }), `${share}.to the weights make 60, not 100`],
  [
    distribute("a", { b: 101, c: -1 }),
    `${share}.to[b] a weight is in range 1..100`,
    `${share}.to[c] a weight is in range 1..100`,
  ],
  [distribute("a", { b: 0, c: 100 }), `${share}.to[b] a weight is in range 1..100`],
  [distribute("a", { "b/*": 50, "b/c": 50 }), `${share}.to[b/c] b/c overlaps with one that stands before it`],
  [distribute("a", { "b/c": 50, b: 50 }), `${share}.to[b] b overlaps with one that stands before it`],
  [distribute("a", { "b/c/d": 50, "b/c/e": 50 })],
  [distribute("a", { "b//d": 100 }), `${share}.to[b//d] "b//d" is not of the form REGION/ZONE/SUBZONE`],
  [distribute("a*b", { c: 100 }), `${share}.from a*b: * stands at the end only`],
  [failover("a", "b")],
  [failover("a", "a"), "x.localityLbSetting.failover[0] from and to are the same region"],
  [failover("a/z", "b"), "x.localityLbSetting.failover[0] names regions only, no zones"],
  [failover("a", "b*"), "x.localityLbSetting.failover[0] names regions, * is no wildcard"],
  [
    { localityLbSetting: { distribute: [{ from: "a", to: { b: 100 } }], failover: [{ from: "a", to: "b" }] } },
    "x.localityLbSetting.failover must not be set beside distribute",
  ],
  [
    {
      localityLbSetting: {
        failover: [{ from: "a", to: "b" }],
        failoverPriority: ["topology.kubernetes.io/zone", "app"],
      },
    },
    "x.localityLbSetting.failoverPriority[0] topology.kubernetes.io/zone must not be set beside failover",
  ],
  [{ localityLbSetting: { failoverPriority: ["topology.kubernetes.io/zone"] } }],
  [{ zoneAwareLbSetting: { failoverPriority: ["app"] } }],
  [
    { zoneAwareLbSetting: { failoverPriority: ["topology.kubernetes.io/region"] } },
    "x.zoneAwareLbSetting.failoverPriority[0] topology.kubernetes.io/region is followed already: zones and regions need no priority",
  ],
  [{ warmup: { duration: "1s", minimumPercent: 100, aggression: 1 } }],
  [{ warmup: {} }, "x.warmup.duration is required"],
  [{ warmup: { duration: "1s", minimumPercent: 101 } }, "x.warmup.minimumPercent percentage 101 is more than 100"],
  [{ warmup: { duration: "1s", aggression: 0 } }, "x.warmup.aggression must be more than 0"],
]);

check("balancing without ejection", (at) => loadBalancerProblems(at, false), [
  [
    failover("a", "b"),
    "(x.localityLbSetting has no effect without outlierDetection, which finds the endpoints that fail)",
  ],
  [
    { localityLbSetting: { failoverPriority: ["app"] } },
    "(x.localityLbSetting has no effect without outlierDetection, which finds the endpoints that fail)",
  ],
  [distribute("a", { b: 100 })],
]);

check("a pool", connectionPoolProblems, [
  [undefined],
  [{}, "x needs http or tcp"],
  [{ tcp: {} }],
  [{ http: {} }],
  [{ http: { maxRetries: -1 } }, "x.http.maxRetries must not be negative, is -1"],
  [{ http: { maxConcurrentStreams: -1 } }, "x.http.maxConcurrentStreams must not be negative, is -1"],
  [{ http: { idleTimeout: "0s" } }, "x.http.idleTimeout 0s is less than 1ms"],
  [
    { http: { h2UpgradePolicy: "UPGRADE", useClientProtocol: true } },
    "x.http.useClientProtocol must not be true where h2UpgradePolicy is UPGRADE",
  ],
  [{ http: { h2UpgradePolicy: "UPGRADE", useClientProtocol: false } }],
  [{ http: { h2UpgradePolicy: "DEFAULT", useClientProtocol: true } }],
  [{ http: { http2KeepAlive: { interval: "1s" } } }, "x.http.http2KeepAlive.timeout is required"],
  [{ http: { http2KeepAlive: { interval: "1s", timeout: "1s" } } }],
  [{ tcp: { maxConnections: -1 } }, "x.tcp.maxConnections must not be negative, is -1"],
  [{ tcp: { idleTimeout: "0s" } }],
  [{ tcp: { connectTimeout: "0s" } }, "x.tcp.connectTimeout 0s is less than 1ms"],
  [{ tcp: { tcpKeepalive: { interval: "0s" } } }, "x.tcp.tcpKeepalive.interval 0s is less than 1ms"],
]);

check("ejection", outlierDetectionProblems, [
  [undefined],
  [{ interval: "1s", maxEjectionPercent: 100 }],
  [{ interval: "0s" }, "x.interval 0s is less than 1ms"],
  [{ minHealthPercent: 101 }, "x.minHealthPercent percentage 101 is not in range 0..100"],
  [
    { consecutiveLocalOriginFailures: 1 },
    "x.consecutiveLocalOriginFailures counts only where splitExternalLocalOriginErrors is true",
  ],
  [{ consecutiveLocalOriginFailures: 0 }],
  [{ consecutiveLocalOriginFailures: 1, splitExternalLocalOriginErrors: true }],
  [
    { consecutiveErrors: 1 },
    "(x.consecutiveErrors is deprecated, write consecutiveGatewayErrors or consecutive5xxErrors)",
  ],
]);

const verify = (roots: string) =>
  `x.insecureSkipVerify must not be true beside ${roots} or subjectAltNames, which verify`;

check("TLS towards a service", (at) => clientTlsProblems(at, "shop"), [
  [undefined],
  [{ mode: "SIMPLE", caCertificates: "r" }],
  [{ mode: "MUTUAL" }, "x.clientCertificate is required for mode MUTUAL", "x.privateKey is required for mode MUTUAL"],
  [{ mode: "MUTUAL", clientCertificate: "c", privateKey: "k" }],
  [{ mode: "MUTUAL", credentialName: "s" }],
  [
    { mode: "MUTUAL", credentialName: "s", caCertificates: "r" },
    "x.caCertificates must not be set beside credentialName",
  ],
  [{ mode: "ISTIO_MUTUAL", credentialName: "s", caCertificates: "r" }],
  [{ mode: "SIMPLE", credentialName: "configmap://shop/roots" }],
  [
    { mode: "SIMPLE", credentialName: "configmap://bank/roots" },
    "x.credentialName a ConfigMap is named configmap://NAMESPACE/NAME and is of the rule's own namespace",
  ],
  [{ mode: "SIMPLE", sni: "a".repeat(255) }],
  [{ mode: "SIMPLE", sni: "a".repeat(256) }, "x.sni a server name has at most 255 bytes"],
  [{ mode: "SIMPLE", subjectAltNames: ["a", ""] }, "x.subjectAltNames[1] must not be empty"],
  [{ mode: "SIMPLE", insecureSkipVerify: true }],
  [{ mode: "SIMPLE", insecureSkipVerify: true, caCertificates: "r" }, verify("caCertificates, credentialName")],
  [{ mode: "SIMPLE", insecureSkipVerify: true, subjectAltNames: ["a"] }, verify("caCertificates, credentialName")],
  [{ mode: "SIMPLE", insecureSkipVerify: true, subjectAltNames: [] }],
  [{ mode: "MUTUAL", insecureSkipVerify: true, credentialName: "s" }],
  [{ mode: "DISABLE", insecureSkipVerify: true, caCertificates: "r" }],
  [{ mode: "SIMPLE", insecureSkipVerify: false, caCertificates: "r" }],
]);

check("a tunnel", tunnelProblems, [
  [undefined],
  [{ targetHost: "a.com", targetPort: 80 }],
  [{ protocol: "POST", targetHost: "10.0.0.1", targetPort: 80 }],
  [{ protocol: "GET", targetHost: "a.com", targetPort: 80 }, "x.protocol must be CONNECT or POST"],
  [{ targetHost: "a_b", targetPort: 80 }, 'x.targetHost "a_b" is neither a host name nor an IP address'],
  [{ targetHost: "a.com" }, "x.targetPort 0 is no port number between 1 and 65535"],
]);

const off = "must not be set where attempts is 0, which turns retries off";

check("retries", retryProblems, [
  [undefined],
  [{ attempts: 2, retryOn: "5xx,503,unavailable", perTryTimeout: "1s", backoff: "1s" }],
  [{ attempts: 0 }],
  [{ attempts: -1 }, "x.attempts must not be negative, is -1"],
  [{ attempts: 0, perTryTimeout: "1s", retryOn: "5xx" }, `x.perTryTimeout ${off}`, `x.retryOn ${off}`],
  [{ attempts: 1, retryOn: "5xx,often" }, 'x.retryOn "often" is no retry condition of Envoy, such as 5xx or 503'],
  [{ attempts: 1, retryOn: "299" }, 'x.retryOn "299" is no retry condition of Envoy, such as 5xx or 503'],
  [{ attempts: 1, retryOn: "0503" }, 'x.retryOn "0503" is no retry condition of Envoy, such as 5xx or 503'],
  [{ attempts: 1, backoff: "0s" }, "x.backoff 0s is less than 1ms"],
]);

const wide = "has no labels, so that it selects every workload of the namespace";
const gateway = { group: "gateway.networking.k8s.io", kind: "Gateway", name: "g" };

check("a selector", (at) => selectorProblems(at, "matchLabels"), [
  [undefined],
  [{ matchLabels: { app: "web" } }],
  [{}, `(x ${wide})`],
  [{ labels: { app: "web" } }, `(x ${wide})`],
  [{ matchLabels: { "": "web" } }, "x.matchLabels[] a label has a name"],
  [{ matchLabels: { app: "w*" } }, 'x.matchLabels[app] "app=w*": labels are compared as they are, * is no wildcard'],
  [{ matchLabels: { "a*": "w" } }, 'x.matchLabels[a*] "a*=w": labels are compared as they are, * is no wildcard'],
]);

check("targets", targetProblems, [
  [{}],
  [{ targetRef: gateway }],
  [
    {
      targetRefs: [
        gateway,
        { kind: "Service", name: "s" },
        { group: "networking.istio.io", kind: "ServiceEntry", name: "e" },
      ],
    },
  ],
  [{ targetRef: gateway, targetRefs: [gateway] }, "x only one of selector, targetRef and targetRefs can be set"],
  [
    { selector: { matchLabels: { a: "b" } }, targetRef: gateway },
    "x only one of selector, targetRef and targetRefs can be set",
  ],
  [{ targetRef: { ...gateway, name: "" } }, "x.targetRef.name must not be empty"],
  [
    { targetRef: { ...gateway, namespace: "shop" } },
    "x.targetRef.namespace must not be set: a policy is for targets of its own namespace",
  ],
  [
    { targetRefs: [{ kind: "Pod", name: "p" }] },
    "x.targetRefs[0] /Pod is none of Service, ServiceEntry, Gateway and GatewayClass",
  ],
]);
