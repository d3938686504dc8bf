import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, clusterName, type Endpoint, type Service } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { Core } from "../../app/core.ts";
import type { Features } from "../../snapshot/features.ts";
import { aConfig, anEndpoint, apply, aService, aSidecar, resourceOf } from "../../testing/mesh.ts";

interface Given {
  readonly features?: Partial<Features>;
  readonly service?: Partial<Service>;
}

/** The groups of a service's assignment, as a proxy of its namespace with the rule receives them. */
function groups(policy: JsonObject, endpoints: readonly Endpoint[], given: Given = {}): readonly JsonObject[] {
  const service = aService("a", "shop", given.service ?? {});
  const { namespace, hostname } = service;
  const core = new Core({ features: given.features ?? {} });
  apply(core, service, aConfig("DestinationRule", "shop", "a", { host: hostname, trafficPolicy: policy }));
  const key = { shard: "Kubernetes/Kubernetes", namespace, hostname };
  const change: Change = { type: "endpoints", op: "put", key, value: endpoints };
  assert.deepEqual(core.apply([change]), []);
  const cluster = clusterName("outbound", 80, "", hostname);
  const found = resourceOf(core, aSidecar("shop"), typeUrl.endpoint, cluster)?.["endpoints"];
  return (found ?? []) as readonly JsonObject[];
}

test("pods and machines of one place are two groups: their localities are written differently", () => {
  const endpoints = [anEndpoint("10.0.0.1", { locality: "r1/z1/" }), anEndpoint("10.0.0.2", { locality: "r1/z1" })];
  assert.deepEqual(
    groups({}, endpoints).map(({ locality }) => locality),
    [
      { region: "r1", zone: "z1" },
      { region: "r1", zone: "z1" },
    ],
  );
});

const unready: readonly (Given & {
  readonly name: string;
  readonly minHealthPercent: number;
  readonly sent: number;
})[] = [
  { name: "without a panic threshold", minHealthPercent: 0, sent: 2 },
  { name: "with one", minHealthPercent: 30, sent: 1 },
  { name: "with one, always", minHealthPercent: 30, features: { sendUnhealthyEndpoints: true }, sent: 2 },
  { name: "with one, near first", minHealthPercent: 30, service: { trafficDistribution: "PreferSameZone" }, sent: 2 },
  { name: "without one, never", minHealthPercent: 0, features: { autoSendUnhealthyEndpoints: false }, sent: 1 },
];
for (const { name, minHealthPercent, sent, ...given } of unready)
  test(`endpoints that are not ready, ${name}: ${sent - 1} of 1 is sent`, () => {
    const endpoints = [anEndpoint("10.0.0.1"), anEndpoint("10.0.0.2", { health: "unhealthy" })];
    const all = groups({ outlierDetection: { minHealthPercent } }, endpoints, given);
    assert.equal(all.flatMap(({ lbEndpoints }) => (lbEndpoints ?? []) as readonly unknown[]).length, sent);
  });

test("settings for a port that say nothing of TLS leave what the rule says of it for all ports", () => {
  const portLevelSettings = [{ port: { number: 80 }, loadBalancer: { simple: "RANDOM" } }];
  const endpoints = [anEndpoint("10.0.0.1", { tlsMode: "istio" })];
  const isMarked = (policy: JsonObject) => JSON.stringify(groups(policy, endpoints)).includes('"tlsMode":"istio"');
  assert.ok(isMarked({ portLevelSettings }));
  assert.ok(!isMarked({ tls: { mode: "SIMPLE" }, portLevelSettings }));
  assert.ok(isMarked({ tls: { mode: "ISTIO_MUTUAL" }, portLevelSettings }));
});

test("a service that is found by DNS has no endpoints: its cluster resolves them", () => {
  const endpoints = [anEndpoint("10.0.0.1")];
  assert.equal(groups({}, endpoints).length, 1);
  for (const resolution of ["dns", "dns-round-robin"] as const)
    assert.deepEqual(groups({}, endpoints, { service: { resolution } }), []);
});

test("a host name that a ServiceEntry adds to a service is no endpoint of it", () => {
  const endpoints = [anEndpoint("10.0.0.1"), anEndpoint("a.example"), anEndpoint("/run/a.sock")];
  const texts = groups({}, endpoints).map((group) => JSON.stringify(group));
  const found = endpoints.map(({ addresses: [address = ""] }) => texts.some((text) => text.includes(`"${address}"`)));
  assert.deepEqual(found, [true, false, true]);
});
