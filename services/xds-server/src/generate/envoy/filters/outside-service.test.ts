/** Headers of a provider: stated values, and values by a name that stand in no MeshConfig. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { MeshConfig_ExtensionProvider_HttpHeader as HttpHeader } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { headersToAdd } from "./outside-service.ts";

const cases: readonly (readonly [name: string, given: object, is: string])[] = [
  ["a stated value", { case: "value", value: "v" }, "v"],
  ["a value by name", { case: "envName", value: "TOKEN" }, "t"],
  ["a name that nothing has", { case: "envName", value: "OTHER" }, ""],
  ["a name of each object", { case: "envName", value: "toString" }, ""],
  ["neither", { case: undefined }, ""],
];

describe("a header of a provider", () => {
  for (const [name, headerValue, is] of cases)
    it(`has ${name}`, () => {
      const [header] = headersToAdd([{ name: "x", headerValue } as HttpHeader], { TOKEN: "t" });
      assert.deepEqual([header?.header?.key, header?.header?.value], ["x", is]);
    });
});
