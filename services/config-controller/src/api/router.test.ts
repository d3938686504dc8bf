/** The resource and operation of a request, before and after its caller has proven the permission. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openTestApi, root, virtualService } from "./api.fixture.ts";
import { ApiError } from "./api-error.ts";

const collection = `${root}/virtualservices`;
const secrets = "/api/v1/namespaces/shop/secrets";

describe("the right that a request needs", () => {
  const requests: readonly (readonly [string, string, string])[] = [
    ["GET", collection, "read"],
    ["HEAD", `${collection}/a`, "read"],
    ["GET", `${collection}?watch=1`, "read"],
    ["GET", "/apis", "read"],
    ["GET", "/flotilla/v1/in-force/VirtualService", "read"],
    ["GET", "/flotilla/v1/in-force/Secret", "read Secrets"],
    ["GET", secrets, "read Secrets"],
    ["GET", "/api/v1/secrets", "read Secrets"],
    ["GET", `${secrets}/a`, "read Secrets"],
    ["POST", secrets, "write Secrets"],
    ["POST", collection, "write"],
    ["PUT", `${collection}/a`, "write"],
    ["PATCH", `${collection}/a`, "write"],
    ["DELETE", `${collection}/a`, "write"],
    ["POST", "/flotilla/v1/apply", "write"],
    ["POST", "/flotilla/v1/delete", "write"],
    ["OPTIONS", "/", "write"],
  ];
  for (const [method, url, expected] of requests)
    it(`of ${method} ${url} is to ${expected}`, async () => {
      const asked: string[] = [];
      await using api = await openTestApi(1, async (_, request) => {
        asked.push(`${request.write ? "write" : "read"}${request.secrets ? " Secrets" : ""}`);
        throw new ApiError(403, "Forbidden", "no");
      });
      // A body that cannot be read is not looked at.
      assert.deepEqual([(await api.call(method, url, "{")).status, asked], [403, [expected]]);
    });
});

describe("a request", () => {
  const manifest = virtualService("a", "a");
  const refused: readonly (readonly [string, string, number, unknown?, string?])[] = [
    ["GET", "/nothing", 404],
    ["POST", "/apis", 404],
    ["POST", "/flotilla/v1/in-force/VirtualService", 404],
    ["GET", "/flotilla/v1/apply", 404],
    ["PUT", "/flotilla/v1/apply", 404],
    ["PUT", "/flotilla/v1/delete", 404],
    ["PUT", collection, 405, manifest],
    ["PATCH", collection, 405, {}],
    ["POST", `${collection}/a`, 405, manifest],
    ["DELETE", `${collection}/a/status`, 405],
    ["POST", collection, 415, manifest, "application/vnd.kubernetes.protobuf"],
    ["POST", collection, 400],
    ["POST", "/flotilla/v1/apply?fieldManager=-", 400, { items: [] }],
    ["POST", "/flotilla/v1/apply?dryRun=None", 400, { items: [] }],
    ["POST", "/flotilla/v1/delete?dryRun=All&dryRun=None", 400, { items: [] }],
    ["PATCH", `${collection}/a`, 415, {}, "application/json"],
    ["PATCH", `${collection}/a`, 415, {}, ""],
    ["PATCH", `${collection}/a`, 415, {}, "application/strategic-merge-patch+json"],
    ["PATCH", `${collection}/a?fieldManager=${"m".repeat(64)}`, 400, {}, "application/merge-patch+json"],
  ];
  for (const [method, url, status, body, contentType] of refused)
    it(`${method} ${url} ${contentType ?? ""} is answered with ${status}`, async () => {
      await using api = await openTestApi();
      await api.call("POST", collection, manifest);
      assert.equal((await api.call(method, url, body, contentType)).status, status);
      assert.equal(api.durable.version, 1);
    });

  for (const [type, body, host] of [
    ["application/merge-patch+json", { spec: { hosts: ["b"] } }, "b"],
    ["application/json-patch+json", [{ op: "replace", path: "/spec/hosts/0", value: "c" }], "c"],
    ["application/apply-patch+yaml", { ...manifest, spec: virtualService("a", "d").spec }, "d"],
  ] as const)
    it(`patches an object as ${type}`, async () => {
      await using api = await openTestApi();
      await api.call("POST", collection, manifest);
      const url = `${collection}/a?fieldManager=${"m".repeat(63)}&force=true`;
      const { status, body: patched } = await api.call("PATCH", url, body, type);
      assert.deepEqual([status, patched.spec.hosts], [200, [host]]);
    });

  it("reads a body as YAML only where its type is YAML", async () => {
    await using api = await openTestApi();
    const text = `# an object\n${JSON.stringify(manifest)}`;
    const answered = async (type: string) => (await api.call("POST", `${collection}?dryRun=All`, text, type)).status;
    assert.deepEqual([await answered("application/json"), await answered("application/yaml")], [400, 201]);
  });

  it("takes a field of another manager only by force", async () => {
    await using api = await openTestApi();
    const apply = async (host: string, query: string): Promise<number> => {
      const body = { ...manifest, spec: virtualService("a", host).spec };
      return (await api.call("PATCH", `${collection}/a?${query}`, body, "application/apply-patch+yaml")).status;
    };
    assert.equal(await apply("b", "fieldManager=one"), 201);
    for (const [query, status] of [
      ["fieldManager=two", 409],
      ["fieldManager=two&force=false", 409],
      ["fieldManager=two&force=true", 200],
    ] as const)
      assert.equal(await apply("c", query), status, query);
  });

  it("patches a kind of Kubernetes as kubectl does", async () => {
    await using api = await openTestApi();
    const configMaps = "/api/v1/namespaces/shop/configmaps";
    const metadata = { name: "m", namespace: "shop" };
    const made = await api.call("POST", configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata,
      data: { a: "1" },
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const patch = { data: { a: "2" } };
    const patched = await api.call("PATCH", `${configMaps}/m`, patch, "application/strategic-merge-patch+json");
    assert.deepEqual([patched.status, patched.body.data], [200, { a: "2" }]);
  });

  it("deletes a collection, or one object with or without options", async () => {
    await using api = await openTestApi();
    for (const name of ["a", "b", "c"]) await api.call("POST", collection, virtualService(name, name));
    assert.equal((await api.call("DELETE", `${collection}/a`)).status, 200);
    assert.equal((await api.call("DELETE", `${collection}/b?dryRun=All`, {})).status, 200);
    assert.equal((await api.call("GET", `${collection}/b`)).status, 200);
    assert.equal((await api.call("DELETE", collection)).status, 200);
    assert.deepEqual((await api.call("GET", collection)).body.items, []);
  });

  it("without a namespace means objects of default", async () => {
    await using api = await openTestApi();
    const { metadata: _, ...rest } = manifest;
    const body = { kind: "List", items: [{ ...rest, metadata: { name: "a" } }] };
    await api.call("POST", "/flotilla/v1/apply", body);
    const { items } = (await api.call("GET", "/apis/networking.istio.io/v1/virtualservices")).body;
    assert.equal(items[0].metadata.namespace, "default");
    const gone = await api.call("POST", "/flotilla/v1/delete", body);
    assert.equal(gone.body.items[0].result, "deleted");
  });

  it("for what is in force may name a namespace and labels", async () => {
    await using api = await openTestApi();
    for (const [name, labels] of [
      ["a", { app: "x" }],
      ["b", { app: "y" }],
    ] as const)
      await api.call("POST", collection, virtualService(name, name, { labels }));
    const names = async (query: string): Promise<readonly string[]> => {
      const { items } = (await api.call("GET", `/flotilla/v1/in-force/VirtualService?${query}`)).body;
      return items.map(({ object }: { object: { metadata: { name: string } } }) => object.metadata.name);
    };
    assert.deepEqual(await names(""), ["a", "b"]);
    assert.deepEqual(await names("namespace=bank"), []);
    assert.deepEqual(await names("namespace=shop&labelSelector=app%3Dy"), ["b"]);
  });
});

describe("a watch", () => {
  it("of one object, or of one namespace, brings nothing else", async () => {
    await using api = await openTestApi();
    const stop = new AbortController();
    const [one, all] = [
      await api.watch(`${collection}?watch=1&fieldSelector=metadata.name%3Db`, stop.signal),
      await api.watch("/apis/networking.istio.io/v1/virtualservices?watch=1&labelSelector=x%3Dy", stop.signal),
    ];
    const named = await Promise.all([
      one.next(),
      all.next(),
      (async () => {
        await api.call("POST", collection, virtualService("a", "a"));
        await api.call("POST", collection, virtualService("b", "b"));
        await api.call("POST", collection, virtualService("c", "c", { labels: { x: "y" } }));
      })(),
    ]);
    assert.deepEqual(
      named.slice(0, 2).map((next) => next?.value?.object.metadata.name),
      ["b", "c"],
    );
    stop.abort();
  });

  it("ends after the time that it names", async () => {
    await using api = await openTestApi();
    const watch = await api.watch(`${collection}?watch=1&timeoutSeconds=0.02`, new AbortController().signal);
    assert.equal((await watch.next()).done, true);
  });

  it("beyond the bound is refused, and taken once another has ended", async () => {
    await using api = await openTestApi();
    const url = `${collection}?watch=1`;
    const [first, others] = [new AbortController(), new AbortController()];
    const open = [await api.watch(url, first.signal), await api.watch(url, others.signal)];
    const waiting = open.map((watch) => watch.next());
    await assert.rejects(api.watch(url, others.signal), { status: 429, message: "2 watches are open already" });
    first.abort();
    assert.equal((await waiting[0])?.done, true);
    const third = (await api.watch(url, others.signal)).next();
    others.abort();
    await Promise.all([waiting[1], third]);
  });

  it("makes room for another when it ends", async () => {
    await using api = await openTestApi();
    const url = `${collection}?watch=1&timeoutSeconds=0.02`;
    for (let i = 0; i < 4; i++)
      assert.equal((await (await api.watch(url, new AbortController().signal)).next()).done, true);
  });
});
