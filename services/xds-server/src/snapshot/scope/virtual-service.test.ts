/** Destinations of a VirtualService that are not there, as its author is shown them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { aConfig, aService, put } from "../../testing/mesh.ts";
import { snapshotOf } from "../../testing/snapshot.ts";
import { query } from "../view.ts";
import { unknownDestinations, virtualServiceName } from "./virtual-service.ts";

const missing = query<readonly string[]>("missing destinations of a test", (view) =>
  view.read(unknownDestinations, virtualServiceName.write({ namespace: "shop", name: "v" })),
);
const hostOf = (name: string, namespace = "shop") => `${name}.${namespace}.svc.cluster.local`;

function missingOf(destination: JsonObject): readonly string[] {
  const changes = put(
    aService("web", "shop"),
    aService("hidden", "bank", { exportTo: ["."] }),
    aConfig("DestinationRule", "shop", "d", {
      host: hostOf("web"),
      subsets: [{ name: "v1", labels: { version: "v1" } }],
    }),
    aConfig("VirtualService", "shop", "v", { hosts: ["a.example"], http: [{ route: [{ destination }] }] }),
  );
  return snapshotOf({ changes }).read(missing);
}

describe("destinations that are missing", () => {
  const hidden = hostOf("hidden", "bank");
  const cases: readonly (readonly [name: string, destination: JsonObject, missing: readonly string[]])[] = [
    ["are none of a service", { host: "web" }, []],
    ["are hosts of no service", { host: "none" }, [`host ${hostOf("none")}`]],
    ["are services that the namespace does not see", { host: hidden }, [`host ${hidden}`]],
    ["are none of a subset", { host: "web", subset: "v1" }, []],
  ];
  for (const [name, destination, expected] of cases) it(name, () => assert.deepEqual(missingOf(destination), expected));
});
