import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openTestApi, root, virtualService } from "./api.fixture.ts";

const url = (manager: string, more = "") => `${root}/virtualservices/web?fieldManager=${manager}${more}`;
const type = "application/apply-patch+yaml";

describe("server-side apply", () => {
  it("creates, changes, and removes what its manager wants no more", async () => {
    await using api = await openTestApi();
    const first = { ...virtualService("web", "one", { labels: { a: "1", b: "1" } }) };
    const made = await api.call("PATCH", url("me"), first, type);
    assert.equal(made.status, 201);
    assert.equal(made.body.metadata.annotations, undefined, "what is remembered is not shown");
    const again = await api.call("PATCH", url("me"), first, type);
    assert.deepEqual([again.status, again.body.metadata.resourceVersion], [200, made.body.metadata.resourceVersion]);
    const next = await api.call("PATCH", url("me"), virtualService("web", "two", { labels: { b: "2" } }), type);
    assert.deepEqual([next.body.metadata.labels, next.body.spec.hosts], [{ b: "2" }, ["two"]]);
    const wrong = await api.call("PATCH", url("me"), { ...virtualService("web", "two"), spec: { hosts: 5 } }, type);
    assert.equal(wrong.status, 422);
  });

  it("leaves what others want, and overwrites it only when that is forced", async () => {
    await using api = await openTestApi();
    await api.call("PATCH", url("me"), virtualService("web", "one", { labels: { mine: "1" } }), type);
    const label = (value: string) => ({ metadata: { name: "web", namespace: "shop", labels: { theirs: value } } });
    const theirs = await api.call("PATCH", url("them"), label("1"), type);
    assert.deepEqual(theirs.body.metadata.labels, { mine: "1", theirs: "1" });
    const mine = await api.call("PATCH", url("me"), virtualService("web", "one", { labels: {} }), type);
    assert.deepEqual(mine.body.metadata.labels, { theirs: "1" });
    const bold = virtualService("web", "one", { labels: { theirs: "2" } });
    const conflict = await api.call("PATCH", url("me"), bold, type);
    assert.deepEqual([conflict.status, conflict.body.reason], [409, "Conflict"]);
    assert.deepEqual(conflict.body.details.causes[0], {
      reason: "FieldValueInvalid",
      field: ".metadata.labels.theirs",
      message: "applied by them",
    });
    const forced = await api.call("PATCH", url("me", "&force=true"), bold, type);
    assert.deepEqual(forced.body.metadata.labels, { theirs: "2" });
    assert.equal((await api.call("PATCH", url("them"), label("1"), type)).status, 409, "it is not theirs any more");
  });

  it("is not undone by an update that knows nothing of it", async () => {
    await using api = await openTestApi();
    const { body } = await api.call("PATCH", url("me"), virtualService("web", "one", { labels: { a: "1" } }), type);
    await api.call("PUT", `${root}/virtualservices/web`, {
      ...body,
      metadata: { ...body.metadata, labels: { a: "1", other: "2" } },
    });
    const next = await api.call("PATCH", url("me"), virtualService("web", "one"), type);
    assert.deepEqual(next.body.metadata.labels, { other: "2" });
  });
});
