import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromJson, type JsonValue } from "@flotilla/proto";
import { EnvoyFilterSchema } from "@flotilla/proto/networking/v1alpha3/envoy_filter_pb";
import {
  type PatchPlace,
  patchPlaces,
  placesOfCluster,
  placesOfListener,
  placesOfRoutes,
} from "../../snapshot/scope/patch-places.ts";
import { aPatch, type PatchJson } from "../../testing/patches.ts";
import { matchesCluster } from "../patch/clusters.ts";
import { mayMatchListener, portOfListener } from "../patch/listener-match.ts";
import { Context, type Patch } from "../patch/patch.ts";
import { matchesRoutes, portsOfRoutes } from "../patch/route-match.ts";

interface PatchOfPlaces {
  readonly patch: Patch;
  readonly places: readonly PatchPlace[];
}

function withPlaces(json: PatchJson): PatchOfPlaces {
  const spec = fromJson(EnvoyFilterSchema, { configPatches: [json] } as unknown as JsonValue);
  const [patch] = aPatch(json);
  assert.ok(patch !== undefined);
  return { patch, places: patchPlaces(spec) };
}

/** All combinations of the fields' values, each of which may be missing. */
function combinations(fields: Readonly<Record<string, readonly unknown[]>>): readonly object[] {
  return Object.entries(fields).reduce<readonly object[]>(
    (all, [field, values]) => all.flatMap((one) => [one, ...values.map((value) => ({ ...one, [field]: value }))]),
    [{}],
  );
}

const host = "web.shop.svc.cluster.local";

/** @returns how many pairs match, and which of them do not meet in a place */
function meetings<Resource>(
  patches: readonly PatchOfPlaces[],
  resources: readonly Resource[],
  {
    matches,
    places,
  }: { matches: (patch: Patch, one: Resource) => boolean; places: (one: Resource) => readonly string[] },
) {
  const pairs = patches.flatMap((one) => resources.map((resource) => ({ ...one, resource })));
  const matching = pairs.filter(({ patch, resource }) => matches(patch, resource));
  const missed = matching.filter((one) => !places(one.resource).some((place) => one.places.includes(place)));
  return { matching: matching.length, missed: missed.map(({ places: of, resource }) => ({ of, resource })) };
}

describe("places of patches", () => {
  it("hold every cluster that a patch matches", () => {
    const matches = combinations({
      name: ["PassthroughCluster", `outbound|80||${host}`],
      service: [host, "other"],
      subset: ["v1"],
      portNumber: [80, 9000],
    });
    const patches = matches.map((cluster) =>
      withPlaces({ applyTo: "CLUSTER", match: { cluster }, patch: { operation: "MERGE", value: {} } }),
    );
    const names = ["PassthroughCluster", `outbound|80||${host}`, `outbound|9000|v1|${host}`, "inbound|80||"];
    const hostsOf = (name: string) => (name.startsWith("inbound|") ? [host, "second"] : []);
    const { matching, missed } = meetings(patches, names, {
      matches: (patch, name) => matchesCluster(patch, { name, hosts: hostsOf(name) }),
      places: (name) => placesOfCluster(name, hostsOf(name)),
    });
    assert.deepEqual(missed, []);
    assert.ok(matching > 40, `${matching} matching pairs`);
  });

  it("hold every listener that a patch matches", () => {
    const matches = combinations({
      name: ["virtualInbound", "0.0.0.0_80"],
      portNumber: [80, 8080],
      filterChain: [{ destinationPort: 80 }],
    });
    const patches = ["LISTENER", "HTTP_FILTER"].flatMap((applyTo) =>
      matches.map((listener) => withPlaces({ applyTo, match: { listener }, patch: { operation: "MERGE", value: {} } })),
    );
    const names = ["virtualInbound", "virtualOutbound", "0.0.0.0_80", "10.0.0.1_8080", "unix:///a.sock"];
    const { matching, missed } = meetings(patches, names, {
      matches: mayMatchListener,
      places: (name) => placesOfListener(name, portOfListener(name), false),
    });
    assert.deepEqual(missed, []);
    assert.ok(matching > 40, `${matching} matching pairs`);
  });

  it("hold every route configuration that a patch matches", () => {
    const matches = combinations({
      name: ["80", "http.8080", "https.8443.tls.gw.shop"],
      portNumber: [80, 443, 8080],
      gateway: ["shop/gw"],
      vhost: [{ name: "x" }],
    });
    const patches = matches.map((routeConfiguration) =>
      withPlaces({ applyTo: "HTTP_ROUTE", match: { routeConfiguration }, patch: { operation: "MERGE", value: {} } }),
    );
    const serverPorts = new Map([
      [8080, [80, 81]],
      [8443, [443]],
    ]);
    const routes = [
      { name: "80", context: Context.SIDECAR_OUTBOUND, serverPorts: new Map() },
      { name: `${host}:9000`, context: Context.SIDECAR_OUTBOUND, serverPorts: new Map() },
      { name: "http.8080", context: Context.GATEWAY, serverPorts },
      { name: "https.8443.tls.gw.shop", context: Context.GATEWAY, serverPorts },
    ];
    const { matching, missed } = meetings(patches, routes, {
      matches: matchesRoutes,
      places: (one) => placesOfRoutes(one.name, portsOfRoutes(one)),
    });
    assert.deepEqual(missed, []);
    assert.ok(matching > 30, `${matching} matching pairs`);
  });
});
