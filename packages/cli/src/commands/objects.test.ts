/** Commands that write and read objects by the API: what they send, what they print, how they end. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { type Answer, answerApi, answerPages } from "../answering-service.fixture.ts";
import { type RecordedRun, recordRun } from "../recorded-run.fixture.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-objects-"));
after(() => rmSync(directory, { recursive: true }));
const file = join(directory, "a.yaml");
const rule = {
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: "a", namespace: "shop" },
  spec: { hosts: ["a"] },
};
writeFileSync(file, JSON.stringify(rule));
const empty = join(directory, "empty.yaml");
writeFileSync(empty, "");

type Ran = RecordedRun & {
  readonly asked: readonly string[];
  readonly bodies: readonly string[];
  readonly tokens: readonly unknown[];
};

async function ran(answer: Answer, ...args: readonly string[]): Promise<Ran> {
  await using api = await answerApi(answer);
  const outcome = await recordRun([...args, ...api.apiOptions]);
  const { seen } = api;
  return {
    ...outcome,
    asked: seen.map(({ method, url }) => `${method} ${decodeURIComponent(url)}`),
    bodies: seen.map(({ body }) => body),
    tokens: seen.map(({ authorization }) => authorization),
  };
}

const applied =
  (result: string, more: object = {}, warnings: readonly string[] = []): Answer =>
  () => ({
    body: {
      items: [{ result, warnings, object: { ...rule, ...more } }],
      ignored: [{ apiVersion: "apps/v1", kind: "Deployment", count: 2 }],
    },
  });

describe("flotilla apply", () => {
  it("sends all objects as one list, with a token, and prints what became of each", async () => {
    const { code, out, err, asked, bodies, tokens } = await ran(
      applied("created", {}, ["no service a"]),
      "apply",
      "-f",
      file,
    );
    assert.deepEqual(asked, ["POST /flotilla/v1/apply?fieldManager=flotilla-cli&namespace=default&force=false"]);
    assert.deepEqual(JSON.parse(bodies[0] ?? ""), { apiVersion: "v1", kind: "List", items: [rule] });
    assert.deepEqual(tokens, ["Bearer a-token"]);
    assert.deepEqual([code, out], [0, "VirtualService shop/a created\n"]);
    assert.equal(err, "warning: no service a\n2 Deployment (apps/v1) ignored: not configuration of the mesh\n");
  });

  it("tries only, in a namespace, by force", async () => {
    const { out, asked } = await ran(
      applied("configured", { metadata: { name: "a" } }),
      "apply",
      "-f",
      file,
      "-n",
      "bank",
      "--dry-run",
      "--force",
    );
    assert.deepEqual(asked, ["POST /flotilla/v1/apply?fieldManager=flotilla-cli&namespace=bank&force=true&dryRun=All"]);
    assert.equal(out, "VirtualService a configured (dry run)\n");
  });

  it("needs an object", async () => {
    const { code, err, asked } = await ran(applied("created"), "apply", "-f", empty);
    assert.deepEqual([code, asked], [2, []]);
    assert.equal(err, "flotilla: [CLI_USAGE] apply needs -f FILE, a directory or - with at least one object\n");
  });

  it("names the places of what is refused", async () => {
    const causes = [
      { field: "items[0].spec.hosts", message: "is empty" },
      { field: "items[0]", message: "is old" },
      { field: "items[7].spec", message: "is not there" },
      { field: "metadata", message: "is none" },
    ];
    const { code, err } = await ran(
      () => ({ status: 422, body: { message: "no", details: { causes } } }),
      "apply",
      "-f",
      file,
    );
    assert.equal(code, 3);
    assert.deepEqual(err.trimEnd().split("\n"), [
      "flotilla: [CLI_REFUSED] nothing was changed",
      `  ${file}:1 VirtualService shop/a: spec.hosts is empty`,
      `  ${file}:1 VirtualService shop/a: is old`,
      "  items[7].spec: is not there",
      "  metadata: is none",
    ]);
  });

  it("shows a refusal without causes as it is, and an answer that is no JSON", async () => {
    const { err } = await ran(() => ({ status: 403, body: { message: "not you" } }), "apply", "-f", file);
    assert.equal(err, "flotilla: [CLI_REFUSED] not you\n");
    assert.equal(
      (await ran(() => ({ status: 500, body: {} }), "apply", "-f", file)).err,
      "flotilla: [CLI_REFUSED] status 500\n",
    );
    const { err: page } = await ran(() => ({ status: 502, body: "<html>" }), "apply", "-f", file);
    assert.equal(page, "flotilla: [CLI_REFUSED] an answer with status 502 is not JSON: <html>\n");
  });
});

describe("flotilla diff", () => {
  const before = {
    ...rule,
    metadata: { ...rule.metadata, resourceVersion: "1", generation: 1, uid: "u", creationTimestamp: "t" },
    spec: { hosts: ["b"] },
    status: {},
  };

  it("shows the object in the mesh and in the files without what the store counts, and ends with 1", async () => {
    const answer: Answer = (request) => (request.method === "POST" ? applied("configured")(request) : { body: before });
    const { code, out, asked } = await ran(answer, "diff", "-f", file, "-o", "json");
    assert.deepEqual(asked, [
      "POST /flotilla/v1/apply?fieldManager=flotilla-cli&namespace=default&force=true&dryRun=All",
      "GET /apis/networking.istio.io/v1/namespaces/shop/virtualservices/a",
    ]);
    assert.equal(code, 1);
    const [changed] = JSON.parse(out).objects;
    assert.deepEqual(changed, {
      object: "VirtualService/shop/a",
      before: { ...rule, spec: { hosts: ["b"] } },
      after: rule,
    });
  });

  it("shows lines", async () => {
    const answer: Answer = (request) => (request.method === "POST" ? applied("configured")(request) : { body: before });
    const { out } = await ran(answer, "diff", "-f", file);
    assert.match(out, /in the mesh[\s\S]*in the files[\s\S]*-.*b\n\+.*a\n/);
  });

  it("shows a new object as it will be", async () => {
    const answer: Answer = (request) =>
      request.method === "POST" ? applied("created")(request) : { status: 404, body: {} };
    const { code, out } = await ran(answer, "diff", "-f", file, "-o", "json");
    assert.equal(code, 1);
    assert.deepEqual(JSON.parse(out).objects, [{ object: "VirtualService/shop/a", after: rule }]);
  });

  it("asks for an object of the cluster by the core group's path", async () => {
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n" } };
    const answer: Answer = (request) =>
      request.method === "POST"
        ? { body: { items: [{ result: "configured", warnings: [], object: node }], ignored: [] } }
        : { body: node };
    const { asked, out } = await ran(answer, "diff", "-f", file, "-o", "json");
    assert.equal(asked[1], "GET /api/v1/nodes/n");
    assert.equal(JSON.parse(out).objects[0].object, "Node/n");
  });

  it("ends with 0 when nothing differs, and with the refusal of the API", async () => {
    const same = await ran(applied("unchanged"), "diff", "-f", file);
    assert.deepEqual([same.code, same.out], [0, "nothing differs\n"]);
    const answer: Answer = (request) =>
      request.method === "POST" ? applied("configured")(request) : { status: 403, body: { message: "not you" } };
    const refused = await ran(answer, "diff", "-f", file);
    assert.deepEqual([refused.code, refused.err], [3, "flotilla: [CLI_REFUSED] not you\n"]);
    assert.equal((await ran(applied("unchanged"), "diff", "-f", empty)).code, 2);
    assert.equal((await ran(applied("unchanged"), "diff", "3")).code, 2);
  });
});

describe("flotilla delete", () => {
  const deleted =
    (...items: readonly object[]): Answer =>
    () => ({ body: { items, ignored: [] } });
  const one = { kind: "VirtualService", namespace: "shop", name: "a" };

  it("deletes by kind and names", async () => {
    const { code, out, asked, bodies } = await ran(
      deleted({ ...one, result: "deleted" }),
      "delete",
      "vs",
      "a",
      "b",
      "-n",
      "shop",
      "--dry-run",
    );
    assert.deepEqual([code, out], [0, "VirtualService shop/a deleted (dry run)\n"]);
    assert.deepEqual(asked, ["POST /flotilla/v1/delete?namespace=shop&dryRun=All"]);
    assert.deepEqual(
      JSON.parse(bodies[0] ?? "").items.map(
        (item: typeof rule) => `${item.apiVersion} ${item.kind} ${item.metadata.name}`,
      ),
      ["networking.istio.io/v1 VirtualService a", "networking.istio.io/v1 VirtualService b"],
    );
  });

  for (const [name, item, args, code] of [
    ["what is gone", { result: "deleted" }, [], 0],
    ["what is nowhere", { result: "not found" }, [], 1],
    ["what may be nowhere", { result: "not found" }, ["--ignore-not-found"], 0],
    ["what another source has", { result: "not found", inForce: { source: "file" } }, ["--ignore-not-found"], 1],
  ] as const)
    it(`ends with ${code} for ${name}`, async () => {
      const found = await ran(deleted({ ...one, ...item }), "delete", "-f", file, ...args);
      assert.equal(found.code, code);
      assert.equal(found.err === "", item.result === "deleted");
    });

  it("needs files or names", async () => {
    assert.equal((await ran(deleted(), "delete")).code, 2);
  });
});

describe("flotilla get", () => {
  const object = (name: string) => ({
    kind: "VirtualService",
    metadata: { name, namespace: "shop", creationTimestamp: "2026-01-01T00:00:00Z" },
  });
  const items = [
    { object: object("a"), provenance: { source: "file", location: "/a.yaml:1" } },
    { object: { ...object("b"), metadata: { name: "b", namespace: "shop" } } },
  ];
  const found: Answer = () => ({ body: { items } });

  it("lists objects with their sources", async () => {
    const { code, out, asked } = await ran(found, "get", "vs", "-n", "shop", "-l", "x=y");
    assert.deepEqual(asked, ["GET /flotilla/v1/in-force/VirtualService?namespace=shop&labelSelector=x=y"]);
    assert.equal(code, 0);
    const [head, first, second] = out.split("\n").map((line) => line.split(/ {3,}/));
    assert.deepEqual(head, ["NAMESPACE", "NAME", "AGE", "SOURCE"]);
    assert.deepEqual([first?.[1], first?.[3], first?.[2]?.endsWith("d")], ["a", "file /a.yaml:1", true]);
    assert.deepEqual(second, ["shop", "b"]);
  });

  it("lists all namespaces, and everything of a kind without any", async () => {
    assert.deepEqual((await ran(found, "get", "vs", "-A")).asked, [
      "GET /flotilla/v1/in-force/VirtualService?namespace=",
    ]);
    assert.match((await ran(found, "get", "gatewayclasses")).asked[0] ?? "", /\?namespace=$/);
  });

  it("shows one by its name, names the missing, ends with 1", async () => {
    const { code, out, err } = await ran(found, "get", "vs", "a", "c", "-o", "name");
    assert.deepEqual([code, out], [1, "virtualservice/a\n"]);
    assert.equal(err, 'flotilla: VirtualService "c" not found\n');
    assert.deepEqual(JSON.parse((await ran(found, "get", "vs", "b", "-o", "json")).out), items[1]?.object);
    assert.equal(JSON.parse((await ran(found, "get", "vs", "-o", "json")).out).kind, "List");
    const none = await ran(found, "get", "vs", "c");
    assert.deepEqual([none.code, none.out], [1, ""]);
  });

  it("reports that there is none", async () => {
    const { code, out } = await ran(() => ({ body: { items: [] } }), "get", "vs");
    assert.deepEqual([code, out], [0, "no VirtualService in namespace default; -A shows all namespaces\n"]);
    const all = await ran(() => ({ body: { items: [] } }), "get", "vs", "-A");
    assert.equal(all.out, "no VirtualService found\n");
    assert.equal((await ran(() => ({ body: { items: [] } }), "get", "vs", "-o", "name")).out, "");
  });
});

describe("flotilla wait", () => {
  const inForce = (live: number) => ({
    generation: 9,
    by: "config-controller 1/2",
    objectGeneration: 3,
    distribution: { live, concerned: 4, refusals: [], isPrecise: true, behind: [], replicas: 1 },
  });
  const status = (more: object) => ({
    object: "VirtualService/shop/a",
    state: "accepted",
    problems: [],
    warnings: [],
    ...more,
  });
  const wait = async (answer: Answer, ...args: readonly string[]) => {
    await using pages = await answerPages(answer);
    const outcome = await recordRun([
      "wait",
      "VirtualService/shop/a",
      "--url",
      `config-controller=${pages.url}`,
      ...args,
    ]);
    return { ...outcome, asked: pages.seen.map(({ url }) => decodeURIComponent(url)) };
  };

  it("ends as soon as the object is live", async () => {
    let asked = 0;
    const { code, out } = await wait(() => ({ body: status({ inForce: inForce(++asked < 3 ? 1 : 4) }) }));
    assert.deepEqual([code, asked], [0, 3]);
    assert.match(out, /VirtualService\/shop\/a/);
  });

  it("ends with 1 after its time, for an object that is not there too", async () => {
    const behind = await wait(() => ({ body: status({ inForce: inForce(1) }) }), "--timeout", "150ms");
    assert.equal(behind.code, 1);
    assert.match(behind.err, /^not live after 150ms: VirtualService\/shop\/a {2}live on 1 of 4/);
    const absent = await wait(() => ({ status: 404, body: "none" }), "--timeout", "10ms");
    assert.deepEqual([absent.code, absent.err], [1, "not live after 10ms: there is no VirtualService/shop/a\n"]);
  });

  it("ends with 3 at once when the object is refused, and with the service's reason else", async () => {
    assert.equal((await wait(() => ({ body: status({ state: "refused" }) }))).code, 3);
    const failed = await wait(() => ({ status: 500, body: { error: "broken" } }));
    assert.equal(failed.err, "flotilla: [CLI_FAILED] broken\n");
  });
});
