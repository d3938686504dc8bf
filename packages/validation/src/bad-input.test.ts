/** Objects made to take long or to break the reader: each gets an answer. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createValidator } from "./validate-object.ts";

const validate = createValidator();
const metadata = { name: "a", namespace: "shop" };
const networking = (kind: string, spec: object) => ({ apiVersion: "networking.istio.io/v1", kind, metadata, spec });
const many = <T>(make: (index: number) => T): readonly T[] => Array.from({ length: 10_000 }, (_, index) => make(index));
const route = [{ destination: { host: "a" } }];

function nested(depth: number): object {
  let value: object = {};
  for (let level = 0; level < depth; level++) value = { inner: value };
  return value;
}

/** Far beyond what each takes, also on a busy machine: what grows with the square of a list takes longer. */
const timeout = 60_000;

const cases: readonly (readonly [name: string, object: object, isRefused: boolean])[] = [
  [
    "a patch of 10,000 levels",
    {
      ...networking("EnvoyFilter", {
        configPatches: [{ applyTo: "CLUSTER", patch: { operation: "MERGE", value: nested(10_000) } }],
      }),
      apiVersion: "networking.istio.io/v1alpha3",
    },
    true,
  ],
  [
    "keys of every object",
    JSON.parse(
      JSON.stringify(
        networking("VirtualService", { hosts: ["a"], http: [{ route, headers: { request: { set: {} } } }] }),
      ).replace('"set":{}', '"set":{"__proto__":"a","constructor":"b"}'),
    ),
    false,
  ],
  [
    "a spec that is a prototype",
    JSON.parse(
      '{"apiVersion":"networking.istio.io/v1","kind":"VirtualService","metadata":{"name":"a"},"__proto__":{"spec":{}}}',
    ),
    true,
  ],
  ["10,000 hosts", networking("VirtualService", { hosts: many((i) => `h${i}.example`), http: [{ route }] }), false],
  [
    "10,000 hosts that one covers",
    networking("VirtualService", { hosts: ["*.example", ...many((i) => `h${i}.example`)], http: [{ route }] }),
    true,
  ],
  [
    "10,000 matches by prefix",
    networking("VirtualService", {
      hosts: ["a"],
      http: [{ route, match: many((i) => ({ uri: { prefix: `/${i}` } })) }],
    }),
    false,
  ],
  [
    "10,000 server names",
    networking("VirtualService", {
      hosts: many((i) => `h${i}.example`),
      tls: [{ route, match: many((i) => ({ sniHosts: [`h${i}.example`] })) }],
    }),
    false,
  ],
  [
    "10,000 localities",
    networking("DestinationRule", {
      host: "a",
      trafficPolicy: {
        loadBalancer: { localityLbSetting: { distribute: many((i) => ({ from: `r${i}`, to: { a: 100 } })) } },
      },
    }),
    false,
  ],
  ["10,000 hosts of a Sidecar", networking("Sidecar", { egress: [{ hosts: many((i) => `ns/h${i}.example`) }] }), false],
  [
    "a header of a megabyte of commands",
    networking("VirtualService", {
      hosts: ["a"],
      http: [{ route, headers: { request: { set: { a: "%A(".repeat(300_000) } } } }],
    }),
    true,
  ],
];

describe("validation of bad input", () => {
  for (const [name, object, isRefused] of cases)
    it(`answers ${name}`, { timeout }, () => {
      const problems = validate(object as Readonly<Record<string, unknown>>);
      assert.equal(
        problems.some(({ severity }) => severity === "error"),
        isRefused,
        problems
          .slice(0, 5)
          .map(({ field, reason }) => `${field} ${reason}`)
          .join("\n"),
      );
    });
});
