import assert from "node:assert/strict";
import { test } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, aService, aSidecar, resourceOf } from "../../testing/mesh.ts";

const name = "outbound|80||a.shop.svc.cluster.local";
const mesh = aMesh(
  aService("a", "shop"),
  aConfig("DestinationRule", "shop", "a", {
    host: "a.shop.svc.cluster.local",
    workloadSelector: { matchLabels: { app: "web" } },
    trafficPolicy: { tls: { mode: "MUTUAL", credentialName: "sds://client" } },
  }),
);

function clusterOf(credential: string, cluster: string) {
  return resourceOf(mesh, aSidecar("shop", { credential }), typeUrl.cluster, cluster);
}

function askedSecrets(credential: string): readonly string[] {
  const text = JSON.stringify(clusterOf(credential, name));
  return [...text.matchAll(/"name":"([^"]*client(?:-cacert)?)"/g)].flatMap(([, secret]) => secret ?? []);
}

test("the cluster of the socket is for proxies whose agent found it", () => {
  assert.match(JSON.stringify(clusterOf("true", "sds-external")), /credential-uds\/socket/);
  assert.equal(clusterOf("false", "sds-external"), undefined);
});

test("credentials of rules are asked for at the socket by their whole names, else they are Secrets", () => {
  assert.deepEqual(askedSecrets("true"), ["sds://client", "sds://client-cacert"]);
  assert.deepEqual(askedSecrets("false"), ["kubernetes://client", "kubernetes://client-cacert"]);
});

test("the workload's own certificate and the mesh's roots come from the agent", () => {
  const rule = aConfig("DestinationRule", "shop", "a", {
    host: "a.shop.svc.cluster.local",
    workloadSelector: { matchLabels: { app: "web" } },
    trafficPolicy: { tls: { mode: "MUTUAL", credentialName: "builtin://" } },
  });
  const cluster = resourceOf(aMesh(aService("a", "shop"), rule), aSidecar("shop"), typeUrl.cluster, name);
  const text = JSON.stringify(cluster?.["transportSocket"]);
  assert.deepEqual(
    [...text.matchAll(/"name":"(default|ROOTCA)"/g)].map(([, found]) => found),
    ["default", "ROOTCA"],
  );
  assert.doesNotMatch(text, /"ads"/);
});

test("no EnvoyFilter changes the cluster of the socket", () => {
  const patched = aMesh(
    aConfig("EnvoyFilter", "istio-system", "all", {
      configPatches: [{ applyTo: "CLUSTER", patch: { operation: "MERGE", value: { altStatName: "patched" } } }],
    }),
  );
  const statName = (cluster: string) =>
    JSON.stringify(resourceOf(patched, aSidecar("shop", { credential: "true" }), typeUrl.cluster, cluster)).includes(
      "patched",
    );
  assert.deepEqual([statName("sds-external"), statName("BlackHoleCluster")], [false, true]);
});
