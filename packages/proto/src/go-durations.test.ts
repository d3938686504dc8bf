import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { VirtualServiceSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { withSeconds } from "./go-durations.ts";

const withTimeout = (timeout: string): JsonObject => ({ hosts: ["a"], http: [{ timeout }] });

const cases = [
  { text: "24h", want: "86400s" },
  { text: "1h30m", want: "5400s" },
  { text: "750ms", want: "0.75s" },
  { text: "1.5s", want: "1.5s" },
  { text: "2us", want: "0.000002s" },
  { text: "0s", want: "0s" },
  { text: "soon", want: "soon" },
];

for (const { text, want } of cases) {
  test(`${text} is ${want}`, () => {
    assert.deepEqual(withSeconds(VirtualServiceSchema, withTimeout(text)), withTimeout(want));
  });
}

test("an object without such a duration is returned as it is", () => {
  const json = withTimeout("5s");
  assert.equal(withSeconds(VirtualServiceSchema, json), json);
});
