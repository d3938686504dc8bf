import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answerPages } from "../answering-service.fixture.ts";
import { recordRun } from "../recorded-run.fixture.ts";

const socket = (address: string, portValue: number) => ({ socketAddress: { address, portValue } });
const rule = "/apis/networking.istio.io/v1alpha3/namespaces/shop/destination-rule/orders";
const configs: readonly object[] = [
  {
    dynamicActiveClusters: [
      {
        cluster: {
          ...{ name: "outbound|80|v1|orders.shop.svc.cluster.local", type: "EDS" },
          metadata: { filterMetadata: { istio: { config: rule } } },
        },
      },
      { cluster: { name: "BlackHoleCluster", type: "STATIC" } },
    ],
  },
  {
    dynamicListeners: [
      {
        activeState: {
          listener: {
            ...{ name: "0.0.0.0_80", address: socket("0.0.0.0", 80) },
            additionalAddresses: [{ address: socket("::", 80) }],
            filterChains: [
              {
                filterChainMatch: { transportProtocol: "raw_buffer", applicationProtocols: ["http/1.1", "h2c"] },
                filters: [{ typedConfig: { rds: { routeConfigName: "80" } } }],
              },
              {
                filterChainMatch: { destinationPort: 443 },
                filters: [{ typedConfig: { cluster: "PassthroughCluster" } }],
              },
            ],
            defaultFilterChain: { filters: [{ typedConfig: { routeConfig: { name: "inbound|80||" } } }] },
          },
        },
      },
    ],
  },
  {
    dynamicRouteConfigs: [
      {
        routeConfig: {
          name: "80",
          virtualHosts: [
            {
              ...{ name: "orders.shop:80", domains: ["orders", "orders.shop"] },
              routes: [
                {
                  match: { prefix: "/" },
                  metadata: {
                    filterMetadata: { istio: { config: rule.replace("destination-rule", "virtual-service") } },
                  },
                },
                { match: { safeRegex: { regex: "/a.*" } } },
                { match: { path: "/exact" } },
              ],
            },
          ],
        },
      },
    ],
  },
  {
    dynamicEndpointConfigs: [
      {
        endpointConfig: {
          clusterName: "outbound|80||orders.shop.svc.cluster.local",
          endpoints: [
            {
              locality: { region: "eu", zone: "1" },
              lbEndpoints: [
                { endpoint: { address: socket("10.0.0.1", 8080) } },
                { endpoint: { address: { pipe: { path: "/sock" } } }, healthStatus: "UNHEALTHY" },
              ],
            },
          ],
        },
      },
    ],
  },
  { dynamicActiveSecrets: [{ secret: { name: "ROOTCA", validationContext: {} } }, { secret: { name: "default" } }] },
];

const cases: readonly (readonly [part: string, types: string, lines: readonly RegExp[]])[] = [
  [
    "clusters",
    "cds",
    [
      /^SERVICE FQDN +PORT +SUBSET +DIRECTION +TYPE +DESTINATION RULE$/,
      /^orders\.shop\.svc\.cluster\.local +80 +v1 +outbound +EDS +orders\.shop$/,
      /^BlackHoleCluster +- +- +- +STATIC$/,
    ],
  ],
  [
    "listener",
    "lds",
    [
      /^ADDRESSES +PORT +MATCH +DESTINATION$/,
      /^0\.0\.0\.0,:: +80 +Trans: raw_buffer; App: http\/1\.1,h2c +Route: 80$/,
      /^0\.0\.0\.0,:: +80 +Addr: \*:443 +Cluster: PassthroughCluster$/,
      /^0\.0\.0\.0,:: +80 +ALL +Inline Route: inbound\|80\|\|$/,
    ],
  ],
  [
    "routes",
    "rds",
    [
      /^NAME +VHOST NAME +DOMAINS +MATCH +VIRTUAL SERVICE$/,
      /^80 +orders\.shop:80 +orders \+ 1 more\.\.\. +\/\* +orders\.shop$/,
      /^80 +orders\.shop:80 +orders \+ 1 more\.\.\. +regex \/a\.\*$/,
      /^80 .* \/exact$/,
    ],
  ],
  [
    "endpoints",
    "eds",
    [
      /^ENDPOINT +STATUS +LOCALITY +CLUSTER$/,
      /^10\.0\.0\.1:8080 +HEALTHY +eu\/1 +outbound\|80\|\|orders/,
      /^unix:\/\/\/sock +UNHEALTHY +eu\/1 /,
    ],
  ],
  ["secret", "sds", [/^RESOURCE NAME +TYPE$/, /^ROOTCA +CA$/, /^default +Cert Chain$/]],
];

describe("flotilla proxy-config", () => {
  for (const [part, types, expected] of cases)
    it(`${part} has istioctl's columns`, async () => {
      await using xds = await answerPages(() => ({ body: { configs } }));
      const { code, out } = await recordRun(["proxy-config", part, "web.shop", "--url", `xds-server=${xds.url}`]);
      assert.equal(code, 0);
      const lines = out.trimEnd().split("\n");
      assert.equal(lines.length, expected.length, out);
      for (const [i, line] of expected.entries()) assert.match(lines[i] ?? "", line);
      assert.equal(xds.seen[0]?.url, `/debug/config_dump?proxyID=web.shop&types=${types}`);
    });

  it("all of a proxy, those with a text in their name, whole as JSON, by its short name", async () => {
    await using xds = await answerPages(() => ({ body: { configs } }));
    const at = ["--url", `xds-server=${xds.url}`];
    const { out } = await recordRun(["pc", "all", "web.shop", "--name", "orders", "-o", "json", ...at]);
    const { clusters, listeners } = JSON.parse(out) as { clusters: readonly { name: string }[]; listeners: unknown[] };
    assert.deepEqual(
      [clusters.map(({ name }) => name), listeners],
      [["outbound|80|v1|orders.shop.svc.cluster.local"], []],
    );
    const table = await recordRun(["pc", "all", "web.shop", ...at]);
    assert.equal(table.out.split("\n\n").length, 5);
    const short = await recordRun(["pc", "c", "web.shop", ...at]);
    assert.equal(short.out, (await recordRun(["pc", "clusters", "web.shop", ...at])).out);
    assert.equal((await recordRun(["pc", "s", "web.shop", "--name", "none", ...at])).out, "no secrets\n");
  });

  it("refuses a part that there is not, and names those that there are", async () => {
    const { code, err } = await recordRun(["proxy-config", "bootstrap", "web.shop"]);
    assert.equal(code, 2);
    assert.match(err, /bootstrap is none of clusters, listeners, routes, endpoints, secrets, all/);
  });

  it("names a proxy that is not connected", async () => {
    await using xds = await answerPages(() => ({ status: 404, body: { error: "no proxy none.shop" } }));
    const { code } = await recordRun(["proxy-config", "clusters", "none.shop", "--url", `xds-server=${xds.url}`]);
    assert.equal(code, 1);
  });
});
