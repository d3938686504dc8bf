/** Streams that are open: those that are asked to go elsewhere, and those whose callers are not trusted any more. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ConnectedStreams } from "./connected-streams.ts";

/** A connection of a caller with that certificate; `seen` is what happened to it. */
function aStream(id: string, certificate?: string) {
  const seen: string[] = [];
  const connected = {
    stream: {
      record: { id },
      end: ({ details, message }: Record<string, unknown>) => seen.push(String(details ?? message ?? "ended")),
    },
    call: {
      peerCertificate: certificate === undefined ? undefined : Buffer.from(certificate),
      retireConnection: () => seen.push("retired"),
    },
  };
  return { connected: connected as never, seen };
}

function open(...streams: readonly { readonly connected: never }[]): ConnectedStreams {
  const all = new ConnectedStreams();
  for (const { connected } of streams) all.add(connected);
  return all;
}

describe("connected streams", () => {
  it("are listed until they are removed", () => {
    const all = open(aStream("a"), aStream("b"));
    all.remove("a");
    assert.deepEqual(
      all.list().map(({ id }) => id),
      ["b"],
    );
  });

  it("end with their connection when they are asked to go elsewhere", () => {
    const [a, b] = [aStream("a"), aStream("b")];
    const all = open(a, b);
    assert.equal(all.disconnect("a"), true);
    assert.deepEqual([a.seen.length, a.seen.at(-1), b.seen], [2, "retired", []]);
    assert.equal(all.disconnect("c"), false);
  });

  it("end with their connection when their caller's certificate is revoked", () => {
    const [good, bad, none] = [aStream("a", "good"), aStream("b", "bad"), aStream("c")];
    open(good, bad, none).endStreamsOf((certificate) => certificate.toString() === "bad");
    assert.deepEqual([good.seen, none.seen, bad.seen.length, bad.seen.at(-1)], [[], [], 2, "retired"]);
  });

  it("all end when the server does, on connections that stay", () => {
    const [a, b] = [aStream("a"), aStream("b")];
    open(a, b).endAll();
    assert.deepEqual([a.seen.length, b.seen.length], [1, 1]);
  });
});
