import { describeRules } from "./rules.fixture.ts";

const port = { number: 80, name: "http", protocol: "HTTP" };
const egress = (listener: object) => ({ egress: [{ hosts: ["./*"], ...listener }] });
const ingress = (listener: object) => ({ ingress: [{ port, defaultEndpoint: "127.0.0.1:80", ...listener }] });
const outbound = (outboundTrafficPolicy: object) => ({ outboundTrafficPolicy });
const proxy = { host: "a.example", port: { number: 80 } };
const socket = { port: { number: 0, protocol: "HTTP" }, bind: "unix:///a" };

describeRules("networking.istio.io/v1", "Sidecar", [
  ["it sets something", egress({}), {}, /^spec: needs one of egress/],
  [
    "selectors have labels",
    { workloadSelector: { labels: { a: "b" } }, ...egress({}) },
    { workloadSelector: {}, ...egress({}) },
    /^warning spec\.workloadSelector/,
  ],
  [
    "hosts have namespaces",
    egress({ hosts: ["~ns/*", "*/a.example"] }),
    egress({ hosts: ["a.example"] }),
    /hosts\[0\]: "a\.example" is not of the form NAMESPACE\/HOST/,
  ],
  [
    "namespaces are names",
    egress({ hosts: ["~/*"] }),
    egress({ hosts: ["A_b/*"] }),
    /hosts\[0\]: "A_b" is no name of a namespace/,
  ],
  ["there are hosts", egress({}), egress({ hosts: [] }), /hosts: a listener has at least one host/],
  [
    "hosts are imported once",
    egress({ hosts: ["ns/a.example", "ns/b.example"] }),
    egress({ hosts: ["./*", "shop/a.example"] }),
    /^warning .*hosts\[1\]: is imported already/,
  ],
  [
    "everything is everything",
    egress({ hosts: ["*/*"] }),
    egress({ hosts: ["*/*", "ns/a.example"] }),
    /^warning .*hosts: \*\/\* imports everything/,
  ],
  [
    "the listener of all ports stands last",
    { egress: [{ port, hosts: ["./*"] }, { hosts: ["./*"] }] },
    { egress: [{ hosts: ["./*"] }, { port, hosts: ["./*"] }] },
    /egress\[0\]: a listener without a port is for all other ports/,
  ],
  [
    "ports are listened on once",
    { egress: [{ port, hosts: ["./*"] }] },
    {
      egress: [
        { port, hosts: ["./*"] },
        { port, hosts: ["./*"] },
      ],
    },
    /egress\[1\]\.port\.number: another listener has port 80/,
  ],
  [
    "sockets have no port",
    egress(socket),
    egress({ port: { number: 0, protocol: "HTTP" }, bind: "10.0.0.1" }),
    /bind: a listener without a port number is bound to a socket/,
  ],
  [
    "sockets are not captured",
    egress(socket),
    egress({ ...socket, captureMode: "IPTABLES" }),
    /captureMode: must be DEFAULT or NONE/,
  ],
  [
    "sockets are listened on once",
    egress(socket),
    {
      egress: [
        { ...socket, hosts: ["./*"] },
        { ...socket, hosts: ["./*"] },
      ],
    },
    /egress\[1\]\.bind: another listener has this socket/,
  ],
  [
    "protocols are known",
    egress({ port }),
    egress({ port: { ...port, protocol: "http1" } }),
    /protocol: "http1" is no protocol/,
  ],
  [
    "addresses are addresses",
    egress({ port, bind: "127.0.0.1" }),
    egress({ port, bind: "a" }),
    /bind: "a" is no IP address/,
  ],
  [
    "ingress listeners have ports",
    ingress({}),
    { ingress: [{ defaultEndpoint: "127.0.0.1:80" }] },
    /ingress\[0\]\.port: is required/,
  ],
  [
    "endpoints are the workload's",
    ingress({ defaultEndpoint: "[::1]:80" }),
    ingress({ defaultEndpoint: "10.0.0.1:80" }),
    /defaultEndpoint: "10\.0\.0\.1:80" is none of/,
  ],
  [
    "endpoints have ports",
    ingress({ defaultEndpoint: "unix:///a" }),
    ingress({ defaultEndpoint: "127.0.0.1:x" }),
    /defaultEndpoint: "x" is no port/,
  ],
  [
    "TLS is for protocols with TLS",
    ingress({
      port: { ...port, protocol: "HTTPS" },
      tls: { mode: "SIMPLE", serverCertificate: "/a", privateKey: "/b" },
    }),
    ingress({ tls: { mode: "SIMPLE", serverCertificate: "/a", privateKey: "/b" } }),
    /tls: must not be set for protocol HTTP/,
  ],
  [
    "Secrets are for gateways",
    ingress({}),
    ingress({ port: { ...port, protocol: "HTTPS" }, tls: { mode: "SIMPLE", credentialName: "a" } }),
    /credentialName: is not supported at Sidecars/,
  ],
  [
    "pools fit the protocol",
    ingress({ connectionPool: { http: { maxRetries: 1 } } }),
    ingress({ port: { ...port, protocol: "TCP" }, connectionPool: { http: { maxRetries: 1 } } }),
    /^warning .*connectionPool\.http: has no effect/,
  ],
  [
    "egress proxies take any traffic",
    outbound({ mode: "ALLOW_ANY", egressProxy: proxy }),
    outbound({ egressProxy: proxy }),
    /egressProxy: has an effect with mode ALLOW_ANY only/,
  ],
  [
    "egress proxies have ports",
    outbound({ mode: "ALLOW_ANY", egressProxy: proxy }),
    outbound({ mode: "ALLOW_ANY", egressProxy: { host: "a.example" } }),
    /egressProxy\.port: is required/,
  ],
]);
