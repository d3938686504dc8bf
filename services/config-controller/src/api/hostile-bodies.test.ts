/**
 * Requests by which an account that may write, or one that may read, could break or stop the API: each has an answer below 500, changes
 * nothing but its own object, and others are answered as before.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openTestApi, root, type TestApi, virtualService } from "./api.fixture.ts";

const collection = `${root}/virtualservices`;
const web = `${collection}/web`;
const merge = "application/merge-patch+json";
const json = "application/json-patch+json";
const apply = "application/apply-patch+yaml";
const [text, deep] = ["x".repeat(4_000_000), 200_000];
const named = (name: string, more: object = {}) => ({ ...virtualService(name, "one"), ...more });
const withMetadata = (metadata: object) => virtualService("evil", "one", metadata);
const protoText = JSON.stringify(virtualService("evil", "one")).replace(
  '"spec":{',
  '"spec":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},',
);

interface Case {
  readonly name: string;
  readonly ask: readonly [method: string, url: string, body?: unknown, type?: string];
  /** Statuses that are an answer to it. */
  readonly status: readonly number[];
}

const cases: readonly Case[] = [
  {
    name: "200,000 lists in each other",
    ask: ["POST", collection, "[".repeat(deep) + "]".repeat(deep)],
    status: [400],
  },
  {
    name: "200,000 objects in each other",
    ask: ["PUT", web, `${'{"a":'.repeat(deep)}1${"}".repeat(deep)}`],
    status: [400],
  },
  { name: "an object that never ends", ask: ["POST", collection, `{"a":"${text}`], status: [400] },
  { name: "a body of another type", ask: ["POST", collection, "7"], status: [400, 422] },
  { name: "null", ask: ["POST", collection, "null"], status: [400, 422] },
  { name: "a list", ask: ["POST", collection, "[]"], status: [400, 422] },
  { name: "members named like those of a prototype", ask: ["POST", collection, protoText], status: [201, 400, 422] },
  {
    name: "a merge patch of __proto__",
    ask: ["PATCH", web, '{"__proto__":{"polluted":true}}', merge],
    status: [200, 400, 422],
  },
  {
    name: "a JSON patch of __proto__",
    ask: ["PATCH", web, [{ op: "add", path: "/__proto__/polluted", value: true }], json],
    status: [422],
  },
  {
    name: "a JSON patch of constructor",
    ask: ["PATCH", web, [{ op: "add", path: "/constructor/prototype/polluted", value: true }], json],
    status: [422],
  },
  {
    name: "server-side apply of __proto__",
    ask: ["PATCH", `${collection}/evil?fieldManager=me`, protoText, apply],
    status: [200, 201, 400, 422],
  },
  {
    name: "a manager named __proto__",
    ask: ["PATCH", `${web}?fieldManager=__proto__`, named("web"), apply],
    status: [400],
  },
  {
    name: "a manager with a line break",
    ask: ["PATCH", `${web}?fieldManager=a%0Ab`, named("web"), apply],
    status: [400],
  },
  { name: "a name of 4 MB", ask: ["POST", collection, named(text)], status: [400, 413, 422] },
  { name: "a name that is no text", ask: ["POST", collection, withMetadata({ name: { a: 1 } })], status: [400, 422] },
  { name: "a name with a slash", ask: ["POST", collection, named("a/b")], status: [400, 422] },
  { name: "a name of dots", ask: ["POST", collection, named("..")], status: [400, 422] },
  { name: "a name with a zero byte", ask: ["POST", collection, named("a\u0000b")], status: [400, 422] },
  {
    name: "another namespace than the path's",
    ask: ["POST", collection, withMetadata({ namespace: "kube-system" })],
    status: [400, 422],
  },
  {
    name: "an annotation of 4 MB",
    ask: ["POST", collection, withMetadata({ annotations: { a: text } })],
    status: [400, 413, 422],
  },
  {
    name: "100,000 labels",
    ask: [
      "POST",
      collection,
      withMetadata({ labels: Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`l${i}`, "v"])) }),
    ],
    status: [422],
  },
  {
    name: "labels that are no texts",
    ask: ["POST", collection, withMetadata({ labels: { a: { b: 1 } } })],
    status: [400, 422],
  },
  { name: "a status of another object", ask: ["PUT", `${web}/status`, named("other")], status: [400, 422] },
  {
    name: "a version that is no number",
    ask: ["PUT", web, virtualService("web", "one", { resourceVersion: "1e999" })],
    status: [400, 409, 422],
  },
  { name: "YAML that doubles itself", ask: ["POST", collection, doubling(), "application/yaml"], status: [400, 422] },
  { name: "YAML of 30,000 brackets", ask: ["POST", collection, "[".repeat(30_000), "application/yaml"], status: [400] },
  {
    name: "YAML with a tag of a program",
    ask: ["POST", collection, "!!js/function 'x'", "application/yaml"],
    status: [400, 422],
  },
  { name: "an unknown method", ask: ["BREW", web], status: [405] },
  { name: "a selector of 4 MB", ask: ["GET", `${collection}?labelSelector=${text}`], status: [200, 400] },
  { name: "a selector that is none", ask: ["GET", `${collection}?labelSelector=((((`], status: [200, 400] },
  { name: "a kind named __proto__", ask: ["GET", `${root}/__proto__`], status: [404] },
  { name: "in force, of a kind named constructor", ask: ["GET", "/flotilla/v1/in-force/constructor"], status: [400] },
  { name: "an object named __proto__", ask: ["GET", `${collection}/__proto__`], status: [404] },
  { name: "percent signs that encode nothing", ask: ["GET", `${collection}/%zz`], status: [400, 404] },
  {
    name: "pages and continuations",
    ask: ["GET", `${collection}?limit=-1&continue=${"A".repeat(10_000)}`],
    status: [200, 400, 410],
  },
  {
    name: "100,000 objects in one apply",
    ask: ["POST", "/flotilla/v1/apply", { items: Array.from({ length: 100_000 }, () => 1) }],
    status: [400, 413, 422],
  },
];

function doubling(): string {
  const lines = ["a0: &a0 [x, x]"];
  for (let at = 1; at < 40; at++) lines.push(`a${at}: &a${at} [*a${at - 1}, *a${at - 1}]`);
  return lines.join("\n");
}

describe("hostile requests to the API", () => {
  let api: TestApi;
  let most = { name: "", ms: 0 };
  before(async () => {
    api = await openTestApi();
    assert.equal((await api.call("POST", collection, named("web"))).status, 201);
  });
  after(async () => {
    console.log(`      the most costly request took ${Math.round(most.ms)} ms of a processor: ${most.name}`);
    await api[Symbol.asyncDispose]();
  });

  for (const { name, ask, status } of cases)
    it(`${name}: ${status.join(" or ")}`, async () => {
      const [method, url, body, type] = ask;
      const sent = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
      const used = process.threadCpuUsage();
      const reply = await api.call(method, url, sent, type);
      const { user, system } = process.threadCpuUsage(used);
      if ((user + system) / 1_000 > most.ms) most = { name, ms: (user + system) / 1_000 };
      assert.ok(status.includes(reply.status), `${reply.status} ${JSON.stringify(reply.body).slice(0, 300)}`);
      assert.equal(Object.hasOwn(Object.prototype, "polluted"), false, url.slice(0, 100));
      const after = await api.call("GET", web);
      assert.deepEqual([after.status, after.body.spec.hosts], [200, ["one"]]);
    });

  it("leave nothing of what they tried in another namespace or under another name", async () => {
    const { body } = await api.call("GET", "/apis/networking.istio.io/v1/virtualservices");
    const there = (
      body.items as readonly { readonly metadata: { readonly namespace: string; readonly name: string } }[]
    ).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    assert.deepEqual(
      there.filter((one) => one !== "shop/evil"),
      ["shop/web"],
    );
  });
});
