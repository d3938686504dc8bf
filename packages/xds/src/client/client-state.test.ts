import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ClientState, type ClientUpdate } from "./client-state.ts";
import type { ReceivedResource } from "./response.ts";

const typeUrl = "example.io/v1/Thing";
const resource = (name: string, version: string): ReceivedResource => ({
  name,
  version,
  typeUrl,
  bytes: new Uint8Array(),
});
const bad = new Map([["b", "is wrong"]]);

describe("a client that refuses single names", () => {
  it("takes the others, keeps what it had of these, and says so", () => {
    for (const form of ["sotw", "delta"] as const) {
      const updates: ClientUpdate[] = [];
      let refused: ReadonlyMap<string, string> = new Map();
      const state = new ClientState({ form, refusals: () => refused, onUpdate: (update) => updates.push(update) });
      state.subscribe(typeUrl);
      const first = [resource("a", "1"), resource("b", "1")];
      const accepted = state.receive({ typeUrl, version: "1", nonce: "n1", resources: first, removed: [] });
      assert.equal(accepted.error, undefined);
      refused = bad;
      const second = [resource("b", "2"), resource("c", "2")];
      const removed = form === "delta" ? ["a"] : [];
      const answer = state.receive({ typeUrl, version: "2", nonce: "n2", resources: second, removed });
      assert.deepEqual([answer.nonce, answer.error], ["n2", { code: 13, message: "b: is wrong" }]);
      assert.deepEqual(
        [...state.held(typeUrl)].map(([name, { version }]) => `${name} ${version}`),
        ["b 1", "c 2"],
      );
      assert.deepEqual(updates[1]?.removed, ["a"]);
      assert.deepEqual(
        updates[1].changed.map(({ name }) => name),
        ["c"],
      );
      // State of the world: the last version that was taken as a whole.
      if ("version" in answer) assert.equal(answer.version, "1");
    }
  });
});

describe("a state-of-the-world client that reconnects", () => {
  it("shows the version of what it has, and none after it gave up names, as that was the version of more", () => {
    const state = new ClientState({ form: "sotw" });
    const shown = () => state.connected().map((request) => ("version" in request ? request.version : "delta"));
    state.subscribe(typeUrl, ["a", "b"]);
    const resources = [resource("a", "1"), resource("b", "1")];
    state.receive({ typeUrl, version: "1", nonce: "n1", resources, removed: [] });
    assert.deepEqual(shown(), ["1"]);
    state.unsubscribe(typeUrl, ["b"]);
    state.subscribe(typeUrl, ["b"]);
    assert.deepEqual(shown(), [""]);
    state.receive({ typeUrl, version: "1", nonce: "n1", resources, removed: [] });
    assert.deepEqual(shown(), ["1"]);
  });
});
