/** Pages of the history: which generations are listed, how requests are refused, what differs. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { ConfigError } from "../errors.ts";
import type { Ledger } from "./ledger.ts";
import { diffPage, generationPage, generationsPage, historyPage, listGenerations } from "./ledger-pages.ts";
import type { LedgerContent } from "./ledger-record.ts";

const record = (position: number, objects: readonly string[], part = 0, eventTimeMs = 0) => ({
  ...{ number: position, epoch: "e", position, part, parts: 1 },
  cause: { publisher: "config-controller", epoch: "epoch-of-it", revision: 1, caller: "ops", eventTimeMs },
  objects: objects.map((object) => ({ object, op: "changed" as const })),
});
const web = "VirtualService/shop/web";
const config = (weight: number, more: object = {}): LedgerContent =>
  ({
    key: { kind: "VirtualService", namespace: "shop", name: "web" },
    ...{ labels: {}, annotations: {}, creationTimeMs: 0, resourceVersion: `${weight}`, spec: { weight } },
    ...more,
  }) as unknown as Config;

function aLedger(records: readonly ReturnType<typeof record>[], between: object = {}): Ledger {
  return {
    history: () => records,
    at: async (at: number) => {
      if (at < 5) throw new ConfigError("CONFIG_NOT_KEPT", `generation ${at} is not kept`);
      return new Map([
        [web, config(1)],
        ["Gateway/shop/g", config(2)],
      ]);
    },
    between: async () => new Map(Object.entries(between)),
  } as unknown as Ledger;
}

type Page = ReturnType<typeof historyPage>;
async function ask(page: Page, query: string) {
  const { status = 200, json } = (await page({ query: new URLSearchParams(query) } as never)) as {
    status?: number;
    json: {
      error?: string;
      generations?: { generation: number; changes: number; objects: { object: string }[] }[];
      [key: string]: unknown;
    };
  };
  return { status, json };
}

describe("the history", () => {
  const many = Array.from({ length: 30 }, (_, i) => `VirtualService/shop/v${i}`);
  const ledger = aLedger([
    record(5, ["Gateway/shop/g"]),
    record(6, many.slice(0, 15), 0, 86_400_000),
    record(6, many.slice(15), 1, 86_400_000),
    record(7, [web]),
  ]);

  it("lists the latest first, parts of one generation together, the first of their objects", async () => {
    const { json } = await ask(historyPage(ledger), "");
    assert.deepEqual(
      json.generations?.map(({ generation, objects }) => [generation, objects.length]),
      [
        [7, 1],
        [6, 20],
        [5, 1],
      ],
    );
    assert.deepEqual(
      listGenerations(ledger).map(({ generation, changes, at, by }) => [generation, changes, at, by]),
      [
        [5, 1, "", "ops (API)"],
        [6, 30, "1970-01-02T00:00:00.000Z", "ops (API)"],
        [7, 1, "", "ops (API)"],
      ],
    );
  });

  it("lists as many as are asked for, or those of one object", async () => {
    const positions = async (query: string) =>
      (await ask(historyPage(ledger), query)).json.generations?.map(({ generation }) => generation);
    assert.deepEqual(await positions("limit=2"), [7, 6]);
    assert.deepEqual(await positions("object=vs/v20.shop"), [6]);
    assert.deepEqual(await positions("object=vs/none.shop"), []);
    const [one] = (await ask(historyPage(ledger), "object=vs/v29.shop")).json.generations ?? [];
    assert.deepEqual([one?.changes, one?.objects?.map(({ object }) => object)], [30, ["VirtualService/shop/v29"]]);
  });

  it("is searched and cut for lists, with the names that rows have", async () => {
    const { json, status } = await ask(generationsPage(ledger), "search=v3&limit=1");
    const [row] = json["rows"] as readonly Record<string, unknown>[];
    assert.deepEqual([status, row?.["generation"], row?.["by"], row?.["changes"]], [200, 6, "ops (API)", 30]);
    const ofObject = await ask(generationsPage(ledger), `object=${web}`);
    assert.deepEqual(
      (ofObject.json["rows"] as readonly { generation: number }[]).map(({ generation }) => generation),
      [7],
    );
    assert.equal((await ask(generationsPage(ledger), "limit=many")).status, 400);
  });

  for (const page of [historyPage(ledger), generationsPage(ledger)])
    it("refuses a name that is none", async () => {
      const { status, json } = await ask(page, "object=Thing/a.b");
      assert.equal(status, 400);
      assert.match(`${json.error}`, /is no kind of configuration/);
    });
});

describe("a generation", () => {
  it("is read back whole, or one object of it", async () => {
    const { json } = await ask(generationPage(aLedger([])), "at=7");
    assert.deepEqual([json["generation"], Object.keys(json["objects"] as object)], [7, [web, "Gateway/shop/g"]]);
    const one = await ask(generationPage(aLedger([])), `at=7&object=${web}`);
    assert.deepEqual(Object.keys(one.json["objects"] as object), [web]);
  });

  const refused = [
    ["", /at must be the number of a generation, not ""/],
    ["at=last", /not "last"/],
    ["at=-1", /not "-1"/],
    ["at=4", /generation 4 is not kept/],
  ] as const;
  for (const [query, reason] of refused)
    it(`is refused for "${query}"`, async () => {
      const { status, json } = await ask(generationPage(aLedger([])), query);
      assert.equal(status, 400);
      assert.match(`${json.error}`, reason);
    });

  it("fails where the ledger fails otherwise", async () => {
    const ledger = { at: () => Promise.reject(new TypeError("a defect")) } as unknown as Ledger;
    await assert.rejects(ask(generationPage(ledger), "at=7"), /a defect/);
  });
});

describe("differences between generations", () => {
  const withheld = { withheld: "Secrets are not kept" };
  const cases: readonly (readonly [name: string, before: LedgerContent, after: LedgerContent, expected: unknown])[] = [
    ["nothing for one that came and went", null, null, undefined],
    ["nothing but the version of its source", config(1), config(1, { resourceVersion: "9" }), undefined],
    ["a field", config(1), config(2), ["changed", undefined, [{ path: "spec.weight", before: 1, after: 2 }]]],
    [
      "a label",
      config(1),
      config(1, { labels: { a: "b" } }),
      ["changed", undefined, [{ path: "labels.a", after: "b" }]],
    ],
    ["a Secret that is new", null, withheld, ["created", "Secrets are not kept", undefined]],
    ["a Secret that is gone", withheld, null, ["deleted", "Secrets are not kept", undefined]],
  ];
  for (const [name, before, after, expected] of cases)
    it(`is ${name}`, async () => {
      const { json } = await ask(diffPage(aLedger([], { [web]: { before, after } })), "from=5&to=6");
      const shown = (json["objects"] as readonly Record<string, unknown>[]).map((one) => [
        one["op"],
        one["withheld"],
        one["differences"],
      ]);
      assert.deepEqual(
        JSON.parse(JSON.stringify(shown)),
        JSON.parse(JSON.stringify(expected === undefined ? [] : [expected])),
      );
    });

  it("is in the order of names, with manifests where they are asked for and kept", async () => {
    const ledger = aLedger([], {
      "VirtualService/shop/b": { before: null, after: config(1) },
      "Secret/shop/a": { before: null, after: withheld },
    });
    const { json } = await ask(diffPage(ledger), "from=5&to=6&contents=true");
    const [first, second] = json["objects"] as readonly { object: string; before?: object; after?: { spec: object } }[];
    assert.deepEqual([first?.object, first?.after], ["Secret/shop/a", undefined]);
    assert.deepEqual(
      [second?.object, second?.before, second?.after?.spec],
      ["VirtualService/shop/b", undefined, { weight: 1 }],
    );
    assert.equal((await ask(diffPage(ledger), "from=5")).status, 400);
  });
});
