import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change, Config, Endpoint } from "@flotilla/model";
import { aConfig, put } from "../testing/mesh.ts";
import { findUnselected } from "./unselected.ts";

const endpoint: Endpoint = {
  addresses: ["10.0.0.2"],
  ...{ servicePortName: "http", port: 80, labels: { app: "api", version: "v1" }, serviceAccount: "", network: "" },
  ...{ locality: "", clusterId: "Kubernetes", weight: 1, tlsMode: "istio", namespace: "shop", workloadName: "api" },
  health: "healthy",
};
const key = { shard: "Kubernetes/Kubernetes", namespace: "shop", hostname: "api.shop.svc.cluster.local" };
const endpoints: Change = { type: "endpoints", op: "put", key, value: [endpoint] };
const proxy = { namespace: "shop", labels: { app: "web" } };

const sidecar = (namespace: string, labels?: Readonly<Record<string, string>>) =>
  aConfig("Sidecar", namespace, "s", labels === undefined ? {} : { workloadSelector: { labels } });
const policy = (namespace: string, matchLabels: Readonly<Record<string, string>>) =>
  aConfig("AuthorizationPolicy", namespace, "p", { selector: { matchLabels } });

const cases: readonly { name: string; object: Config; found: readonly string[] }[] = [
  { name: "the labels of an endpoint are known", object: sidecar("shop", { app: "api" }), found: [] },
  { name: "the labels of a connected proxy are known", object: sidecar("shop", { app: "web" }), found: [] },
  {
    name: "all labels have to match",
    object: sidecar("shop", { app: "api", version: "v2" }),
    found: ["Sidecar/shop/s"],
  },
  {
    name: "workloads of other namespaces do not count",
    object: policy("depot", { app: "api" }),
    found: ["AuthorizationPolicy/depot/p"],
  },
  { name: "but for policies of the root namespace", object: policy("istio-system", { app: "api" }), found: [] },
  {
    name: "a Sidecar of the root namespace has its own only",
    object: sidecar("istio-system", { app: "api" }),
    found: ["Sidecar/istio-system/s"],
  },
  { name: "what selects everything is never alone", object: sidecar("depot"), found: [] },
];

for (const { name, object, found } of cases) {
  test(name, () => {
    const findings = findUnselected([endpoints, ...put(object)], [proxy], "istio-system");
    assert.deepEqual(
      findings.map((finding) => finding.object),
      found,
    );
  });
}
