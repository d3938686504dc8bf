/** Where references of routes lead, and why some lead nowhere. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toJson } from "@flotilla/proto";
import { DestinationSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { backendProblem, type EndpointPicker, type RouteContext, resolveBackend, weighted } from "./backends.ts";
import type { BackendRef, ObjectRef } from "./route-spec.ts";

const pool = { group: "inference.networking.k8s.io", kind: "InferencePool" };
const external = { group: "gateway.networking.x-k8s.io", kind: "XBackend" };
const hostname = { group: "networking.istio.io", kind: "Hostname" };
const imported = { group: "multicluster.x-k8s.io", kind: "ServiceImport" };

describe("a reference", () => {
  const invalid = (message: string) => ({ reason: "InvalidDestination", message });
  const noPort = invalid("port is required in backendRef");
  const cases: readonly (readonly [ref: ObjectRef, problem: object | undefined])[] = [
    [{ name: "a", port: 80 }, undefined],
    [{ name: "a" }, noPort],
    [{ kind: "Service", name: "a", port: 0 }, undefined],
    [{ ...imported, name: "a" }, noPort],
    [{ ...hostname, name: "a.example.com" }, noPort],
    [{ ...hostname, name: "a.example.com", port: 80 }, undefined],
    [
      { ...hostname, name: "a.example.com", port: 80, namespace: "shop" },
      invalid("namespace may not be set with Hostname type"),
    ],
    [{ name: "a", port: 80, namespace: "shop" }, undefined],
    [{ ...external, name: "a" }, undefined],
    [{ ...pool, name: "a" }, undefined],
    [pool, undefined],
    [
      { ...pool, name: "a.shop" },
      invalid("InferencePool.Name invalid; the name of the InferencePool must be used, not the hostname."),
    ],
    [{ kind: "Nothing", name: "a" }, undefined],
    [{ group: "apps", kind: "Service", name: "a" }, undefined],
    [{ kind: "toString", name: "a" }, undefined],
  ];
  for (const [ref, problem] of cases)
    it(`${JSON.stringify(ref)} ${problem === undefined ? "can be followed" : "cannot be followed"}`, () =>
      assert.deepEqual(backendProblem(ref), problem));
});

const picker: EndpointPicker = { host: "picker", port: 9002, failsOpen: true };
const context: RouteContext = {
  ...{ domain: "mesh.local", namespace: "shop" },
  hasService: (host) => host.startsWith("web") || host === "api.example.com",
  poolService: (namespace, name) => ({
    host: `${name}-ip.${namespace}`,
    port: name === "gone" ? undefined : 54_321,
    picker: name === "blind" ? undefined : picker,
  }),
  externalBackend: (namespace, name) => (name === "bucket" ? { host: `s3.${namespace}`, port: 443 } : undefined),
};
const grant = {
  spec: {
    from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "shop" }],
    to: [{ group: "", kind: "Service", name: "web" }],
  },
};
const withGrants = { ...context, grants: { kind: "HTTPRoute", grantsIn: () => [grant] as never } };

describe("the backend of a reference", () => {
  const found = (host: string, number: number, more: object = {}) => ({
    destination: { host, port: { number } },
    ...more,
  });
  const notFound = (what: string) => ({ reason: "BackendNotFound", message: `backend(${what}) not found` });
  const none = (reason: string, message: string) => ({ destination: {}, problem: { reason, message } });
  const cases: readonly (readonly [ref: ObjectRef, expected: object, of?: RouteContext])[] = [
    [{ name: "web", port: 80 }, found("web.shop.svc.mesh.local", 80)],
    [{ name: "web", port: 80, namespace: "bank" }, found("web.bank.svc.mesh.local", 80)],
    [{ ...imported, name: "web", port: 80 }, found("web.shop.svc.mesh.local", 80)],
    [{ name: "db", port: 80 }, found("db.shop.svc.mesh.local", 80, { problem: notFound("db.shop.svc.mesh.local") })],
    [{ ...hostname, name: "api.example.com", port: 443 }, found("api.example.com", 443)],
    [
      { ...hostname, name: "no.example.com", port: 443 },
      found("no.example.com", 443, { problem: notFound("no.example.com") }),
    ],
    [{ ...pool, name: "llm", port: 1 }, found("llm-ip.shop", 54_321, { picker })],
    [
      { ...pool, name: "blind" },
      found("blind-ip.shop", 54_321, {
        problem: {
          reason: "InvalidDestination",
          message: "InferencePool service invalid, extensionRef labels not found",
        },
      }),
    ],
    [
      { ...pool, name: "gone" },
      { destination: {}, problem: notFound("gone-ip.shop") },
    ],
    [
      { ...pool, name: "llm" },
      { destination: {}, problem: notFound("llm") },
      { ...context, poolService: undefined as never },
    ],
    [{ ...external, name: "bucket" }, found("s3.shop", 443)],
    [{ ...external, name: "bucket", port: 443 }, found("s3.shop", 443)],
    [
      { ...external, name: "bucket", port: 80 },
      none("BackendNotFound", "backend(bucket) does not expose port 80, expected 443"),
    ],
    [
      { ...external, name: "box" },
      { destination: {}, problem: notFound("box") },
    ],
    [
      { ...external, name: "bucket" },
      { destination: {}, problem: notFound("bucket") },
      { ...context, externalBackend: undefined as never },
    ],
    [{ kind: "Pod", name: "web" }, none("InvalidKind", 'referencing unsupported backendRef: group "" kind "Pod"')],
    [
      { group: "apps", name: "web" },
      none("InvalidKind", 'referencing unsupported backendRef: group "apps" kind "Service"'),
    ],
    [{ name: "web", port: 80 }, found("web.shop.svc.mesh.local", 80), withGrants],
    [{ name: "web", port: 80, namespace: "bank" }, found("web.bank.svc.mesh.local", 80), withGrants],
    [
      { name: "webs", port: 80, namespace: "bank" },
      none(
        "RefNotPermitted",
        'backendRef webs/bank not accessible to a HTTPRoute in namespace "shop" (missing a ReferenceGrant?)',
      ),
      withGrants,
    ],
    [{ ...hostname, name: "api.example.com", port: 443, namespace: "bank" }, found("api.example.com", 443), withGrants],
  ];
  for (const [ref, expected, of = context] of cases)
    it(`${JSON.stringify(ref)}${of === withGrants ? " with grants" : ""} is ${JSON.stringify(expected)}`, () => {
      const { destination, ...more } = resolveBackend(ref, of);
      assert.deepEqual({ destination: toJson(DestinationSchema, destination), ...more }, expected);
    });
});

describe("weights of backends", () => {
  const cases: readonly (readonly [
    given: readonly (number | undefined)[],
    expected: readonly (readonly [index: number, weight: number])[],
  ])[] = [
    [[], []],
    [[undefined], [[0, 0]]],
    [[7], [[0, 0]]],
    [[0], []],
    [
      [undefined, 3],
      [
        [0, 1],
        [1, 3],
      ],
    ],
    [[0, 3, 0], [[1, 0]]],
    [
      [1, 0, 2],
      [
        [0, 1],
        [2, 2],
      ],
    ],
  ];
  for (const [given, expected] of cases)
    it(`${given.join(", ") || "none"} are ${JSON.stringify(expected)}`, () => {
      const refs = given.map((weight, i): BackendRef => ({ name: `${i}`, ...(weight !== undefined && { weight }) }));
      assert.deepEqual(
        weighted(refs).map(({ ref, weight }) => [Number(ref.name), weight]),
        expected,
      );
    });
});
