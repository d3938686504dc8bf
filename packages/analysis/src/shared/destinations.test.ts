/** Where routes of a VirtualService lead, mirrors included. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { destinationsOf } from "./destinations.ts";

const to = (...hosts: readonly string[]) => ({ route: hosts.map((host) => ({ destination: { host } })) });
const found = (spec: object) =>
  destinationsOf({ value: spec, path: "spec" }).map(({ at, isMirror }) => [
    (at.value as { readonly host?: string } | undefined)?.host,
    isMirror,
  ]);

it("destinations are those of all protocols, then mirrors of both forms", () => {
  const spec = {
    http: [
      { ...to("a", "b"), mirror: { host: "m" } },
      { ...to("c"), mirrors: [{ destination: { host: "n" } }, { destination: { host: "o" } }] },
      { redirect: {} },
    ],
    tls: [to("t")],
    tcp: [to("u")],
  };
  const direct = ["u", "t", "a", "b", "c"].map((host) => [host, false]);
  assert.deepEqual(found(spec), [...direct, ["m", true], ["n", true], ["o", true]]);
  assert.deepEqual(found({}), []);
  assert.equal(
    destinationsOf({ value: { http: [to("a")] }, path: "spec" })[0]?.at.path,
    "spec.http[0].route[0].destination",
  );
});
