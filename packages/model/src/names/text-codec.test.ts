import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Branded, clusterName, type TextOf, textCodec } from "../index.ts";

const place = textCodec("Place", "|", ["namespace", "hostname", "port"]);
const pair = textCodec("Pair", "::", ["left", "right"]);

describe("texts of several parts", () => {
  const cases = [
    { name: "all parts", parts: { namespace: "shop", hostname: "a.com", port: 80 }, text: "shop|a.com|80" },
    { name: "empty parts", parts: { namespace: "", hostname: "", port: "" }, text: "||" },
    { name: "the separator in the last part", parts: { namespace: "a", hostname: "b", port: "c|d" }, text: "a|b|c|d" },
  ];
  for (const { name, parts, text } of cases)
    it(`${name} are read back as they were written`, () => {
      assert.equal(place.write(parts), text);
      assert.deepEqual(place.read(place.write(parts)), { ...parts, port: String(parts.port) });
    });

  it("separators may be longer than a character", () => {
    assert.deepEqual(pair.read(pair.write({ left: "a:b", right: "::c" })), { left: "a:b", right: "::c" });
  });

  it("a text of fewer parts is refused with the codec's name", () => {
    const forged = "shop|a.com" as TextOf<typeof place>;
    assert.throws(() => place.read(forged), { message: '[MODEL_TEXT] "shop|a.com" is no Place' });
  });

  it("plain texts and those of other codecs have another type", () => {
    const written: Branded<"Place"> = place.write({ namespace: "a", hostname: "b", port: 1 });
    // @ts-expect-error a text that no codec wrote
    const plain: Branded<"Place"> = "a|b|1";
    // @ts-expect-error a text of another codec
    const other: Branded<"Place"> = clusterName("outbound", 80, "", "a.com");
    assert.deepEqual([written === plain, other === "outbound|80||a.com"], [true, true]);
  });
});
