import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openTestApi, root, virtualService } from "./api.fixture.ts";

const collection = `${root}/virtualservices`;

describe("objects over the API", () => {
  it("are created, read, listed, updated with their version, and deleted", async () => {
    await using api = await openTestApi();
    const made = await api.call("POST", collection, virtualService("web", "one"));
    assert.equal(made.status, 201);
    const { uid, resourceVersion, generation, creationTimestamp } = made.body.metadata;
    assert.match(uid, /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(generation, 1);
    assert.match(creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.deepEqual((await api.call("GET", `${collection}/web`)).body, made.body);
    assert.equal((await api.call("POST", collection, virtualService("web", "two"))).body.reason, "AlreadyExists");

    const next = { ...made.body, spec: virtualService("web", "two").spec };
    const updated = await api.call("PUT", `${collection}/web`, next);
    assert.equal(updated.body.metadata.generation, 2);
    assert.equal(updated.body.metadata.uid, uid);
    const late = await api.call("PUT", `${collection}/web`, { ...next, spec: virtualService("web", "three").spec });
    assert.deepEqual([late.status, late.body.reason], [409, "Conflict"]);

    await api.call("POST", collection, virtualService("api", "api", { labels: { tier: "back" } }));
    const list = (await api.call("GET", collection)).body;
    assert.deepEqual([list.kind, list.metadata.resourceVersion], ["VirtualServiceList", "3"]);
    assert.deepEqual(
      list.items.map((item: { metadata: { name: string } }) => item.metadata.name),
      ["api", "web"],
    );
    assert.equal((await api.call("GET", `${collection}?labelSelector=tier%3Dback`)).body.items.length, 1);
    assert.equal((await api.call("GET", `${collection}?labelSelector=tier notin (back)`)).body.items.length, 1);
    assert.equal((await api.call("GET", `${collection}?fieldSelector=metadata.name%3Dweb`)).body.items.length, 1);
    assert.equal((await api.call("GET", `${collection}?fieldSelector=spec.x%3Dy`)).status, 400);
    assert.equal(
      (await api.call("GET", "/apis/networking.istio.io/v1beta1/virtualservices")).body.items[0].apiVersion,
      "networking.istio.io/v1beta1",
    );

    const wrongVersion = { preconditions: { resourceVersion } };
    assert.equal((await api.call("DELETE", `${collection}/web`, wrongVersion)).status, 409);
    assert.equal((await api.call("DELETE", `${collection}/web`, { preconditions: { uid } })).body.status, "Success");
    assert.equal((await api.call("DELETE", `${collection}/web`)).body.reason, "NotFound");
    assert.equal((await api.call("DELETE", collection)).body.items.length, 1);
    assert.deepEqual((await api.call("GET", collection)).body.items, []);
  });

  it("are refused with all their fields, and the last good version stays", async () => {
    await using api = await openTestApi();
    const made = await api.call("POST", collection, virtualService("web", "one"));
    const wrong = { ...made.body, spec: { hosts: "one", htp: [] } };
    const refused = await api.call("PUT", `${collection}/web`, wrong);
    assert.deepEqual([refused.status, refused.body.reason], [422, "Invalid"]);
    const fields = refused.body.details.causes.map(({ field }: { field: string }) => field);
    assert.deepEqual(fields.sort(), ["spec.hosts", "spec.htp"]);
    assert.deepEqual((await api.call("GET", `${collection}/web`)).body, made.body);
    const bad: readonly (readonly [object, string])[] = [
      [virtualService("Web_1", "one"), "metadata.name"],
      [virtualService("x", "one", { labels: { "a b": "c" } }), "metadata.labels[a b]"],
      [virtualService("x", "one", { labels: { a: "not a label's value" } }), "metadata.labels[a]"],
      [virtualService("x", "one", { annotations: { a: 5 } }), "metadata.annotations[a]"],
    ];
    for (const [object, field] of bad) {
      const { status, body } = await api.call("POST", collection, object);
      assert.deepEqual([status, body.details.causes[0].field], [422, field]);
    }
    assert.equal((await api.call("POST", collection, "{")).status, 400);
    assert.equal((await api.call("POST", collection, [])).status, 400);
    assert.equal((await api.call("POST", collection, { ...virtualService("x", "one"), kind: "Gateway" })).status, 400);
    assert.equal((await api.call("POST", collection, virtualService("x", "one", { namespace: "bank" }))).status, 400);
    assert.equal((await api.call("PUT", `${collection}/y`, virtualService("x", "one"))).status, 400);
    assert.equal((await api.call("GET", "/apis/apps/v1/namespaces/shop/deployments")).status, 404);
    assert.equal(api.durable.version, 1);
  });

  it("have no fields that are null, as one and in a list", async () => {
    await using api = await openTestApi();
    const of = (name: string) => {
      const object = virtualService(name, "one");
      return { ...object, spec: { ...object.spec, exportTo: null } };
    };
    assert.ok(!("exportTo" in (await api.call("POST", collection, of("web"))).body.spec));
    assert.ok(!("exportTo" in (await api.call("PUT", `${collection}/web`, of("web"))).body.spec));
    await api.call("POST", "/flotilla/v1/apply", { kind: "List", items: [of("api")] });
    assert.ok(!("exportTo" in (await api.call("GET", `${collection}/api`)).body.spec));
  });

  it("a dry run checks and changes nothing", async () => {
    await using api = await openTestApi();
    const tried = await api.call("POST", `${collection}?dryRun=All`, virtualService("web", "one"));
    assert.equal(tried.status, 201);
    assert.equal((await api.call("POST", `${collection}?dryRun=All`, virtualService("Web", "one"))).status, 422);
    assert.equal((await api.call("POST", `${collection}?dryRun=Some`, virtualService("web", "one"))).status, 400);
    assert.equal((await api.call("GET", `${collection}/web`)).status, 404);
  });

  it("names are made up where one asks for that, and YAML is taken", async () => {
    await using api = await openTestApi();
    const yaml =
      "metadata: {generateName: web-, namespace: shop}\nspec: {hosts: [a], http: [{route: [{destination: {host: a}}]}]}\n";
    const made = await api.call("POST", collection, yaml, "application/yaml");
    assert.equal(made.body.metadata.name, "web-x7");
    assert.equal(made.body.kind, "VirtualService");
  });

  for (const { name, text } of [
    {
      name: "aliases of aliases",
      text: `a0: &a0 [x,x]\n${Array.from({ length: 60 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]\n`).join("")}`,
    },
    { name: "an alias without an anchor", text: "spec: {hosts: [*.example.com]}\n" },
    { name: "thirty thousand levels", text: "[".repeat(30_000) },
    { name: "a thousand levels", text: `${"[".repeat(1_000)}${"]".repeat(1_000)}` },
  ])
    it(`YAML with ${name} is refused`, async () => {
      await using api = await openTestApi();
      const { status, body } = await api.call("POST", collection, text, "application/yaml");
      assert.deepEqual([status, body.reason], [400, "BadRequest"]);
      assert.match(body.message, /^the body cannot be read: /);
    });

  it("YAML that takes too long to read is refused before that, JSON of any length is read", async () => {
    await using api = await openTestApi();
    const comment = `# ${"x".repeat(40_000)}\n`;
    const { status, body } = await api.call("POST", collection, `${comment}spec: {}\n`, "application/yaml");
    assert.deepEqual([status, body.reason], [413, "RequestEntityTooLarge"]);
    const long = JSON.stringify(virtualService("web", "one")) + " ".repeat(40_000);
    assert.equal((await api.call("POST", collection, long, "application/yaml")).status, 201);
  });

  it("the status is written by itself", async () => {
    await using api = await openTestApi();
    const made = await api.call("POST", collection, {
      ...virtualService("web", "one"),
      status: { observedGeneration: "7" },
    });
    assert.equal(made.body.status, undefined);
    const status = { conditions: [{ type: "Reconciled", status: "True" }] };
    const reported = await api.call("PUT", `${collection}/web/status`, {
      ...made.body,
      spec: virtualService("web", "x").spec,
      status,
    });
    assert.deepEqual(reported.body.status, status);
    assert.deepEqual(reported.body.spec.hosts, ["one"]);
    assert.equal(reported.body.metadata.generation, 1);
  });

  it("an object of another source stays in force, and the writer is warned", async () => {
    await using api = await openTestApi();
    const key = { kind: "VirtualService", namespace: "shop", name: "web" };
    const provenance = { source: "file:mesh", location: "mesh/web.yaml:1" };
    api.files.put({ key, labels: {}, annotations: {}, creationTimeMs: 0, spec: { hosts: ["file"] }, provenance });
    const made = await api.call("POST", collection, virtualService("web", "one"));
    assert.deepEqual(made.warnings, ["VirtualService shop/web is stored, but that of file:mesh is in force"]);
    await api.call("POST", collection, virtualService("other", "other"));
    const { items } = (await api.call("GET", "/flotilla/v1/in-force/VirtualService?namespace=shop")).body;
    const reported = items.map(
      (item: { object: { metadata: { name: string } }; provenance: { source: string } }) =>
        `${item.object.metadata.name} ${item.provenance.source}`,
    );
    assert.deepEqual(reported, ["other api", "web file:mesh"]);
  });
});

describe("discovery", () => {
  it("names what is served, and answers for it", async () => {
    await using api = await openTestApi();
    const { groups } = (await api.call("GET", "/apis")).body;
    const networking = groups.find(({ name }: { name: string }) => name === "networking.istio.io");
    assert.equal(networking.preferredVersion.groupVersion, "networking.istio.io/v1");
    for (const path of ["/api/v1", "/apis/networking.istio.io/v1", "/apis/gateway.networking.k8s.io/v1"]) {
      const { resources } = (await api.call("GET", path)).body;
      assert.ok(resources.length > 0, path);
      for (const { name } of resources.filter((one: { name: string }) => !one.name.includes("/")))
        assert.equal((await api.call("GET", `${path}/${name}`)).status, 200, `${path}/${name}`);
    }
    assert.equal((await api.call("GET", "/openapi/v3/apis/networking.istio.io/v1")).status, 200);
    assert.equal((await api.call("GET", "/apis/apps/v1")).status, 404);
  });
});
