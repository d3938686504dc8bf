/** Services of ServiceEntries as ztunnels are sent them: with what the object itself has. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { aKubeMesh, anEntry } from "../../testing/kube-mesh.ts";
import { aSidecar } from "../../testing/mesh.ts";
import { serviceText } from "../row-index.ts";
import { query } from "../view.ts";
import { ambientService } from "./services.ts";

const facts = query("facts-of-an-entry", (view) =>
  view.read(ambientService, serviceText.write({ namespace: "shop", hostname: "ledger.shop.example" })),
);

test("hosts of the cluster set are not sent to ztunnels", () => {
  const hosts = ["a.shop.svc.cluster.local", "a.shop.svc.clusterset.local"];
  const sent = query("sent-hosts", (view) =>
    hosts.filter((hostname) => view.read(ambientService, serviceText.write({ namespace: "shop", hostname }))),
  );
  const metadata = { name: "a", namespace: "shop" };
  const core = aKubeMesh(
    [
      {
        apiVersion: "v1",
        kind: "Service",
        metadata,
        spec: { clusterIP: "10.0.0.1", ports: [{ name: "http", port: 80 }] },
      },
      { apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "ServiceImport", metadata, spec: { ips: ["243.0.0.1"] } },
    ],
    { env: { PILOT_ENABLE_AMBIENT: "true", ENABLE_MCS_SERVICE_DISCOVERY: "true", ENABLE_MCS_HOST: "true" } },
  );
  assert.deepEqual(core.read(sent, core.subjectOf(aSidecar("shop"))), ["a.shop.svc.cluster.local"]);
});

test("the ports of a ServiceEntry lead to its target ports", () => {
  const entry = anEntry("ledger", { ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: 8080 }] });
  const core = aKubeMesh([entry], { env: { PILOT_ENABLE_AMBIENT: "true" } });
  assert.deepEqual(core.read(facts, core.subjectOf(aSidecar("shop")))?.ports, [
    { name: "http", number: 80, protocol: "HTTP", target: 8080 },
  ]);
});
