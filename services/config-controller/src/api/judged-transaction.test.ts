/** Objects too large to be validated within a transaction: over the API, from a directory, in the status of objects. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Problem } from "@flotilla/validation";
import type { Draft } from "../store/durable/draft.ts";
import { configAdmission, configDirectory } from "../watch/config-source.ts";
import { openTestApi, root, virtualService } from "./api.fixture.ts";
import { transactJudged } from "./judged-transaction.ts";

const collection = `${root}/virtualservices`;

/** @param wrong at which route the destination is none */
function large(name: string, wrong?: number, routes = 1_000) {
  const object = virtualService(name, `${name}.example.com`);
  const http = Array.from({ length: routes }, (_, at) => ({
    match: [{ uri: { exact: `/${at}` } }],
    route: [{ destination: { host: at === wrong ? "a b" : "web" } }],
  }));
  return { ...object, spec: { ...object.spec, http } };
}

describe("large objects over the API", () => {
  it("are judged as small ones are, however they are written", async () => {
    await using api = await openTestApi();
    const created = await api.call("POST", collection, large("a"));
    assert.equal(created.status, 201);
    const refused = await api.call("PUT", `${collection}/a`, large("a", 900));
    assert.equal(refused.status, 422);
    assert.match(refused.body.message, /spec\.http\[900\]\.route\[0\]\.destination\.host/);
    const patch = [{ op: "replace", path: "/spec/http/7/route/0/destination/host", value: "a b" }];
    const patched = await api.call("PATCH", `${collection}/a`, patch, "application/json-patch+json");
    assert.match(patched.body.message, /spec\.http\[7\]\.route\[0\]\.destination\.host/);
    const applied = await api.call("PATCH", `${collection}/b`, large("b"), "application/apply-patch+yaml");
    assert.equal(applied.status, 201);
    assert.equal((await api.call("GET", `${collection}/a`)).body.spec.http[900].route[0].destination.host, "web");
  });

  it("in a list are refused together with the small ones, each by its place", async () => {
    await using api = await openTestApi();
    const items = [large("a", 3), virtualService("b", "one two"), large("c"), large("d", 4)];
    const { status, body } = await api.call("POST", "/flotilla/v1/apply?namespace=shop", {
      ...{ apiVersion: "v1", kind: "List", items },
    });
    assert.equal(status, 422);
    const fields = body.details.causes.map(({ field }: { field: string }) => field.replace(/\..*/, ""));
    assert.deepEqual([...new Set(fields)], ["items[0]", "items[1]", "items[3]"]);
    assert.equal((await api.call("GET", collection)).body.items.length, 0);
  });

  it("many small ones count together: what is more than 32 kB of them is not validated in the transaction's step", async () => {
    const inline: string[] = [];
    const aside: string[] = [];
    const objects = Array.from({ length: 40 }, (_, at) => large(`vs-${at}`, undefined, 30));
    const durable = { transact: async <T>(write: (draft: Draft) => T) => write({} as Draft) };
    const noting = (names: string[], json: string): readonly Problem[] => {
      names.push(JSON.parse(json).metadata.name);
      return [];
    };
    const judging = {
      durable: durable as never,
      validate: (object: object) => noting(inline, JSON.stringify(object)),
      thread: { validate: async ({ json }: { json: string | Uint8Array }) => noting(aside, String(json)) },
    };
    await transactJudged(judging, (_, validate) => objects.map((object) => validate(object as never)), false);
    const ownLength = JSON.stringify(objects[0]).length;
    assert.ok(new Set(inline).size <= 32_768 / ownLength + 1);
    assert.equal(new Set([...inline, ...aside]).size, 40);
  });

  it("that change all the time while they are validated are refused in the end", async () => {
    await using api = await openTestApi();
    let state = 0;
    const judging = { durable: api.durable, validate: () => [], thread: { validate: async () => [] } };
    const write = (_: Draft, validate: (object: never) => unknown) => validate(large(`vs-${state++}`) as never);
    await assert.rejects(transactJudged(judging, write, true), /change all the time/);
  });
});

describe("large objects of a directory", () => {
  it("are refused and accepted as small ones are", async () => {
    const path = mkdtempSync(join(tmpdir(), "large-objects-"));
    try {
      for (const object of [large("good"), large("bad", 700), virtualService("small", "one two")])
        writeFileSync(join(path, `${object.metadata.name}.json`), JSON.stringify(object));
      const options = { admission: configAdmission(), revision: "default", onProblems: () => undefined };
      await using source = configDirectory({ path, ...options });
      const stop = new AbortController();
      const groups = source.groups(stop.signal)[Symbol.asyncIterator]();
      const { value } = await groups.next();
      assert.deepEqual(
        value?.changes.map(({ key }: { key: { name: string } }) => key.name),
        ["good"],
      );
      const fields = source.problems().map(({ object, field }) => `${object} ${field}`);
      assert.ok(fields.includes("VirtualService/shop/bad spec.http[700].route[0].destination.host"), fields.join());
      assert.ok(
        fields.some((field) => field.startsWith("VirtualService/shop/small spec.hosts")),
        fields.join(),
      );
      stop.abort();
    } finally {
      rmSync(path, { recursive: true });
    }
  });

  it("are validated once, before they are checked", async () => {
    const { prepare, check } = configAdmission();
    const object = large("a", 5);
    await prepare?.(object);
    const before = process.threadCpuUsage();
    assert.equal(check(object).length, 1);
    const known = process.threadCpuUsage(before).user;
    const again = process.threadCpuUsage();
    assert.deepEqual(check(structuredClone(object)), check(object));
    assert.ok(known < process.threadCpuUsage(again).user / 3, `${known} µs`);
    assert.equal(prepare?.(virtualService("small", "web")), undefined);
  });
});
