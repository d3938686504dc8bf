import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import type { PublishedConfig, PublishedObject } from "../follow/published-config.ts";
import type { LedgerContent } from "../ledger/ledger-record.ts";
import { objectDetailPage, objectRowsPage } from "./object-rows.ts";
import type { ObjectStatus, ObjectStatuses } from "./object-status.ts";

type InForce = NonNullable<ObjectStatus["inForce"]>;

/** Two of two proxies have it, unless `reach` differs. */
function aStatus(
  object: string,
  {
    reach = {},
    inForce = {},
    ...more
  }: Partial<Omit<ObjectStatus, "inForce">> & {
    readonly reach?: object;
    readonly inForce?: Partial<InForce> | null;
  } = {},
): ObjectStatus {
  const distribution = { live: 2, concerned: 2, refusals: [], isPrecise: true, behind: [], replicas: 1, ...reach };
  const held = { generation: 3, by: "controller", writer: "ann", distribution, ...inForce };
  return {
    ...{ object, state: "accepted", problems: [], warnings: [] },
    ...(inForce !== null && { inForce: held }),
    ...more,
  };
}

const broken = [
  { field: "spec.hosts", reason: "is empty" },
  { field: "spec.http", reason: "is too long" },
];

/** All of them, and how often they were asked for. */
function statusesOf(...all: readonly ObjectStatus[]) {
  const asked = { count: 0 };
  const statuses = {
    all: function* () {
      asked.count++;
      yield* all;
    },
    of: ({ kind, namespace, name }: { readonly kind: string; readonly namespace: string; readonly name: string }) =>
      all.find(({ object }) => object === `${kind}/${namespace}/${name}`),
  } as unknown as ObjectStatuses;
  return { asked, statuses };
}

const request = (query: string) => ({ query: new URLSearchParams(query) }) as never;

describe("the row of an object", () => {
  const row = { kind: "VirtualService", namespace: "shop", name: "a", object: "VirtualService/shop/a" };
  const held = { ...row, source: "", generation: 3, by: "ann", live: 2, concerned: 2 };
  const cases: readonly (readonly [name: string, status: ObjectStatus, expected: object])[] = [
    ["is live where all have it", aStatus(row.object), { ...held, state: "live" }],
    [
      "has the first word of the source",
      aStatus(row.object, { inForce: { source: "kubernetes east" } }),
      { ...held, state: "live", source: "kubernetes" },
    ],
    [
      "is refused with the first problem, and shows what is in force",
      aStatus(row.object, { state: "refused", problems: broken }),
      { ...held, state: "refused", reason: "spec.hosts is empty" },
    ],
    [
      "is refused where none is in force, and has no generation",
      aStatus(row.object, { inForce: null, problems: [{ field: "", reason: "cannot be read" }] }),
      { ...row, source: "", live: 0, concerned: 0, state: "refused", reason: "cannot be read" },
    ],
    [
      "is refused without a reason where none is known",
      aStatus(row.object, { inForce: null }),
      { ...row, source: "", live: 0, concerned: 0, state: "refused" },
    ],
    [
      "is rejected with the first proxy's words, although others wait for it",
      aStatus(row.object, { reach: { live: 1, refusals: [{ message: "unknown cluster" }, { message: "later" }] } }),
      { ...held, live: 1, state: "rejected", reason: "unknown cluster" },
    ],
    [
      "is arriving while proxies wait, whatever is doubtful in it",
      aStatus(row.object, { reach: { live: 1 }, warnings: broken }),
      { ...held, live: 1, state: "arriving" },
    ],
    [
      "has the first warning",
      aStatus(row.object, { warnings: broken }),
      { ...held, state: "warning", reason: "spec.hosts is empty" },
    ],
    [
      "is live where it concerns no proxy",
      aStatus(row.object, { reach: { live: 0, concerned: 0 } }),
      { ...held, live: 0, concerned: 0, state: "live" },
    ],
  ];
  for (const [name, status, expected] of cases)
    it(name, async () => {
      const { json } = (await objectRowsPage(statusesOf(status).statuses, () => 7)(request(""))) as {
        readonly json: { readonly rows: readonly object[] };
      };
      assert.deepEqual(json.rows, [expected]);
    });
});

describe("the table of objects", () => {
  const all = [
    aStatus("VirtualService/shop/b", { inForce: { generation: 1, source: "directory /etc/mesh" } }),
    aStatus("Gateway/edge/a", { inForce: { generation: 9, writer: "bob" }, warnings: broken }),
    aStatus("VirtualService/bank/c", { state: "refused", problems: broken, inForce: { generation: 5 } }),
  ];
  const ask = async (query: string) => {
    const answer = await objectRowsPage(statusesOf(...all).statuses, () => 7)(request(query));
    return (answer as { readonly json: Readonly<Record<string, unknown>> }).json;
  };
  const names = async (query: string) =>
    ((await ask(query))["rows"] as readonly { readonly name: string }[]).map(({ name }) => name).join("");

  it("counts objects by state whatever is asked, at a generation", async () => {
    const { generation, states } = await ask("kind=Gateway");
    assert.deepEqual([generation, states], [7, { live: 1, warning: 1, refused: 1 }]);
  });

  for (const [query, expected] of [
    ["", "acb"],
    ["sort=name", "abc"],
    ["sort=-name", "cba"],
    ["sort=generation", "bca"],
    ["sort=namespace", "cab"],
    ["sort=kind&kind=Gateway", "a"],
    ["sort=state", "bca"],
    ["sort=-source&limit=1", "b"],
    ["kind=VirtualService", "cb"],
    ["namespace=shop", "b"],
    ["state=refused", "c"],
    ["source=directory", "b"],
    ["search=bob", "a"],
    ["search=directory", "b"],
    ["search=empty", "ac"],
    ["search=refused", "c"],
    ["search=bank", "c"],
    ["search=nothing", ""],
    ["offset=1&limit=1", "c"],
  ] as const)
    it(`"${query}" shows "${expected}"`, async () => assert.equal(await names(query), expected));

  it("says why a question cannot be answered", async () => {
    const { statuses } = statusesOf(...all);
    const answer = (await objectRowsPage(statuses, () => 7)(request("sort=colour"))) as {
      readonly status: number;
      readonly json: { readonly error: string };
    };
    assert.equal(answer.status, 400);
    assert.match(answer.json.error, /^sort is none of object, kind, /);
  });

  it("is gathered once for several who ask, and again for the next generation", async () => {
    const { statuses, asked } = statusesOf(...all);
    let generation = 7;
    const page = objectRowsPage(statuses, () => generation);
    await Promise.all([page(request("")), page(request("kind=Gateway"))]);
    assert.equal(asked.count, 1);
    generation = 8;
    await page(request(""));
    assert.equal(asked.count, 2);
  });
});

describe("the page of one object", () => {
  const object = "VirtualService/shop/a";
  const config = {
    ...{ key: { kind: "VirtualService", namespace: "shop", name: "a" }, creationTimeMs: 0 },
    ...{ labels: { app: "a" }, annotations: {}, spec: { hosts: ["a"] } },
    status: { conditions: [{ type: "Reconciled", status: "True" }] },
    provenance: { source: "kubernetes east" },
  } as unknown as Config;
  const page = (content: LedgerContent, published: Config | undefined) =>
    objectDetailPage(statusesOf(aStatus(object)).statuses, () => content, {
      get: () => published && ({ config: published } as unknown as PublishedObject),
    } as Pick<PublishedConfig, "get">);
  const ask = async (query: string, content: LedgerContent = config as never, published: Config | undefined = config) =>
    (await page(content, published)(request(query))) as {
      readonly status?: number;
      readonly json: Readonly<Record<string, unknown>>;
    };

  it("has its row, its status, its conditions and its manifest", async () => {
    const { json } = await ask("object=vs/a.shop");
    const { row, status, conditions, source, manifest, ...more } = json;
    assert.deepEqual(
      [status, conditions, source, more],
      [aStatus(object), [{ type: "Reconciled", status: "True" }], "kubernetes east", {}],
    );
    assert.equal((row as { readonly state: string }).state, "live");
    const { kind, metadata, spec } = manifest as {
      readonly kind: string;
      readonly metadata: unknown;
      readonly spec: unknown;
    };
    assert.deepEqual(
      [kind, metadata, spec],
      ["VirtualService", { name: "a", namespace: "shop", labels: { app: "a" } }, { hosts: ["a"] }],
    );
  });

  it("gives the reason in place of content that is not shown", async () => {
    const { json } = await ask("object=vs/a.shop", { withheld: "holds a key" } as never);
    assert.deepEqual([json["withheld"], "manifest" in json], ["holds a key", false]);
  });

  it("has neither manifest, source nor conditions where none are known", async () => {
    const withoutStatus = { ...config, status: { conditions: "none" }, provenance: undefined } as unknown as Config;
    for (const published of [withoutStatus, { ...withoutStatus, status: undefined } as unknown as Config]) {
      const { json } = await ask("object=vs/a.shop", null, published);
      assert.deepEqual(Object.keys(json).toSorted(), ["conditions", "row", "status"]);
      assert.deepEqual(json["conditions"], []);
    }
  });

  it("is none for an object that is not there, and an error for what is no object", async () => {
    assert.deepEqual(await ask("object=vs/x.shop"), {
      status: 404,
      json: { error: "there is no VirtualService/shop/x" },
    });
    assert.deepEqual(await ask("object=vs"), { status: 400, json: { error: '"vs" is not KIND/NAME.NAMESPACE' } });
    assert.deepEqual((await ask("")).status, 400);
  });

  it("hides no error of another kind", () => {
    const { statuses } = statusesOf(aStatus(object));
    const failing = objectDetailPage(statuses, () => assert.fail("broken"), { get: () => undefined });
    assert.throws(() => failing(request("object=vs/a.shop")), /broken/);
  });
});
