/** Conditions of sources on the readiness page: looked at while there is one that has any. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type HttpHandler, noopLogger, until } from "@flotilla/runtime";
import type { ConfigService } from "../settings.ts";
import type { ConfigSource } from "../watch/config-source.ts";
import { serveDebugPages, watchConditions } from "./pages.ts";

describe("the debug pages", () => {
  type Parts = Parameters<typeof serveDebugPages>[1];
  const key = (kind: string) => ({ key: { kind, namespace: "shop", name: "a" } });
  const served = () => {
    const routes = new Map<string, HttpHandler>();
    const route = (method: string, path: string, handler: HttpHandler) => void routes.set(`${method} ${path}`, handler);
    const settings = { debugAuth: false, workDir: "/none", namespace: "mesh", pageWriters: [], apiWriters: [] };
    const pages = { add: () => undefined, inEffect: () => ({}) };
    const service = { settings, health: { route, setCondition: () => undefined }, log: noopLogger, pages };
    const store = { all: () => [key("Secret"), key("Sidecar")], conflicts: () => [] };
    const parts = { view: { sources: [], store }, status: { page: () => ({ json: "status" }) }, ledger: {} };
    serveDebugPages(
      service as unknown as ConfigService,
      { ...parts, published: { position: 7 }, reviewer: undefined } as unknown as Parts,
    );
    return routes;
  };

  it("are those that the command line and the console ask for", () => {
    const paths = [...served().keys()].filter((path) => path.startsWith("GET /debug/")).map((path) => path.slice(11));
    for (const path of [
      ...["problems", "configz", "objects", "object_rows", "object", "rejections", "recent"],
      ...["history", "generations", "generation", "diff"],
    ])
      assert.ok(paths.includes(path), path);
  });

  it("show no Secrets among the objects", async () => {
    const answer = await served().get("GET /debug/configz")?.({
      query: new URLSearchParams(),
      headers: {},
      remoteAddress: "127.0.0.1",
    } as never);
    assert.deepEqual(answer, { json: { objects: [key("Sidecar")] } });
  });
});

describe("conditions of sources", () => {
  const source = (name: string, condition?: ConfigSource["condition"]) =>
    ({ name, ...(condition && { condition }) }) as unknown as ConfigSource;
  it("are set by the source's name, with whether they block, until the service stops", async () => {
    const set: unknown[] = [];
    const stop = new AbortController();
    const setCondition = (...given: readonly unknown[]) => void set.push(given);
    const conditions = [{ detail: "away", blocks: true }, { detail: "old" }, undefined];
    const sources = [source("files"), source("cluster", (() => conditions[set.length]) as never)];
    const watching = watchConditions(sources, { setCondition } as never, stop.signal);
    await until(() => set.length >= 3, { withinMs: 20_000, what: "three looks" });
    stop.abort();
    await watching;
    assert.deepEqual(set.slice(0, 3), [
      ["cluster", "away", { blocks: true }],
      ["cluster", "old", { blocks: false }],
      ["cluster", undefined, { blocks: false }],
    ]);
  });
  it("are not looked at where no source has any", async () => {
    await watchConditions([source("files")], {} as never, new AbortController().signal);
  });
});
