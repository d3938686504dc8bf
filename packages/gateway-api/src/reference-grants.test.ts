/** References to other namespaces that a ReferenceGrant permits. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ReferenceGrantSpec } from "./gateway-spec.ts";
import { isGranted, notGranted } from "./reference-grants.ts";

const from = { kind: "HTTPRoute", namespace: "shop" };
const to = { group: "", kind: "Service", namespace: "bank", name: "ledger" };
const source = { group: "gateway.networking.k8s.io", ...from };

const cases: readonly {
  readonly name: string;
  readonly grant: ReferenceGrantSpec;
  readonly is: boolean;
}[] = [
  { name: "any object of the kind", grant: { from: [source], to: [{ kind: "Service" }] }, is: true },
  { name: "with an empty name", grant: { from: [source], to: [{ group: "", kind: "Service", name: "" }] }, is: true },
  { name: "by name", grant: { from: [source], to: [{ kind: "Service", name: "ledger" }] }, is: true },
  { name: "one of several", grant: { from: [{}, source], to: [{}, { kind: "Service" }] }, is: true },
  { name: "another name", grant: { from: [source], to: [{ kind: "Service", name: "other" }] }, is: false },
  { name: "another kind", grant: { from: [source], to: [{ kind: "Secret" }] }, is: false },
  { name: "another group", grant: { from: [source], to: [{ group: "x.io", kind: "Service" }] }, is: false },
  {
    ...{ name: "from another kind", is: false },
    grant: { from: [{ ...source, kind: "GRPCRoute" }], to: [{ kind: "Service" }] },
  },
  {
    ...{ name: "from another namespace", is: false },
    grant: { from: [{ ...source, namespace: "other" }], to: [{ kind: "Service" }] },
  },
  { name: "from another group", grant: { from: [{ ...source, group: "" }], to: [{ kind: "Service" }] }, is: false },
  { name: "nothing to refer to", grant: { from: [source] }, is: false },
  { name: "nobody who refers", grant: { to: [{ kind: "Service" }] }, is: false },
];

const granting = (spec: ReferenceGrantSpec) => (namespace: string) =>
  namespace === "bank"
    ? [
        {
          ...{ key: { kind: "ReferenceGrant", namespace, name: "g" }, labels: {}, annotations: {} },
          ...{ creationTimeMs: 0, spec },
        },
      ]
    : [];

describe("a reference to another namespace", () => {
  for (const { name, grant, is } of cases)
    it(`is ${is ? "granted" : "refused"}: ${name}`, () => assert.equal(isGranted({ from, to }, granting(grant)), is));
  it("is refused without a grant in the namespace that it leads to", () => {
    const grants = granting({ from: [source], to: [{ kind: "Service" }] });
    assert.equal(isGranted({ from, to: { ...to, namespace: "other" } }, grants), false);
  });
  it("needs none within one namespace", () =>
    assert.equal(isGranted({ from, to: { ...to, namespace: "shop" } }, granting({})), true));
});

it("a refused reference is described by who refers to what", () => {
  const problem = (kind?: string) => notGranted("backendRef ledger/bank", { from, to }, kind);
  const end = 'in namespace "shop" (missing a ReferenceGrant?)';
  assert.deepEqual(problem(), {
    reason: "RefNotPermitted",
    message: `backendRef ledger/bank not accessible to a HTTPRoute ${end}`,
  });
  assert.equal(problem("Gateway").message, `backendRef ledger/bank not accessible to a Gateway ${end}`);
});
