import { describeRules } from "./rules.fixture.ts";

const port = { number: 80, name: "http", protocol: "HTTP" };
const secure = { number: 443, name: "https", protocol: "HTTPS" };
const serving = (server: object) => ({ servers: [{ port, hosts: ["*"], ...server }] });
const tls = (settings: object) => serving({ port: secure, tls: settings });
const simple = { mode: "SIMPLE", credentialName: "a" };

describeRules("networking.istio.io/v1", "Gateway", [
  ["there are servers", serving({}), {}, /^spec\.servers: a Gateway has at least one server/],
  [
    "servers have hosts",
    serving({ hosts: ["ns/*.a.example", "10.0.0.1"] }),
    serving({ hosts: [] }),
    /hosts: a server has at least one host/,
  ],
  [
    "hosts are whole names",
    serving({ hosts: ["./a.example"] }),
    serving({ hosts: ["a"] }),
    /hosts\[0\]: "a" is a short name/,
  ],
  [
    "wildcards are whole labels",
    serving({ hosts: ["*.a.example"] }),
    serving({ hosts: ["*a.example"] }),
    /hosts\[0\]: "\*a\.example": a wildcard/,
  ],
  [
    "namespaces of hosts are names",
    serving({ hosts: ["*/a.example"] }),
    serving({ hosts: ["~/a.example"] }),
    /hosts\[0\]: "~" is no name of a namespace/,
  ],
  ["ports are ports", serving({}), serving({ port: { ...port, number: 66_000 } }), /port\.number: 66000 is no port/],
  [
    "protocols are known",
    serving({}),
    serving({ port: { ...port, protocol: "SMTP" } }),
    /port\.protocol: "SMTP" is none of HTTP/,
  ],
  ["ports have names", serving({}), serving({ port: { ...port, name: "" } }), /port\.name: is required/],
  [
    "names of ports are the server's own",
    {
      servers: [
        { port, hosts: ["*"] },
        { port: { ...port, name: "b" }, hosts: ["*"] },
      ],
    },
    {
      servers: [
        { port, hosts: ["*"] },
        { port, hosts: ["*"] },
      ],
    },
    /servers\[1\]\.port\.name: "http" is the name of another/,
  ],
  [
    "servers are bound to addresses or sockets",
    serving({ bind: "10.0.0.1" }),
    serving({ bind: "a" }),
    /bind: "a" is no IP address/,
  ],
  [
    "paths of sockets have a bound",
    serving({ port: { ...port, number: 0 }, bind: "unix:///a" }),
    serving({ port: { ...port, number: 0 }, bind: `unix:///${"a".repeat(108)}` }),
    /bind: the path of a socket has at most 107 bytes, this one has 109/,
  ],
  ["HTTPS has TLS settings", tls(simple), serving({ port: secure }), /tls: is required for protocol HTTPS/],
  [
    "plain protocols have none",
    serving({ tls: { httpsRedirect: true } }),
    serving({ tls: simple }),
    /tls: must not be set for protocol HTTP/,
  ],
  [
    "plain servers redirect",
    serving({ tls: { httpsRedirect: true } }),
    tls({ ...simple, httpsRedirect: true }),
    /^warning .*httpsRedirect: has an effect at servers of plain HTTP only/,
  ],
  [
    "the mesh's TLS has its own certificates",
    tls({ mode: "ISTIO_MUTUAL" }),
    tls({ mode: "ISTIO_MUTUAL", credentialName: "a" }),
    /credentialName: must not be set for mode ISTIO_MUTUAL/,
  ],
  [
    "TLS that is passed on needs no certificate",
    tls({ mode: "PASSTHROUGH" }),
    tls({ mode: "PASSTHROUGH", credentialName: "a" }),
    /^warning .*tls: certificates have no effect/,
  ],
  ["certificates have one source", tls(simple), tls({ ...simple, credentialNames: ["b"] }), /tls: only one of/],
  [
    "mode SIMPLE has a certificate",
    tls({ mode: "SIMPLE", serverCertificate: "/a", privateKey: "/b" }),
    tls({ mode: "SIMPLE" }),
    /serverCertificate: is required/,
    /privateKey: is required/,
  ],
  [
    "mode MUTUAL knows clients",
    tls({ mode: "MUTUAL", credentialName: "a" }),
    tls({ mode: "MUTUAL", serverCertificate: "/a", privateKey: "/b" }),
    /caCertificates: is required for mode MUTUAL/,
  ],
  [
    "two certificates count",
    tls({ mode: "SIMPLE", tlsCertificates: [{ serverCertificate: "/a", privateKey: "/b" }] }),
    tls({ mode: "SIMPLE", tlsCertificates: Array(3).fill({ serverCertificate: "/a", privateKey: "/b" }) }),
    /^warning .*tlsCertificates: 2 certificates count/,
  ],
  [
    "revocations are for clients' certificates",
    tls(simple),
    tls({ mode: "SIMPLE", serverCertificate: "/a", privateKey: "/b", caCrl: "/c" }),
    /caCrl: has no use for mode SIMPLE/,
  ],
  [
    "cipher suites are known",
    tls({ ...simple, cipherSuites: ["AES128-SHA"] }),
    tls({ ...simple, cipherSuites: ["A", "AES128-SHA", "AES128-SHA"] }),
    /^warning .*cipherSuites\[0\]: "A"/,
    /^warning .*cipherSuites\[2\]: AES128-SHA stands twice/,
  ],
  [
    "old versions of TLS name their ciphers",
    tls({ ...simple, minProtocolVersion: "TLSV1_0", cipherSuites: ["AES128-SHA"] }),
    tls({ ...simple, minProtocolVersion: "TLSV1_1" }),
    /^warning .*minProtocolVersion: needs cipherSuites/,
  ],
]);
