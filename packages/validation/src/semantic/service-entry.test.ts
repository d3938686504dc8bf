import { describeRules } from "./rules.fixture.ts";

const http = { number: 80, name: "http", protocol: "HTTP" };
const tcp = { number: 90, name: "tcp", protocol: "TCP" };
const entry = (more: object) => ({ hosts: ["a.example"], ports: [http], resolution: "DNS", ...more });
const fixed = (endpoint: object, more: object = {}) => entry({ resolution: "STATIC", endpoints: [endpoint], ...more });
const dynamic = (more: object) => entry({ hosts: ["*.a.example"], resolution: "DYNAMIC_DNS", ...more });

describeRules("networking.istio.io/v1", "ServiceEntry", [
  ["there are hosts", entry({}), entry({ hosts: [] }), /^spec\.hosts: a ServiceEntry has at least one host/],
  [
    "hosts are hosts",
    entry({}),
    entry({ hosts: ["-"], endpoints: [{ address: "b" }] }),
    /hosts\[0\]: "-" is no host name/,
  ],
  ["* is no host", entry({}), entry({ hosts: ["*"] }), /hosts\[0\]: \* would be every host/],
  [
    "wildcards are whole labels",
    entry({ hosts: ["*.a.example"], resolution: "NONE" }),
    entry({ hosts: ["*a.example"], resolution: "NONE" }),
    /^warning .*hosts\[0\]: "\*a\.example": a wildcard/,
  ],
  [
    "addresses are addresses",
    entry({ addresses: ["10.0.0.1"] }),
    entry({ addresses: ["a"] }),
    /addresses\[0\]: "a" is neither/,
  ],
  [
    "ranges are not resolved",
    entry({ addresses: ["10.0.0.0/8"], resolution: "NONE" }),
    entry({ addresses: ["10.0.0.0/8"] }),
    /addresses\[0\]: ranges are for resolution NONE and STATIC, not for DNS/,
  ],
  [
    "ports have names of their own",
    entry({ ports: [http, { ...http, number: 81, name: "b" }] }),
    entry({ ports: [http, http] }),
    /ports\[1\]\.name: port "http" is defined twice/,
    /ports\[1\]\.number: port 80 is defined twice/,
  ],
  [
    "ports are ports",
    entry({ ports: [{ ...http, targetPort: 8080 }] }),
    entry({ ports: [{ ...http, targetPort: 65_536 }] }),
    /targetPort: 65536 is no port/,
  ],
  [
    "protocols are known",
    entry({}),
    entry({ ports: [{ ...http, protocol: "SMTP" }] }),
    /protocol: "SMTP" is no protocol/,
  ],
  [
    "traffic of TCP has addresses",
    entry({ ports: [tcp], addresses: ["10.0.0.1"], resolution: "NONE" }),
    entry({ ports: [tcp], resolution: "NONE" }),
    /^warning .*protocol: traffic of TCP is assigned by address/,
  ],
  [
    "hosts share ports of HTTP",
    entry({ hosts: ["a.example", "b.example"] }),
    entry({ hosts: ["a.example", "b.example"], ports: [tcp] }),
    /protocol: several hosts can share/,
  ],
  [
    "resolution NONE has no endpoints",
    entry({ resolution: "NONE" }),
    entry({ resolution: "NONE", endpoints: [{ address: "10.0.0.1" }] }),
    /endpoints: resolution NONE has no endpoints/,
  ],
  [
    "workloads or endpoints",
    entry({ workloadSelector: { labels: { a: "b" } } }),
    entry({ workloadSelector: { labels: { a: "b" } }, endpoints: [{ address: "b" }] }),
    /endpoints: must not be set beside workloadSelector/,
  ],
  [
    "workloads are selected by labels",
    entry({ workloadSelector: { labels: { a: "b" } } }),
    entry({ workloadSelector: {} }),
    /^warning spec\.workloadSelector: has no labels/,
  ],
  [
    "fixed endpoints have addresses",
    fixed({ address: "10.0.0.1" }),
    fixed({ address: "b" }),
    /endpoints\[0\]\.address: "b" is no IP address/,
  ],
  [
    "networks stand for their gateways",
    fixed({ address: "10.0.0.1" }),
    fixed({ network: "n" }),
    /^warning .*address: is empty: the entry stands for the gateways/,
  ],
  [
    "ports of endpoints are the service's",
    fixed({ address: "10.0.0.1", ports: { http: 8080 } }),
    fixed({ address: "10.0.0.1", ports: { other: 8080 } }),
    /ports\[other\]: the service has no port "other"/,
  ],
  [
    "sockets have no ports",
    fixed({ address: "unix:///a" }),
    fixed({ address: "unix:///a", ports: { http: 80 } }),
    /ports: a socket has no ports/,
  ],
  [
    "sockets have one service",
    fixed({ address: "unix:///a" }),
    fixed({ address: "unix:///a" }, { ports: [http, { ...tcp, protocol: "HTTP" }] }),
    /a socket is for a service of one port/,
  ],
  [
    "sockets have absolute paths",
    fixed({ address: "unix://@a" }),
    fixed({ address: "unix://a" }),
    /address: "a" is no absolute path/,
  ],
  [
    "names that are resolved are whole",
    entry({ hosts: ["*.a.example"], endpoints: [{ address: "b.example" }] }),
    entry({ hosts: ["*.a.example"] }),
    /hosts\[0\]: cannot be resolved, name endpoints/,
  ],
  [
    "round robin DNS has one name",
    entry({ resolution: "DNS_ROUND_ROBIN", endpoints: [{ address: "b.example" }] }),
    entry({ resolution: "DNS_ROUND_ROBIN", endpoints: [{ address: "b" }, { address: "c" }] }),
    /endpoints: resolution DNS_ROUND_ROBIN has one/,
  ],
  [
    "names are resolved for wildcards",
    dynamic({}),
    dynamic({ hosts: ["a.example"] }),
    /hosts\[0\]: resolution DYNAMIC_DNS is for hosts with a wildcard/,
  ],
  [
    "names are resolved of HTTP and TLS",
    dynamic({}),
    dynamic({ ports: [tcp] }),
    /protocol: resolution DYNAMIC_DNS is for HTTP/,
  ],
  [
    "names are resolved without addresses",
    dynamic({}),
    dynamic({ addresses: ["10.0.0.1"] }),
    /addresses: must not be set with resolution DYNAMIC_DNS/,
  ],
  [
    "names of subjects are not empty",
    entry({ subjectAltNames: ["a"] }),
    entry({ subjectAltNames: [""] }),
    /subjectAltNames\[0\]: must not be empty/,
  ],
  [
    "~ is exported to alone",
    entry({ exportTo: ["~"] }),
    entry({ exportTo: ["~", "b"] }),
    /exportTo: ~ stands for no namespace and alone/,
  ],
]);

describeRules(
  "networking.istio.io/v1",
  "ServiceEntry",
  [
    [
      "names of the mesh that are resolved when clients ask have no waypoint",
      dynamic({ location: "MESH_EXTERNAL" }),
      dynamic({ location: "MESH_INTERNAL" }),
      /location: MESH_INTERNAL with resolution DYNAMIC_DNS cannot have a waypoint/,
    ],
  ],
  { labels: { "istio.io/use-waypoint": "w" } },
);

describeRules("networking.istio.io/v1", "WorkloadEntry", [
  ["there is an address", { address: "vm.example" }, {}, /^spec\.address: is required/],
  [
    "the address is one",
    { address: "fd00::1" },
    { address: "a b" },
    /address: "a b" is neither a host name nor an IP address/,
  ],
  [
    "ports are ports",
    { address: "10.0.0.1", ports: { http: 80 } },
    { address: "10.0.0.1", ports: { "a b": 0 } },
    /"a b" is no name of a port/,
    /0 is no port/,
  ],
  [
    "labels are labels",
    { address: "10.0.0.1", labels: { a: "" } },
    { address: "10.0.0.1", labels: { a: "-" } },
    /labels\[a\]: "-" is no value/,
  ],
]);

describeRules("networking.istio.io/v1", "WorkloadGroup", [
  ["there is a template", { template: {} }, {}, /^spec\.template: is required/],
  [
    "labels are labels",
    { template: {}, metadata: { labels: { a: "b" } } },
    { template: {}, metadata: { labels: { "a b": "" } } },
    /metadata\.labels\[a b\]/,
  ],
  [
    "probes ask something",
    { template: {}, probe: { tcpSocket: { port: 1 } } },
    { template: {}, probe: {} },
    /probe: needs one of/,
  ],
  [
    "probes ask ports",
    { template: {}, probe: { httpGet: { port: 1, scheme: "HTTPS" } } },
    { template: {}, probe: { httpGet: { scheme: "FTP" } } },
    /httpGet\.port: 0 is no port/,
    /scheme: must be HTTP or HTTPS/,
  ],
  [
    "headers of probes have names",
    { template: {}, probe: { httpGet: { port: 1, httpHeaders: [{ name: "a" }] } } },
    { template: {}, probe: { httpGet: { port: 1, httpHeaders: [{ name: "a b" }] } } },
    /httpHeaders\[0\]\.name: "a b"/,
  ],
  [
    "commands are commands",
    { template: {}, probe: { exec: { command: ["a"] } } },
    { template: {}, probe: { exec: {} } },
    /exec\.command: is required/,
  ],
  [
    "periods are not negative",
    { template: {}, probe: { tcpSocket: { port: 1 }, periodSeconds: 1 } },
    { template: {}, probe: { tcpSocket: { port: 1 }, periodSeconds: -1 } },
    /periodSeconds: must not be negative/,
  ],
]);
