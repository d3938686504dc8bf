/** Envoy's bootstrap: forms of xDS, secrets, and the node. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type BootstrapOptions, envoyBootstrap } from "./bootstrap.ts";

const node = { name: "web", namespace: "shop", serviceAccount: "sa", labels: { app: "web" }, address: "10.0.0.1" };
const options: BootstrapOptions = { node, discoveryAddress: "127.0.0.1:15010", delta: true, adminPort: 0 };
const clustersOf = (given: BootstrapOptions) =>
  (envoyBootstrap(given)["static_resources"] as unknown as { readonly clusters: readonly { readonly name: string }[] })
    .clusters;
const formOf = (delta: boolean) =>
  (
    envoyBootstrap({ ...options, delta })["dynamic_resources"] as unknown as {
      readonly ads_config: { readonly api_type: string };
    }
  ).ads_config.api_type;

describe("a bootstrap", () => {
  it("asks in the form that is wanted", () => assert.deepEqual([formOf(true), formOf(false)], ["DELTA_GRPC", "GRPC"]));
  it("knows the agent's socket where there is one", () => {
    assert.deepEqual(
      clustersOf(options).map(({ name }) => name),
      ["xds-grpc"],
    );
    assert.deepEqual(
      clustersOf({ ...options, secretSocket: "/run/s" }).map(({ name }) => name),
      ["xds-grpc", "sds-grpc"],
    );
  });
  it("names the workload as a sidecar of its namespace", () => {
    const { id, cluster, metadata, ...more } = envoyBootstrap(options)["node"] as unknown as Record<
      string,
      Record<string, unknown>
    >;
    assert.deepEqual([id, cluster, more], ["sidecar~10.0.0.1~web.shop~shop.svc.cluster.local", "web.shop", {}]);
    assert.deepEqual(
      [metadata?.["INTERCEPTION_MODE"], metadata?.["LABELS"], metadata?.["SERVICE_ACCOUNT"]],
      ["NONE", { app: "web" }, "sa"],
    );
  });
  it("says more of the node where it is given", () => {
    const more = { type: "router", locality: { region: "r", zone: "z" }, interception: "REDIRECT" } as const;
    const given = { ...options, node: { ...node, ...more, metadata: { EXTRA: "1" } } };
    const { id, locality, metadata } = envoyBootstrap(given)["node"] as unknown as Record<
      string,
      Record<string, unknown>
    >;
    assert.match(String(id), /^router~/);
    assert.deepEqual(locality, { region: "r", zone: "z" });
    assert.deepEqual([metadata?.["INTERCEPTION_MODE"], metadata?.["EXTRA"]], ["REDIRECT", "1"]);
  });
});
