import { describeRules } from "./rules.fixture.ts";

const rule = (trafficPolicy: object) => ({ host: "a", trafficPolicy });
const pool = (connectionPool: object) => rule({ connectionPool });
const hash = (consistentHash: object) => rule({ loadBalancer: { consistentHash } });
const tls = (settings: object) => rule({ tls: settings });
const ejecting = (loadBalancer: object) => rule({ loadBalancer, outlierDetection: { interval: "1s" } });
const sharing = (distribute: readonly object[]) => rule({ loadBalancer: { localityLbSetting: { distribute } } });

describeRules("networking.istio.io/v1", "DestinationRule", [
  ["the host is one", { host: "*.a.example" }, { host: "a_b" }, /^spec\.host: "a_b" is no host name/],
  [
    "subsets have names",
    { host: "a", subsets: [{ name: "v1" }] },
    { host: "a", subsets: [{ name: "v.1" }] },
    /subsets\[0\]\.name: "v\.1" is no name of a subset/,
  ],
  [
    "subsets have names of their own",
    { host: "a", subsets: [{ name: "v1" }, { name: "v2" }] },
    { host: "a", subsets: [{ name: "v1" }, { name: "v1" }] },
    /subsets\[1\]\.name: subset v1 is defined twice/,
  ],
  [
    "labels are labels",
    { host: "a", subsets: [{ name: "v1", labels: { version: "v1" } }] },
    { host: "a", subsets: [{ name: "v1", labels: { version: "v 1" } }] },
    /labels\[version\]: "v 1" is no value/,
  ],
  ["policies set something", rule({ tls: { mode: "DISABLE" } }), rule({}), /trafficPolicy: needs at least one field/],
  [
    "tunnels exclude the proxy protocol",
    rule({ proxyProtocol: { version: "V2" } }),
    rule({ tunnel: { targetHost: "a", targetPort: 1 }, proxyProtocol: {} }),
    /proxyProtocol: must not be set beside tunnel/,
  ],
  [
    "tunnels have a target",
    rule({ tunnel: { protocol: "POST", targetHost: "a.b", targetPort: 1 } }),
    rule({ tunnel: { protocol: "GET", targetHost: "a b" } }),
    /protocol: must be CONNECT or POST/,
    /targetHost: /,
    /targetPort: 0/,
  ],
  [
    "settings of ports name one",
    rule({ portLevelSettings: [{ port: { number: 80 }, tls: { mode: "SIMPLE" } }] }),
    rule({ portLevelSettings: [{ port: { number: 80 } }] }),
    /portLevelSettings\[0\]: needs a field besides port/,
  ],
  ["pools have limits", pool({ tcp: { maxConnections: 1 } }), pool({}), /connectionPool: needs http or tcp/],
  [
    "limits are not negative",
    pool({ http: { maxRetries: 3 } }),
    pool({ http: { maxRetries: -1 } }),
    /maxRetries: must not be negative, is -1/,
  ],
  [
    "an idle timeout may be off",
    pool({ tcp: { idleTimeout: "0s" } }),
    pool({ http: { idleTimeout: "0s" } }),
    /http\.idleTimeout: 0s is less than 1ms/,
  ],
  [
    "upgrades are asked for once",
    pool({ http: { useClientProtocol: true } }),
    pool({ http: { useClientProtocol: true, h2UpgradePolicy: "UPGRADE" } }),
    /useClientProtocol: must not be true/,
  ],
  [
    "keepalives have both durations",
    pool({ http: { http2KeepAlive: { interval: "1s", timeout: "1s" } } }),
    pool({ http: { http2KeepAlive: { interval: "1s" } } }),
    /http2KeepAlive\.timeout: is required/,
  ],
  [
    "shares of ejected endpoints are percentages",
    rule({ outlierDetection: { minHealthPercent: 20 } }),
    rule({ outlierDetection: { maxEjectionPercent: 105 } }),
    /maxEjectionPercent: percentage 105/,
  ],
  [
    "local failures are counted apart",
    rule({ outlierDetection: { splitExternalLocalOriginErrors: true, consecutiveLocalOriginFailures: 3 } }),
    rule({ outlierDetection: { consecutiveLocalOriginFailures: 3 } }),
    /counts only where splitExternalLocalOriginErrors/,
  ],
  [
    "old counts are named",
    rule({ outlierDetection: { consecutive5xxErrors: 3 } }),
    rule({ outlierDetection: { consecutiveErrors: 3 } }),
    /^warning .*consecutiveErrors: is deprecated/,
  ],
  [
    "hashes have a name",
    hash({ httpHeaderName: "x-user" }),
    hash({ httpCookie: { ttl: "0s" } }),
    /httpCookie\.name: a header has a name/,
  ],
  [
    "attributes of cookies stand once",
    hash({ httpCookie: { name: "a", attributes: [{ name: "x" }] } }),
    hash({ httpCookie: { name: "a", attributes: [{ name: "x" }, { name: "x" }] } }),
    /attributes\[1\]\.name: is set twice/,
  ],
  [
    "rings have a bound",
    hash({ useSourceIp: true, ringHash: { minimumRingSize: 1024 } }),
    hash({ ringHash: { minimumRingSize: 8_388_609 } }),
    /8388609 is more than 8388608/,
  ],
  [
    "old sizes of rings are named",
    hash({ useSourceIp: true }),
    hash({ minimumRingSize: 1024 }),
    /^warning .*minimumRingSize: is deprecated/,
  ],
  [
    "sizes of tables are prime",
    hash({ maglev: { tableSize: 65_537 } }),
    hash({ maglev: { tableSize: 65_536 } }),
    /65536 is no prime number/,
  ],
  [
    "tables have a bound",
    hash({ maglev: { tableSize: 3 } }),
    hash({ maglev: { tableSize: 5_000_011 } }),
    /more than 5000010/,
  ],
  [
    "failover finds failures",
    ejecting({ localityLbSetting: { failover: [{ from: "a", to: "b" }] } }),
    rule({ loadBalancer: { localityLbSetting: { failover: [{ from: "a", to: "b" }] } } }),
    /^warning .*without outlierDetection/,
  ],
  [
    "failover is to another region",
    ejecting({ zoneAwareLbSetting: { failover: [{ from: "a", to: "b" }] } }),
    ejecting({
      zoneAwareLbSetting: {
        failover: [
          { from: "a", to: "a" },
          { from: "a/b", to: "c" },
          { from: "*", to: "c" },
        ],
      },
    }),
    /failover\[0\]: from and to/,
    /failover\[1\]: names regions only/,
    /failover\[2\]: names regions, \*/,
  ],
  [
    "priorities are not what is followed anyway",
    ejecting({ zoneAwareLbSetting: { failoverPriority: ["app"] } }),
    ejecting({ zoneAwareLbSetting: { failoverPriority: ["topology.kubernetes.io/zone"] } }),
    /failoverPriority\[0\]: /,
  ],
  [
    "shares of localities make 100",
    sharing([{ from: "a/*", to: { "a/b": 60, "c/*": 40 } }]),
    sharing([{ from: "a", to: { b: 50, c: 40 } }]),
    /distribute\[0\]\.to: the weights make 90/,
  ],
  [
    "localities do not overlap",
    sharing([
      { from: "a/b/c", to: { a: 100 } },
      { from: "a/b/*", to: { a: 100 } },
    ]),
    sharing([
      { from: "a/*", to: { a: 100 } },
      { from: "a/b", to: { a: 100 } },
    ]),
    /distribute\[1\]\.from: a\/b overlaps/,
  ],
  [
    "wildcards stand at the end",
    sharing([{ from: "*", to: { a: 100 } }]),
    sharing([{ from: "*/b", to: { a: 100 } }]),
    /\*\/b: \* stands at the end only/,
  ],
  [
    "one way chooses localities",
    rule({ loadBalancer: { localityLbSetting: { enabled: false } } }),
    rule({ loadBalancer: { localityLbSetting: {}, zoneAwareLbSetting: {} } }),
    /zoneAwareLbSetting: must not be set beside/,
  ],
  [
    "warm-ups take time",
    rule({ loadBalancer: { warmup: { duration: "10s" } } }),
    rule({ loadBalancer: { warmup: { minimumPercent: 101, aggression: 0 } } }),
    /warmup\.duration: is required/,
    /percentage 101/,
    /aggression: must be more than 0/,
  ],
  [
    "mutual TLS has a certificate",
    tls({ mode: "MUTUAL", credentialName: "a" }),
    tls({ mode: "MUTUAL", clientCertificate: "/a" }),
    /privateKey: is required for mode MUTUAL/,
  ],
  [
    "a Secret is the only source",
    tls({ mode: "SIMPLE", credentialName: "a" }),
    tls({ mode: "SIMPLE", credentialName: "a", caCertificates: "/a" }),
    /caCertificates: must not be set beside credentialName/,
  ],
  [
    "what is skipped is not asked for",
    tls({ mode: "SIMPLE", insecureSkipVerify: true }),
    tls({ mode: "SIMPLE", insecureSkipVerify: true, caCertificates: "/a" }),
    /insecureSkipVerify: must not be true beside/,
  ],
  [
    "an empty list of names verifies nothing",
    tls({ mode: "SIMPLE", insecureSkipVerify: true, subjectAltNames: [] }),
    tls({ mode: "SIMPLE", insecureSkipVerify: true, subjectAltNames: ["a"] }),
    /insecureSkipVerify: must not be true beside/,
  ],
  [
    "ConfigMaps are the namespace's own",
    tls({ mode: "SIMPLE", credentialName: "configmap://shop/roots" }),
    tls({ mode: "SIMPLE", credentialName: "configmap://other/roots" }),
    /credentialName: a ConfigMap is named/,
  ],
  [
    "server names have a bound",
    tls({ mode: "SIMPLE", sni: "a" }),
    tls({ mode: "SIMPLE", sni: "a".repeat(256) }),
    /sni: a server name has at most 255 bytes/,
  ],
  [
    "names of subjects are not empty",
    tls({ mode: "SIMPLE", subjectAltNames: ["a"] }),
    tls({ mode: "SIMPLE", subjectAltNames: [""] }),
    /subjectAltNames\[0\]: must not be empty/,
  ],
  [
    "rules for chosen clients are their namespace's",
    { host: "a", workloadSelector: { matchLabels: { a: "b" } }, exportTo: ["."] },
    { host: "a", workloadSelector: { matchLabels: { a: "b" } }, exportTo: ["*"] },
    /exportTo: a rule with a workloadSelector/,
  ],
  [
    "selectors have labels",
    { host: "a", workloadSelector: { matchLabels: { a: "b" } } },
    { host: "a", workloadSelector: {} },
    /^warning spec\.workloadSelector: has no labels/,
  ],
  [
    "labels of selectors are no patterns",
    { host: "a", workloadSelector: { matchLabels: { a: "b" } } },
    { host: "a", workloadSelector: { matchLabels: { a: "b*" } } },
    /matchLabels\[a\]: "a=b\*"/,
  ],
]);
