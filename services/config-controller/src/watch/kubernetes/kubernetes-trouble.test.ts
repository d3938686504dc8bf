/** Effects on the objects in force of an API server that refuses a kind, points a tag elsewhere or serves less than all. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeApi, KubeError } from "@flotilla/kube-api";
import { aborted, delay, noopLogger, until } from "@flotilla/runtime";
import type { ConfigGroup } from "../config-source.ts";
import { configAdmission } from "../config-source.ts";
import { kubernetesConfig } from "./kubernetes-source.ts";
import type { Scope } from "./served-kinds.ts";

const group = "/apis/networking.istio.io/v1";
const spec = { hosts: ["a"], http: [{ route: [{ destination: { host: "a" } }] }] };

interface World {
  /** By path of the list. */
  readonly lists: Map<string, readonly object[]>;
  readonly forbidden: Set<string>;
  readonly tags: Map<string, string>;
  readonly asked: Set<string>;
  resources: readonly string[];
}

function virtualService(name: string, labels: Readonly<Record<string, string>> = {}, namespace = "shop"): object {
  return { apiVersion: "networking.istio.io/v1", metadata: { name, namespace, resourceVersion: "1", labels }, spec };
}

/** Its watches send nothing; that of tags ends at once, and so they are soon read again. */
function fakeApi({ lists, forbidden, tags, asked, resources }: World): KubeApi {
  const answer = (path: string): unknown => {
    if (path === group) return { resources: resources.map((name) => ({ name })) };
    if (path.startsWith("/apis/admissionregistration.k8s.io/")) {
      const items = [...tags].map(([tag, revision]) => ({
        metadata: { name: tag, labels: { "istio.io/tag": tag, "istio.io/rev": revision } },
      }));
      return { metadata: { resourceVersion: "1" }, items };
    }
    const items = lists.get(path);
    return items === undefined ? undefined : { metadata: { resourceVersion: "1" }, items };
  };
  return {
    server: "http://fake",
    kindsTag: () => Promise.resolve(undefined),
    get: (path: string) => {
      const plain = path.replace(/[?&](limit|continue)=[^&]*/g, "");
      asked.add(plain);
      if (forbidden.has(plain)) return Promise.reject(new KubeError("KUBE_REFUSED", "forbidden", { status: 403 }));
      return Promise.resolve(answer(plain));
    },
    lines: async function* (path: string, stop: AbortSignal, onOpen: () => void): AsyncGenerator<unknown> {
      onOpen();
      await (path.startsWith(group) ? aborted(stop) : delay(20, stop));
      yield { type: "ERROR", object: { code: 410, metadata: {} } };
    },
    [Symbol.dispose]: () => undefined,
  } as unknown as KubeApi;
}

async function following(world: Partial<World>, scope: Partial<Scope>, check: (reported: Reported) => Promise<void>) {
  const full: World = {
    ...{ lists: new Map(), forbidden: new Set(), tags: new Map(), asked: new Set(), resources: ["virtualservices"] },
    ...world,
  };
  let nowMs = 0;
  await using source = kubernetesConfig({
    ...{ api: fakeApi(full), admission: configAdmission(), revision: "r", log: noopLogger, nowMs: () => nowMs },
    ...{ random: Math.random, onProblems: () => undefined, discoverMs: 10, vanishedKindMs: 1_000 },
    scope: { namespaces: [], ignored: [], included: [], ...scope },
  });
  const stop = new AbortController();
  const groups: ConfigGroup[] = [];
  const running = (async () => {
    for await (const one of source.groups(stop.signal)) groups.push(one);
  })();
  const said = () =>
    groups.flatMap(({ changes }) => changes.map(({ op, key }) => `${op} ${key.namespace}/${key.name}`));
  const pass = (ms: number) => {
    nowMs += ms;
  };
  try {
    await check({ source, groups, said, asked: full.asked, pass });
  } finally {
    stop.abort();
    await running;
  }
}
interface Reported {
  readonly source: ReturnType<typeof kubernetesConfig>;
  readonly groups: readonly ConfigGroup[];
  readonly said: () => readonly string[];
  readonly asked: ReadonlySet<string>;
  readonly pass: (ms: number) => void;
}
const soon = (what: string) => ({ withinMs: 30_000, what });
const key = (kind: string, namespace = "shop") => ({ kind, namespace, name: "x" });

test("a kind that is refused is named, holds up nothing, and what the mesh has of it stays until it can be read", async () => {
  const lists = new Map([
    [`${group}/virtualservices`, [virtualService("a")]],
    [`${group}/gateways`, []],
  ]);
  const forbidden = new Set([`${group}/gateways`]);
  await following({ lists, forbidden, resources: ["virtualservices", "gateways"] }, {}, async (reported) => {
    const { source, groups } = reported;
    await until(() => groups.length > 0, soon("the first group"));
    assert.deepEqual([groups[0]?.isComplete, reported.said()], [true, ["put shop/a"]]);
    assert.deepEqual(
      [source.isIncomplete?.(key("Gateway")), source.isIncomplete?.(key("VirtualService"))],
      [true, false],
    );
    assert.match(JSON.stringify(source.problems()), /"object":"Gateway","reason":"cannot be read.*forbidden/);
    forbidden.clear();
    await until(() => groups.length > 1, soon("the kind to be read"));
    assert.deepEqual([groups[1]?.isComplete, source.isIncomplete?.(key("Gateway"))], [true, false]);
    await until(() => source.problems().length === 0, soon("the problem to be over"));
  });
});

test("a kind that is not served from the start is gone only after a while", () =>
  following({ lists: new Map([[`${group}/virtualservices`, []]]) }, {}, async ({ source, groups, pass }) => {
    await until(() => groups.length > 0, soon("the first group"));
    assert.equal(source.isIncomplete?.(key("Gateway")), true);
    pass(1_000);
    await until(() => groups.length > 1, soon("the second"));
    assert.deepEqual([groups[1]?.isComplete, source.isIncomplete?.(key("Gateway"))], [true, false]);
  }));

test("objects of a tag follow it to another revision and back", async () => {
  const lists = new Map([
    [`${group}/virtualservices`, [virtualService("a", { "istio.io/rev": "stable" }), virtualService("b")]],
  ]);
  const tags = new Map([["stable", "r"]]);
  await following({ lists, tags }, {}, async ({ said }) => {
    await until(() => said().length >= 2, soon("both"));
    assert.deepEqual([...new Set(said())].sort(), ["put shop/a", "put shop/b"]);
    tags.set("stable", "next");
    await until(() => said().at(-1) === "delete shop/a", soon("the tag to point away"));
    tags.set("stable", "r");
    await until(() => said().at(-1) === "put shop/a", soon("the tag to point back"));
  });
});

test("only the namespaces that are watched are asked for, each by itself", async () => {
  const lists = new Map([
    [`${group}/namespaces/shop/virtualservices`, [virtualService("a")]],
    [`${group}/namespaces/bank/virtualservices`, [virtualService("b", {}, "bank")]],
  ]);
  const forbidden = new Set([`${group}/namespaces/bank/virtualservices`]);
  await following({ lists, forbidden }, { namespaces: ["shop", "bank"] }, async ({ source, groups, said, asked }) => {
    await until(() => groups.length > 0, soon("the first group"));
    assert.deepEqual(said(), ["put shop/a"]);
    const isIncomplete = (namespace: string) => source.isIncomplete?.(key("VirtualService", namespace));
    assert.deepEqual([isIncomplete("bank"), isIncomplete("shop")], [true, false]);
    assert.equal(asked.has(`${group}/virtualservices`), false);
  });
});

const scopes = [
  { ignored: ["virtualservices.networking.istio.io"], included: [], reads: false },
  { ignored: ["*.networking.istio.io"], included: [], reads: false },
  { ignored: ["*.networking.istio.io"], included: ["virtualservices.networking.istio.io"], reads: true },
  { ignored: ["*.security.istio.io"], included: [], reads: true },
];
for (const { reads, ...scope } of scopes)
  test(`VirtualServices are ${reads ? "" : "not "}read with ${JSON.stringify(scope)}`, async () => {
    const lists = new Map([[`${group}/virtualservices`, [virtualService("a")]]]);
    await following({ lists }, scope, async ({ groups, said }) => {
      await until(() => groups.length > 0, soon("the first group"));
      assert.deepEqual(said(), reads ? ["put shop/a"] : []);
    });
  });
