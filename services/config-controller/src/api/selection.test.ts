import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { parseSelection } from "./selection.ts";

const config = (name: string, namespace: string, labels: Readonly<Record<string, string>>) =>
  ({ key: { kind: "Gateway", namespace, name }, labels }) as unknown as Config;
const all = [
  config("a", "shop", { app: "web", tier: "front" }),
  config("b", "shop", { app: "db" }),
  config("c", "bank", {}),
];
const selected = (query: string) =>
  all
    .filter(parseSelection(new URLSearchParams(query)))
    .map(({ key }) => key.name)
    .join("");

describe("a selection", () => {
  for (const [label, expected] of [
    ["", "abc"],
    ["app=web", "a"],
    ["app==web", "a"],
    ["app = web", "a"],
    ["app!=web", "bc"],
    ["app=", ""],
    ["app", "ab"],
    ["!app", "c"],
    ["! app", "c"],
    ["toString", ""],
    ["app in (web,db)", "ab"],
    ["app in ( db )", "b"],
    ["app notin (web)", "bc"],
    ["app in ()", ""],
    ["app in (web,db),tier", "a"],
    ["app,tier!=front", "b"],
    [" app , !tier ", "b"],
    [",app,", "ab"],
  ] as const)
    it(`of labels ${JSON.stringify(label)} has ${expected || "none"}`, () =>
      assert.equal(selected(`labelSelector=${encodeURIComponent(label)}`), expected));

  for (const [field, expected] of [
    ["metadata.name=a", "a"],
    ["metadata.name==a", "a"],
    ["metadata.name!=a", "bc"],
    ["metadata.namespace=bank", "c"],
    ["metadata.namespace!=bank", "ab"],
    ["metadata.namespace=shop,metadata.name!=a", "b"],
  ] as const)
    it(`of fields ${field} has ${expected}`, () =>
      assert.equal(selected(`fieldSelector=${encodeURIComponent(field)}`), expected));

  it("of both has what both have", () =>
    assert.equal(selected("labelSelector=app&fieldSelector=metadata.name%3Db"), "b"));

  for (const [name, text] of [
    ["labelSelector", "app in web"],
    ["labelSelector", "a=b=c"],
    ["labelSelector", "app is web"],
    ["fieldSelector", "spec.host=a"],
    ["fieldSelector", "metadata.name"],
    ["fieldSelector", "metadata.uid=a"],
  ] as const)
    it(`refuses ${name} ${text}`, () =>
      assert.throws(() => parseSelection(new URLSearchParams({ [name]: text })), {
        status: 400,
        message: new RegExp(`${name}: ".*" cannot be read`),
      }));
});
