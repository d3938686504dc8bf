import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import {
  bootstrapEndpointNames,
  clusterNames,
  endpointNames,
  extensionNames,
  routeNames,
  secretNames,
} from "./followed-names.ts";

describe("names that a client follows", () => {
  const cases: readonly {
    readonly name: string;
    readonly found: readonly string[];
    readonly names: readonly string[];
  }[] = [
    {
      name: "endpoints have the service name of a cluster, else its own, and only where they are discovered",
      found: endpointNames([
        { name: "a", type: "EDS" },
        { name: "b", type: "EDS", edsClusterConfig: { serviceName: "b-service" } },
        { name: "c", type: "STRICT_DNS" },
      ]),
      names: ["a", "b-service"],
    },
    {
      name: "a proxy's own cluster is one of its bootstrap, where its agent writes it",
      found: [{}, { ENABLE_SELF_DISCOVERY: "false" }, { ENABLE_SELF_DISCOVERY: "true" }].flatMap(
        bootstrapEndpointNames,
      ),
      names: ["local_cluster"],
    },
    {
      name: "routes are named once, wherever a listener has them",
      found: routeNames([
        { filterChains: [{ filters: [{ typedConfig: { rds: { routeConfigName: "80" } } }] }] },
        { apiListener: { apiListener: { rds: { routeConfigName: "80" } } } },
      ]),
      names: ["80"],
    },
    {
      name: "extensions are named by their filter",
      found: extensionNames([
        { httpFilters: [{ name: "wasm", configDiscovery: { typeUrls: [] } }, { name: "router" }] },
      ]),
      names: ["wasm"],
    },
    {
      name: "secrets of an agent's socket are none of ours",
      found: secretNames([
        { tlsCertificateSdsSecretConfigs: [{ name: "kubernetes://gateway", sdsConfig: { ads: {} } }] },
        { validationContextSdsSecretConfig: { name: "ROOTCA", sdsConfig: { apiConfigSource: {} } } },
      ]),
      names: ["kubernetes://gateway"],
    },
    {
      name: "clusters are those of routes and of TCP filters, not of mirrored calls",
      found: clusterNames([
        { route: { cluster: "one" } },
        { typedConfig: { cluster: "two" } },
        { route: { weightedClusters: { clusters: [{ name: "three", weight: 1 }] } } },
        { route: { cluster: "one", requestMirrorPolicies: [{ cluster: "four", runtimeFraction: {} }] } },
        { route: { cluster: "" } },
      ] satisfies JsonObject[]),
      names: ["one", "two", "three"],
    },
  ];
  for (const { name, found, names } of cases) it(name, () => assert.deepEqual(found, names));
});
