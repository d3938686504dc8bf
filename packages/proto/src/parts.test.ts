import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ResourceSchema } from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { decode } from "./encode.ts";
import { fieldSize, Parts, textSize } from "./parts.ts";

/** Fields of a Resource of DeltaDiscoveryResponse. */
const field = { version: 1, name: 3, aliases: 4 } as const;

describe("a message that is joined from its fields", () => {
  for (const text of ["", "plain", "größer als ein Byte", "漢字", "🛶 and a lone \ud800", "x".repeat(20_000)])
    it(`has its texts in UTF-8: ${text.slice(0, 24)}`, () => {
      const message = new Parts().text(field.name, text).text(field.aliases, text, textSize(text)).finish();
      const { name, aliases } = decode(ResourceSchema, message);
      assert.deepEqual([name, aliases], [text.toWellFormed(), [text.toWellFormed()]]);
      assert.equal(message.length, 2 * fieldSize(field.name, textSize(text)));
    });

  it("leaves out empty fields on request alone", () => {
    assert.equal(new Parts().textUnlessEmpty(field.version, "").size, 0);
    assert.deepEqual([...new Parts().text(field.version, "").finish()], [10, 0]);
  });
});
