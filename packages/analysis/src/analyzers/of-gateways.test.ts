/** Findings of analyzers in Gateways: ports, credentials, conflicts. */
import { aPod, aService, check, one } from "./analyzers.fixture.ts";

const gateway = (servers: readonly object[], name = "g", selector: object = { app: "gw" }) =>
  one("Gateway", name, { selector, servers });
const pod = aPod("gw-1", { app: "gw" });
const http = { port: { number: 80 }, hosts: ["a"] };

check("gateway-ports", [
  ["no workloads", [gateway([http])], ["ReferencedResourceNotFound g spec.selector"]],
  ["a port of the Service", [gateway([http]), pod, aService("gw", [80], { selector: { app: "gw" } })], []],
  [
    "a target of the Service",
    [gateway([http]), pod, aService("gw", [{ port: 443, targetPort: 80 }], { selector: { app: "gw" } })],
    [],
  ],
  [
    "a target by name",
    [gateway([http]), pod, aService("gw", [{ port: 443, targetPort: "http" }], { selector: { app: "gw" } })],
    ["GatewayPortNotOnService g spec.servers[0].port.number"],
  ],
  [
    "a port of UDP",
    [gateway([http]), pod, aService("gw", [{ port: 80, protocol: "UDP" }], { selector: { app: "gw" } })],
    ["GatewayPortNotOnService g spec.servers[0].port.number"],
  ],
  [
    "a port of TCP",
    [gateway([http]), pod, aService("gw", [{ port: 80, protocol: "TCP" }], { selector: { app: "gw" } })],
    [],
  ],
  [
    "a Service of other pods",
    [gateway([http]), pod, aService("gw", [80], { selector: { app: "other" } })],
    ["GatewayPortNotOnService g spec.servers[0].port.number"],
  ],
  [
    "a Service of another namespace",
    [gateway([http]), pod, aService("gw", [80], { selector: { app: "gw" } }, { namespace: "bank" })],
    ["GatewayPortNotOnService g spec.servers[0].port.number"],
  ],
  ["a server without a port", [gateway([{ hosts: ["a"] }]), pod], []],
]);

const tls = gateway([{ ...http, tls: { credentialName: "s" } }]);
const secret = (fields: object, namespace = "shop") => one("Secret", "s", {}, { namespace, fields });
const encoded = (data: Readonly<Record<string, string>>) => ({
  data: Object.fromEntries(Object.entries(data).map(([name, text]) => [name, btoa(text)])),
});
const invalid = ["InvalidGatewayCredential g spec.servers[0].tls.credentialName"];

check("gateway-credentials", [
  ["no workloads", [tls], ["ReferencedResourceNotFound g spec.selector"]],
  ["no Secret", [tls, pod], ["ReferencedResourceNotFound g spec.servers[0].tls.credentialName"]],
  [
    "a Secret of another namespace",
    [tls, pod, secret(encoded({ cert: "good", key: "k" }), "bank")],
    ["ReferencedResourceNotFound g spec.servers[0].tls.credentialName"],
  ],
  ["a pair", [tls, pod, secret(encoded({ cert: "good", key: "k" }))], []],
  ["a pair of Kubernetes' type", [tls, pod, secret(encoded({ "tls.crt": "good", "tls.key": "k" }))], []],
  ["a pair as text", [tls, pod, secret({ stringData: { cert: "good", key: "k" } })], []],
  ["no key", [tls, pod, secret(encoded({ cert: "good", "tls.key": "k" }))], invalid],
  ["an empty key", [tls, pod, secret(encoded({ cert: "good", key: "" }))], invalid],
  ["no base64", [tls, pod, secret({ data: { cert: "good!", key: "!" } })], invalid],
  ["a certificate that ended", [tls, pod, secret(encoded({ cert: "late", key: "k" }))], invalid],
  ["a certificate that is not valid yet", [tls, pod, secret(encoded({ cert: "early", key: "k" }))], invalid],
  ["no certificate", [tls, pod, secret(encoded({ cert: "text", key: "k" }))], invalid],
  ["a server without TLS", [gateway([http]), pod], []],
]);

const conflict = (name: string) => `ConflictingGateways ${name} spec.servers[0]`;

check("gateway-conflicts", [
  ["the same host and port", [gateway([http], "a"), gateway([http], "b")], [conflict("a"), conflict("b")]],
  ["another host", [gateway([http], "a"), gateway([{ ...http, hosts: ["b"] }], "b")], []],
  ["another port", [gateway([http], "a"), gateway([{ ...http, port: { number: 81 } }], "b")], []],
  ["another address", [gateway([{ ...http, bind: "10.0.0.1" }], "a"), gateway([http], "b")], []],
  ["other workloads", [gateway([http], "a"), gateway([http], "b", { app: "other" })], []],
  ["a wider selector without a pod", [gateway([http], "a"), gateway([http], "b", { app: "gw", x: "y" })], []],
  [
    "a wider selector with a pod",
    [gateway([http], "a"), gateway([http], "b", { app: "gw", x: "y" }), aPod("p", { app: "gw", x: "y" })],
    [conflict("a"), conflict("b")],
  ],
  ["one alone", [gateway([http, { ...http, hosts: ["b"] }], "a")], []],
]);

const server = (tlsOf: object) => ({ ...http, tls: tlsOf });
const twice = ["GatewayDuplicateCertificate a", "GatewayDuplicateCertificate b"];

check("gateway-certificates", [
  [
    "the same Secret",
    [gateway([server({ credentialName: "s" })], "a"), gateway([server({ credentialName: "s" })], "b")],
    twice,
  ],
  [
    "other Secrets",
    [gateway([server({ credentialName: "s" })], "a"), gateway([server({ credentialName: "t" })], "b")],
    [],
  ],
  [
    "the same files",
    [
      gateway([server({ serverCertificate: "c", privateKey: "k" })], "a"),
      gateway([server({ serverCertificate: "c", privateKey: "k" })], "b"),
    ],
    twice,
  ],
  [
    "a certificate without a key",
    [gateway([server({ serverCertificate: "c" })], "a"), gateway([server({ serverCertificate: "c" })], "b")],
    [],
  ],
  [
    "other keys",
    [
      gateway([server({ serverCertificate: "c", privateKey: "k" })], "a"),
      gateway([server({ serverCertificate: "c", privateKey: "l" })], "b"),
    ],
    [],
  ],
  [
    "other workloads",
    [gateway([server({ credentialName: "s" })], "a"), gateway([server({ credentialName: "s" })], "b", { app: "x" })],
    [],
  ],
  [
    "some of the workloads",
    [
      gateway([server({ credentialName: "s" })], "a"),
      gateway([server({ credentialName: "s" })], "b", { app: "gw", x: "y" }),
    ],
    ["GatewayDuplicateCertificate a"],
  ],
  ["no TLS", [gateway([http], "a"), gateway([http], "b")], []],
]);
