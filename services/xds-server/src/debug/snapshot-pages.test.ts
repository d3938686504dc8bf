/** The pages about what follows from the mesh, each by the JSON of its answer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Core } from "../app/core.ts";
import { aConfig, apply, put } from "../testing/mesh.ts";
import { snapshotPages } from "./snapshot-pages.ts";

const networks = {
  west: { gateways: [{ address: "192.0.2.1", port: 15443 }] },
  east: { gateways: [{ address: "gw.example", port: 443 }] },
};
const objects = [
  aConfig("MeshNetworks", "istio-system", "istio", { networks }),
  aConfig("AuthorizationPolicy", "shop", "deny", { action: "DENY" }),
];
const core = new Core();
apply(core, ...objects);
const pages = snapshotPages({
  ...{ core, streams: () => [], unselected: () => [], inputs: () => put(...objects) },
  fleet: { ofFleet: async () => [] } as never,
});

async function ask(path: string): Promise<unknown> {
  const page = pages.find((one) => one.path === path);
  const reply = await page?.answer({ path, query: new URLSearchParams(), viewer: { namespace: undefined } });
  assert.ok(reply !== undefined && "json" in reply, path);
  return JSON.parse(JSON.stringify(reply.json));
}

test("pushcontext has the policies and the gateways of networks, those with host names apart", async () => {
  assert.deepEqual(await ask("pushcontext"), {
    AuthorizationPolicies: {
      namespace_to_policies: {
        shop: [{ name: "deny", namespace: "shop", annotations: null, spec: { action: "DENY" } }],
      },
      root_namespace: "istio-system",
    },
    NetworkGateways: [{ Network: "west", Cluster: "", Addr: "192.0.2.1", Port: 15443 }],
    UnresolvedGateways: [{ Network: "east", Cluster: "", Addr: "gw.example", Port: 443 }],
  });
});

test("networkz has the gateways of all networks", async () => {
  assert.deepEqual(await ask("networkz"), [
    { Network: "west", Cluster: "", Addr: "192.0.2.1", Port: 15443 },
    { Network: "east", Cluster: "", Addr: "gw.example", Port: 443 },
  ]);
});
