import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openTestApi, root, virtualService, type WatchLine } from "./api.fixture.ts";

const collection = `${root}/virtualservices`;

describe("watches", () => {
  it("send what is there, then each change in order, and go on from a version", async () => {
    await using api = await openTestApi();
    const stop = new AbortController();
    await api.call("POST", collection, virtualService("a", "a"));
    const watch = await api.watch(`${collection}?watch=1`, stop.signal);
    const next = async (): Promise<string> => line((await watch.next()).value);
    assert.equal(await next(), "ADDED a 1");
    await api.call("POST", `${root}/sidecars`, {
      metadata: { name: "of-another-kind" },
      spec: { egress: [{ hosts: ["*/*"] }] },
    });
    await api.call("POST", collection, virtualService("b", "b"));
    await api.call("PATCH", `${collection}/a`, { metadata: { labels: { x: "y" } } }, "application/merge-patch+json");
    await api.call("DELETE", `${collection}/b`);
    assert.deepEqual([await next(), await next(), await next()], ["ADDED b 3", "MODIFIED a 4", "DELETED b 5"]);
    const later = await api.watch(`${collection}?watch=true&resourceVersion=3`, stop.signal);
    assert.equal(line((await later.next()).value), "MODIFIED a 4");
    await assert.rejects(
      api.watch(`${collection}?watch=1`, stop.signal).then((one) => one.next()),
      { status: 429 },
    );
    stop.abort();
    assert.equal((await watch.next()).done, true);
    await later.return?.();
    await watch.return?.();
  });

  it("from a version that is forgotten end with 410, and so do those that cannot follow", async () => {
    await using api = await openTestApi(5);
    const stop = new AbortController();
    for (const name of ["a", "b", "c", "d", "e", "f", "g"])
      await api.call("POST", collection, virtualService(name, name));
    const old = await api.watch(`${collection}?watch=1&resourceVersion=1`, stop.signal);
    const { value } = await old.next();
    assert.deepEqual([value?.type, value?.object.code], ["ERROR", 410]);
    assert.equal((await old.next()).done, true);
    const known = await api.watch(`${collection}?watch=1&resourceVersion=2`, stop.signal);
    assert.equal(line((await known.next()).value), "ADDED c 3");
    await known.return?.();
    const wrong = await api.watch(`${collection}?watch=1&resourceVersion=x`, stop.signal);
    await assert.rejects(wrong.next(), { status: 400 });
  });

  it("that ask for it are sent what is there first, and where that ends", async () => {
    await using api = await openTestApi();
    for (const name of ["a", "b"]) await api.call("POST", collection, virtualService(name, name));
    const stop = new AbortController();
    const query = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    const watch = await api.watch(`${collection}?${query}`, stop.signal);
    const next = async () => (await watch.next()).value as WatchLine;
    assert.deepEqual([line(await next()), line(await next())], ["ADDED a 1", "ADDED b 2"]);
    const { type, object } = await next();
    assert.deepEqual(
      [type, object.metadata],
      ["BOOKMARK", { resourceVersion: "2", annotations: { "k8s.io/initial-events-end": "true" } }],
    );
    await api.call("DELETE", `${collection}/a`);
    assert.equal(line(await next()), "DELETED a 3");
    stop.abort();
    await watch.return?.();
  });

  it("end after the time that was asked for, with a bookmark", async () => {
    await using api = await openTestApi();
    await api.call("POST", collection, virtualService("a", "a"));
    const stop = new AbortController();
    const watch = await api.watch(
      `${collection}?watch=1&timeoutSeconds=1&allowWatchBookmarks=true&resourceVersion=1`,
      stop.signal,
    );
    const { value } = await watch.next();
    assert.deepEqual([value?.type, value?.object.metadata.resourceVersion], ["BOOKMARK", "1"]);
    assert.equal((await watch.next()).done, true);
  });
});

function line(value: WatchLine | undefined): string {
  const { name, resourceVersion } = value?.object.metadata ?? {};
  return `${value?.type} ${name} ${resourceVersion}`;
}
