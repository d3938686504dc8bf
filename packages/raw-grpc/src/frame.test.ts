import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { deflateSync, gzipSync } from "node:zlib";
import { FrameReader, frameOf, messageOf } from "./frame.ts";

function compressed(bytes: Buffer): Buffer {
  const frame = frameOf(bytes);
  frame[0] = 1;
  return frame;
}

function read(chunks: readonly Buffer[], { maxBytes = 100, encoding }: { maxBytes?: number; encoding?: string } = {}) {
  const reader = new FrameReader({ maxBytes, encoding });
  const messages: string[] = [];
  for (const chunk of chunks) reader.read(chunk, (message) => messages.push(String(message)));
  return messages;
}

describe("frames", () => {
  it("hold their parts behind flag and length", () => {
    const frame = frameOf(Buffer.from("ab"), Buffer.from("c"));
    assert.equal(frame.toString("latin1"), "\0\0\0\0\u0003abc");
    assert.equal(String(messageOf(frame)), "abc");
  });

  const stream = Buffer.concat(["one", "", "three"].map((text) => frameOf(Buffer.from(text))));
  for (const size of [1, 2, 4, 7, stream.length]) {
    it(`are read however they are cut: ${size} bytes at a time`, () => {
      const chunks = Array.from({ length: Math.ceil(stream.length / size) }, (_, i) =>
        stream.subarray(i * size, (i + 1) * size),
      );
      assert.deepEqual(read(chunks), ["one", "", "three"]);
    });
  }

  it("may be compressed", () => {
    const [gzip, deflate] = [gzipSync("hello"), deflateSync("hello")].map(compressed);
    assert.deepEqual(read([gzip ?? Buffer.alloc(0)], { encoding: "gzip" }), ["hello"]);
    assert.deepEqual(read([deflate ?? Buffer.alloc(0)], { encoding: "deflate" }), ["hello"]);
  });

  const refused = [
    { name: "announced too large", frame: Buffer.from([0, 0, 0, 0, 101]), code: 8, text: /101 bytes .* limit of 100/ },
    { name: "too large within", frame: compressed(gzipSync(Buffer.alloc(200))), code: 8, text: /limit of 100/ },
    { name: "spoiled", frame: compressed(Buffer.from("no gzip")), code: 13, text: /decompressed/ },
  ];
  for (const { name, frame, code, text } of refused) {
    it(`${name}: refused`, () =>
      void assert.throws(
        () => read([frame], { encoding: "gzip" }),
        (error: { code: number; message: string }) => error.code === code && text.test(error.message),
      ));
  }

  it("that inflate to much more than they are are refused, however much a message may have", () => {
    const options = { maxBytes: 4_000_000, encoding: "gzip" };
    const bomb = compressed(gzipSync(Buffer.alloc(3_900_000)));
    assert.throws(() => read([bomb], options), { code: 8 });
    const names = Array.from(
      { length: 20_000 },
      (_, at) => `outbound|${at % 90}||host-${(at * 7919) % 20_000}.example.com`,
    );
    const usual = gzipSync(names.join("\n"));
    assert.equal(read([compressed(usual)], options)[0]?.length, names.join("\n").length);
  });

  it("of an unknown compression are refused by its name", () => {
    assert.throws(() => read([compressed(Buffer.from("x"))], { encoding: "snappy" }), /"snappy"/);
  });
});
