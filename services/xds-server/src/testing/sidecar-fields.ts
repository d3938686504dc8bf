/** A sidecar with three ports of its own, for tables of single fields of what it gets. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { KubeObject, Proxy } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anEntry, fieldAt, inShort } from "./kube-mesh.ts";
import { aSidecar, resourceOf } from "./mesh.ts";

export interface SidecarGiven {
  readonly objects?: readonly KubeObject[];
  readonly metadata?: JsonObject;
  readonly address?: string;
  readonly mesh?: JsonObject;
  readonly env?: Readonly<Record<string, string>>;
}

/** A resource, the path of a field in it, and what `inShort` makes of the field. */
export type FieldCase = readonly [
  name: string,
  given: SidecarGiven,
  of: readonly ["listener" | "cluster" | "route" | "endpoint", string],
  at: string,
  is: string,
];

/** The proxy is the endpoint of `a` (HTTP 80, TCP 9000, unknown 7000); `b` is outside of the mesh and found by DNS. */
export function aSidecarMesh({ objects = [], address = "10.0.0.1", mesh = {}, env = {} }: SidecarGiven) {
  const ports = [
    { number: 80, name: "http", protocol: "HTTP" },
    { number: 9000, name: "tcp", protocol: "TCP" },
    { number: 7000, name: "any", protocol: "" },
  ];
  const own = anEntry("a", { ports, endpoints: [{ address, labels: { app: "web" } }] });
  const outside = anEntry("b", {
    ...{ addresses: ["10.9.0.2"], location: "MESH_EXTERNAL", resolution: "DNS", endpoints: [{ address: "b.example" }] },
    ports: [{ number: 81, name: "http", protocol: "HTTP" }],
  });
  return aKubeMesh([own, outside, ...objects], { mesh, env });
}

export function sidecarOf({ metadata = {}, address }: SidecarGiven): Proxy {
  return aSidecar("shop", metadata, address);
}

/** A test of each case. */
export function checkFields(cases: readonly FieldCase[]): void {
  for (const [name, given, [type, of], at, is] of cases)
    it(name, () => {
      const found = resourceOf(aSidecarMesh(given), sidecarOf(given), typeUrl[type], of);
      assert.equal(inShort(fieldAt(found, at)), is);
    });
}
