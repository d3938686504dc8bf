/** Changes as they come from the bus: what is none is refused with the place. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { changeShape, configKeyShape } from "./change-shape.ts";

const key = { kind: "VirtualService", namespace: "shop", name: "a" };

describe("the key of an object", () => {
  const cases: readonly (readonly [name: string, key: unknown, problem: string | undefined])[] = [
    ["has a kind, a namespace and a name", key, undefined],
    ["may have no namespace", { ...key, namespace: "" }, undefined],
    ["holds no slash in its name", { ...key, name: "a/b" }, ".name holds a slash"],
    ["holds no slash in its namespace", { ...key, namespace: "/" }, ".namespace holds a slash"],
    ["is of texts", { ...key, kind: 1 }, ".kind is no text"],
  ];
  for (const [name, value, problem] of cases) it(name, () => assert.equal(configKeyShape(value), problem));
});

describe("a change", () => {
  const cases: readonly (readonly [name: string, change: unknown, problem: string | undefined])[] = [
    ["deletes by a key", { type: "config", op: "delete", key }, undefined],
    ["names its key", { type: "config", op: "delete", key: { ...key, name: "a/b" } }, ".key.name holds a slash"],
    ["is of a known type", { type: "toString", op: "delete", key }, ".type is no type of change"],
    ["puts or deletes", { type: "config", op: "patch", key }, ".op is neither put nor delete"],
  ];
  for (const [name, value, problem] of cases) it(name, () => assert.equal(changeShape(value), problem));
});
