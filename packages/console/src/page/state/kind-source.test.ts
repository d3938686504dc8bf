/** Kinds and schemas for the editor: fetched when a text needs them, once each, and again where that failed. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KindRow } from "../../contract/index.ts";
import type { Answer, FetchJson } from "./fetch-json.ts";
import { createKindSource } from "./kind-source.ts";

const row = (kind: string): KindRow => ({
  ...{ kind, name: kind.toLowerCase(), apiVersion: "networking.istio.io/v1", isNamespaced: true },
});
const kinds = [row("Gateway"), row("Sidecar")];
const away: Answer<never> = { ok: false, problem: { kind: "away", message: "no answer", status: 0, causes: [] } };
const textOf = (kind: string) => `kind: ${kind}\nspec:\n  `;

/** An API that fails while `isAway`. */
function anApi() {
  const state = { isAway: false, asked: [] as string[] };
  const fetchJson: FetchJson = async <T>(path: string): Promise<Answer<T>> => {
    state.asked.push(path);
    if (state.isAway) return away;
    const value = path === "/api/v1/kinds" ? { kinds } : { kind: "x", schema: { description: `of ${path}` } };
    return { ok: true, value: value as T };
  };
  return { state, fetchJson };
}
const schemaPath = (name: string) => `/api/v1/kinds/${name}/schema`;

describe("kinds for the editor", () => {
  it("are fetched once, with the schema of the kind that the caret is in", async () => {
    const { state, fetchJson } = anApi();
    const source = createKindSource(fetchJson);
    const at = async (kind: string) => source.knownFor(textOf(kind), textOf(kind).length);
    assert.deepEqual(await at("Gateway"), {
      kinds,
      schemas: new Map([["gateway", { description: `of ${schemaPath("gateway")}` }]]),
    });
    await at("Gateway");
    assert.deepEqual([...(await at("Sidecar")).schemas.keys()], ["gateway", "sidecar"]);
    assert.deepEqual(state.asked, ["/api/v1/kinds", schemaPath("gateway"), schemaPath("sidecar")]);
  });

  it("have no schema where the text has no kind, or an unknown one", async () => {
    const { state, fetchJson } = anApi();
    const source = createKindSource(fetchJson);
    for (const text of ["", textOf("None")]) {
      const { schemas } = await source.knownFor(text, text.length);
      assert.equal(schemas.size, 0);
    }
    assert.deepEqual(state.asked, ["/api/v1/kinds"]);
  });

  it("are fetched again where that failed", async () => {
    const { state, fetchJson } = anApi();
    const source = createKindSource(fetchJson);
    const known = () => source.knownFor(textOf("Gateway"), textOf("Gateway").length);
    state.isAway = true;
    assert.deepEqual(await known(), { kinds: [], schemas: new Map() });
    state.isAway = false;
    assert.equal((await known()).schemas.size, 1);
    assert.deepEqual(state.asked, ["/api/v1/kinds", "/api/v1/kinds", schemaPath("gateway")]);
  });

  it("keep the kinds where a schema failed, and fetch the schema again", async () => {
    const { state, fetchJson } = anApi();
    const source = createKindSource(fetchJson);
    await source.knownFor("", 0);
    state.isAway = true;
    const failed = await source.knownFor(textOf("Gateway"), textOf("Gateway").length);
    assert.deepEqual([failed.kinds.length, failed.schemas.size], [2, 0]);
    state.isAway = false;
    const { schemas } = await source.knownFor(textOf("Gateway"), textOf("Gateway").length);
    assert.equal(schemas.size, 1);
  });
});
