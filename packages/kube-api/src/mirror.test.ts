import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "./errors.ts";
import type { KubeApi, KubeObject } from "./kube-api.ts";
import { mirror } from "./mirror.ts";

const object = (name: string, resourceVersion: string): KubeObject => ({ metadata: { name, resourceVersion } });

/** An API server that answers what the test has laid out, in order: pages, then the lines of each watch. */
function server(
  pages: readonly (readonly string[] | KubeError)[],
  watches: readonly (readonly unknown[] | KubeError)[],
) {
  const asked: string[] = [];
  let [page, watch] = [0, 0];
  const api = {
    server: "http://k8s",
    get: (path: string) => {
      asked.push(path);
      const names = pages[page++] ?? [];
      if (names instanceof KubeError) return Promise.reject(names);
      const more = names.at(-1) === "…";
      const items = names.filter((name) => name !== "…").map((name) => object(name, String(page)));
      return Promise.resolve({
        kind: "PodList",
        apiVersion: "v1",
        metadata: { resourceVersion: String(page), continue: more ? "c" : "" },
        items,
      });
    },
    async *lines(path: string, stop: AbortSignal, onOpen: () => void) {
      asked.push(path.replace(/timeoutSeconds=\d+&/, ""));
      const lines = watches[watch++];
      if (lines instanceof KubeError) throw lines;
      onOpen();
      if (lines !== undefined) yield* lines;
      else await new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));
    },
  } as unknown as KubeApi;
  return { api, asked };
}

async function take(api: KubeApi, count: number) {
  const stop = new AbortController();
  const states: (string | undefined)[] = [];
  const onState = (state: string | undefined) => void states.push(state);
  const said: string[] = [];
  for await (const event of mirror(api, { path: "/p", random: () => 0, onState }, stop.signal)) {
    const names =
      event.type === "list" ? event.objects.map(({ metadata }) => metadata.name) : [event.object.metadata.name];
    said.push(`${event.type} ${names.join(",")}`);
    if (said.length === count) break;
  }
  stop.abort();
  return { said, states };
}

test("a list comes in pages, its items say what they are, and the watch goes on from there", async () => {
  const { api, asked } = server(
    [["a", "…"], ["b"]],
    [
      [
        { type: "ADDED", object: object("c", "7") },
        { type: "DELETED", object: object("a", "8") },
      ],
    ],
  );
  const { said } = await take(api, 3);
  assert.deepEqual(said, ["list a,b", "put c", "delete a"]);
  assert.deepEqual(asked, [
    "/p?limit=500",
    "/p?limit=500&continue=c",
    "/p?watch=1&allowWatchBookmarks=true&resourceVersion=2",
  ]);
});

test("a watch that ends goes on from the last version or bookmark", async () => {
  const { api, asked } = server(
    [["a"]],
    [[{ type: "BOOKMARK", object: object("", "9") }], [{ type: "MODIFIED", object: object("a", "10") }]],
  );
  assert.deepEqual((await take(api, 2)).said, ["list a", "put a"]);
  assert.match(asked.at(-1) ?? "", /resourceVersion=9$/);
});

const tooOld = [
  { name: "as an event", watch: [{ type: "ERROR", object: { code: 410, message: "too old", metadata: {} } }] },
  { name: "as an answer", watch: new KubeError("KUBE_REFUSED", "too old", { status: 410 }) },
];
for (const { name, watch } of tooOld) {
  test(`a version that is too old, ${name}, means a new list`, async () => {
    const { api } = server([["a"], ["a", "b"]], [watch]);
    assert.deepEqual((await take(api, 2)).said, ["list a", "list a,b"]);
  });
}

test("a server that is away is asked again, and what it had reported stands", async () => {
  const away = new KubeError("KUBE_AWAY", "no server there");
  const { api } = server([away, ["a"]], [away, [{ type: "ADDED", object: object("b", "5") }]]);
  const { said, states } = await take(api, 2);
  assert.deepEqual(said, ["list a", "put b"]);
  assert.deepEqual(states, ["[KUBE_AWAY] no server there", "[KUBE_AWAY] no server there", undefined]);
});

const page = { metadata: { resourceVersion: "1" }, items: [object("a", "1")] };
const wrongPages: readonly (readonly [unknown, string])[] = [
  ["<html>", "it is no object"],
  [{ ...page, metadata: undefined }, "metadata.resourceVersion is no text"],
  [{ ...page, metadata: { resourceVersion: 1 } }, "metadata.resourceVersion is no text"],
  [{ ...page, metadata: { resourceVersion: "1", continue: {} } }, "metadata.continue is no text"],
  [{ ...page, kind: 7 }, "kind is no text"],
  [{ ...page, items: undefined }, "items is no list"],
  [{ ...page, items: [page.items[0], null] }, "items[1] is no object"],
  [{ ...page, items: [{}] }, "items[0].metadata is no object"],
  [{ ...page, items: [{ metadata: {} }] }, "items[0].metadata.name is missing"],
  [{ ...page, items: [{ metadata: { name: "a", namespace: null } }] }, "items[0].metadata.namespace is no text"],
];
for (const [answer, reason] of wrongPages)
  test(`a list is asked for again where ${reason}`, async () => {
    const { api } = server([["a"]], []);
    let asked = 0;
    const get = (path: string) => (asked++ === 0 ? Promise.resolve(answer) : api.get(path));
    const { said, states } = await take({ ...api, get } as KubeApi, 1);
    assert.deepEqual(said, ["list a"]);
    assert.deepEqual(states, [`[KUBE_AWAY] GET /p at http://k8s: the answer is no list of objects: ${reason}`]);
  });

test("a list without items that is written as null is empty", async () => {
  const { api } = server([], []);
  const get = () => Promise.resolve({ ...page, items: null });
  assert.deepEqual((await take({ ...api, get } as unknown as KubeApi, 1)).said, ["list "]);
});

const wrongLines: readonly (readonly [unknown, string])[] = [
  [7, "it is no object"],
  [{ type: "PUT", object: object("b", "5") }, 'its type is "PUT"'],
  [{ type: "ADDED" }, "object is no object"],
  [{ type: "DELETED", object: { metadata: {} } }, "object.metadata.name is missing"],
  [{ type: "BOOKMARK", object: {} }, "object.metadata is no object"],
];
for (const [line, reason] of wrongLines)
  test(`a watch begins again where ${reason}`, async () => {
    const { api } = server([["a"]], [[line], [{ type: "ADDED", object: object("b", "5") }]]);
    const { said, states } = await take(api, 2);
    assert.deepEqual(said, ["list a", "put b"]);
    assert.deepEqual(states, [
      undefined,
      `[KUBE_AWAY] watch /p at http://k8s: a line is no event: ${reason}`,
      undefined,
    ]);
  });

test("a watch that says nothing is given up for another from the same version", async () => {
  const { api, asked } = server([["a"]], [undefined as never, [{ type: "ADDED", object: object("b", "5") }]]);
  const stop = new AbortController();
  const said: string[] = [];
  const options = { path: "/p", random: () => 0, onState: () => undefined, silenceMs: 30 };
  for await (const { type } of mirror(api, options, stop.signal)) {
    said.push(type);
    if (said.length === 2) break;
  }
  assert.deepEqual(said, ["list", "put"]);
  assert.equal(asked[1], asked[2]);
});

test("a list that comes after the end is not reported", async () => {
  const stop = new AbortController();
  const { api } = server([["a"]], []);
  const late = { ...api, get: (path: string) => api.get(path).finally(() => stop.abort()) } as KubeApi;
  const options = { path: "/p", random: () => 0, onState: () => undefined };
  for await (const event of mirror(late, options, stop.signal)) assert.fail(event.type);
});

test("a kind that the server does not know is empty, and asked for after waits that double", async () => {
  const missing = new KubeError("KUBE_REFUSED", "no such kind", { status: 404 });
  const { api, asked } = server([missing, missing, missing, ["a"]], []);
  const stop = new AbortController();
  // Waits of 10, 20 and 40 ms instead of 1, 2 and 4 s.
  const options = { path: "/p", random: () => -0.99, onState: () => undefined, mayBeAbsent: true };
  const events = mirror(api, options, stop.signal);
  assert.deepEqual((await events.next()).value, { type: "list", objects: [], version: "" });
  const started = performance.now();
  const listed = (await events.next()).value;
  assert.ok(listed?.type === "list" && listed.objects.length === 1);
  assert.equal(asked.length, 4);
  // Timers may fire a millisecond early.
  assert.ok(performance.now() - started >= 10 + 20 + 40 - 3);
  stop.abort();
});

test("a watch that is not answered in time is away, and one that breaks after its answer has its own reason", async () => {
  const { api } = server([["a"]], []);
  let watches = 0;
  async function* lines(_path: string, ending: AbortSignal, onOpen: () => void) {
    watches++;
    if (watches === 2) onOpen();
    if (watches > 2) yield { type: "ADDED", object: object("b", "5") };
    else
      await new Promise((_, reject) =>
        ending.addEventListener("abort", () => reject(new KubeError("KUBE_AWAY", "cut"))),
      );
  }
  const states: (string | undefined)[] = [];
  const onState = (state: string | undefined) => void states.push(state);
  const options = { path: "/p", random: () => -0.99, onState, silenceMs: 30 };
  const stop = new AbortController();
  for await (const { type } of mirror({ ...api, lines } as unknown as KubeApi, options, stop.signal))
    if (type === "put") break;
  stop.abort();
  assert.deepEqual(states, ["[KUBE_AWAY] watch /p at http://k8s: no answer in time", undefined, "[KUBE_AWAY] cut"]);
});
