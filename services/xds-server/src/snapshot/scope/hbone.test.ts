/** Proxies that support HBONE, by their type and the switches of the control plane. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type NodeMetadata, parseNode } from "@flotilla/model";
import { Core } from "../../app/core.ts";
import { parseFeatures } from "../features.ts";
import { query } from "../view.ts";
import { farCallsOf, hasRemoteTunnels, listensForHbone, opensTunnels, sendsHbone } from "./hbone.ts";

const answers = query<readonly string[]>("test-hbone", (view) => [
  ...Object.entries({ opensTunnels, sendsHbone, listensForHbone, hasRemoteTunnels }).flatMap(([name, asks]) =>
    asks(view) ? [name] : [],
  ),
  ...[farCallsOf(view)].filter((how) => how !== "direct-or-gateway").map((how) => `calls other networks: ${how}`),
]);

const ambient = { PILOT_ENABLE_AMBIENT: "true" };
const networks = { ...ambient, AMBIENT_ENABLE_MULTI_NETWORK: "true" };

interface Case {
  readonly name: string;
  readonly type: "sidecar" | "router" | "waypoint";
  readonly env: Readonly<Record<string, string>>;
  readonly metadata?: NodeMetadata;
  readonly want: readonly string[];
}

const cases: readonly Case[] = [
  { name: "no proxy in a mesh without ambient", type: "waypoint", env: {}, want: [] },
  { name: "a sidecar calls by it", type: "sidecar", env: ambient, want: ["opensTunnels", "sendsHbone"] },
  {
    name: "a sidecar that must not send",
    type: "sidecar",
    env: ambient,
    metadata: { DISABLE_HBONE_SEND: "true" },
    want: ["opensTunnels"],
  },
  {
    name: "a sidecar that takes it",
    type: "sidecar",
    env: ambient,
    metadata: { ENABLE_HBONE: "true" },
    want: ["opensTunnels", "sendsHbone", "listensForHbone"],
  },
  {
    name: "a sidecar where sending is switched off",
    type: "sidecar",
    env: { ...ambient, PILOT_ENABLE_SENDING_HBONE: "false" },
    want: ["sendsHbone"],
  },
  { name: "a gRPC program has no tunnels", type: "sidecar", env: ambient, metadata: { GENERATOR: "grpc" }, want: [] },
  {
    name: "a sidecar calls other networks through gateways",
    type: "sidecar",
    env: networks,
    want: ["opensTunnels", "sendsHbone", "calls other networks: gateway-only"],
  },
  {
    name: "a waypoint calls by it, and has the listeners for other networks",
    type: "waypoint",
    env: ambient,
    want: ["opensTunnels", "sendsHbone", "hasRemoteTunnels"],
  },
  {
    name: "a waypoint calls other networks",
    type: "waypoint",
    env: networks,
    want: ["opensTunnels", "sendsHbone", "hasRemoteTunnels", "calls other networks: tunnels"],
  },
  {
    name: "a router calls other networks where ingress gateways may",
    type: "router",
    env: { ...networks, AMBIENT_ENABLE_MULTI_NETWORK_INGRESS: "true" },
    want: ["opensTunnels", "sendsHbone", "hasRemoteTunnels", "calls other networks: tunnels"],
  },
  {
    name: "a router where they may not",
    type: "router",
    env: { ...networks, AMBIENT_ENABLE_MULTI_NETWORK_INGRESS: "false" },
    want: ["opensTunnels", "sendsHbone", "calls other networks: never"],
  },
];

describe("HBONE", () => {
  for (const { name, type, env, metadata = {}, want } of cases)
    it(name, () => {
      const core = new Core({ features: parseFeatures(env) });
      const proxy = parseNode({
        id: `${type}~10.0.0.9~p.shop~shop.svc.cluster.local`,
        metadata: { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes", ...metadata },
      });
      assert.deepEqual(core.read(answers, core.subjectOf(proxy)), want);
    });
});
