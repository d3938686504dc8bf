/** The page of what ztunnels are sent, from objects of Kubernetes to its JSON. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { aKubeMesh, anObject } from "../testing/kube-mesh.ts";
import { ambientPage } from "./ambient-page.ts";

const objects = [
  anObject("Service", "shop/web", {
    spec: { clusterIP: "10.96.0.1", ports: [{ name: "http", port: 80 }], selector: { app: "web" } },
  }),
  ...["10.0.0.1", "fd00::1"].map((podIP, i) =>
    anObject("Pod", `shop/web-${i}`, {
      metadata: { labels: { app: "web" } },
      spec: { serviceAccountName: "web", nodeName: "n" },
      status: { phase: "Running", podIP, conditions: [{ type: "Ready", status: "True" }] },
    }),
  ),
  anObject("AuthorizationPolicy", "shop/nobody", { spec: {} }),
];

interface Shown {
  readonly workloads: readonly { readonly name: string; readonly addresses: readonly string[] }[];
  readonly services: readonly { readonly addresses: readonly { readonly address: string }[] }[];
  readonly policies: readonly { readonly name: string }[];
}

async function shown(env: Readonly<Record<string, string>>): Promise<Shown> {
  const page = ambientPage(aKubeMesh(objects, { env }));
  const reply = await page.answer({ path: page.path, query: new URLSearchParams(), viewer: { namespace: undefined } });
  assert.ok("json" in reply);
  return reply.json as Shown;
}

const textOf = (base64: string | undefined) => Buffer.from(base64 ?? "", "base64").toString();

test("workloads, services and policies stand apart, and addresses are texts", async () => {
  const { workloads, services, policies } = await shown({ PILOT_ENABLE_AMBIENT: "true" });
  assert.deepEqual(
    workloads.map(({ name, addresses }) => [name, textOf(addresses[0])]),
    [
      ["web-0", "10.0.0.1"],
      ["web-1", "fd00::1"],
    ],
  );
  assert.equal(textOf(services[0]?.addresses[0]?.address), "10.96.0.1");
  assert.deepEqual(
    policies.map(({ name }) => name),
    ["nobody"],
  );
});

test("a mesh without ztunnels has nothing to show", async () => {
  assert.deepEqual(await shown({}), { workloads: [], services: [], policies: [] });
});
