/** Generations, what two of them differ in, and the history of an object. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ByReplica, NoAnswer, requestOf, servicesWith } from "../upstream/answers.fixture.ts";
import type { Question, Services } from "../upstream/services.ts";
import { changeHandlers, objectHistory } from "./changes.ts";

const changed = [
  {
    object: "VirtualService/shop/b",
    op: "changed",
    differences: [{ path: "spec" }],
    before: { a: 1 },
    after: { a: 2 },
  },
  { object: "Secret/shop/a", op: "created", withheld: "Secrets are not kept" },
];
const shown = [
  { object: "Secret/shop/a", op: "created", differences: [], withheld: "Secrets are not kept" },
  {
    object: "VirtualService/shop/b",
    op: "changed",
    differences: [{ path: "spec" }],
    before: "a: 1\n",
    after: "a: 2\n",
  },
];

describe("changes", () => {
  it("are listed by the caller's query", async () => {
    const { services, asked } = servicesWith({ "config-controller /debug/generations": { rows: [], total: 0 } });
    const page = await changeHandlers(services)["GET /api/v1/changes"](requestOf("search=a&limit=5"));
    assert.deepEqual(
      [page, asked],
      [{ rows: [], total: 0, away: [] }, ["config-controller /debug/generations?search=a&limit=5 by T"]],
    );
  });

  it("have the arrivals that the replicas count together, and name a replica that does not answer", async () => {
    const arrival = (generation: number, lastAckMs: number | undefined, together: number) => ({
      ...{ generation, messages: 1, bytes: 10, waiting: 2, rejections: 3, together },
      ...(lastAckMs !== undefined && { lastAckMs }),
    });
    const rows = [{ generation: 9 }, { generation: 8 }, { generation: 7 }];
    const { services, asked } = servicesWith({
      "config-controller /debug/generations": { rows, total: 3 },
      "xds-server": ["a", "b", "c"],
      "xds-server /debug/arrivals": new ByReplica({
        a: { arrivals: [arrival(9, 50, 1), arrival(8, undefined, 1)] },
        b: { arrivals: [arrival(9, 70, 4)] },
        c: new NoAnswer("no answer within 100 ms"),
      }),
    });
    const page = await changeHandlers(services)["GET /api/v1/changes"](requestOf(""));
    const both = { messages: 2, bytes: 20, waiting: 4, rejections: 6, together: 4, lastAckMs: 70 };
    const one = { messages: 1, bytes: 10, waiting: 2, rejections: 3, together: 1 };
    assert.deepEqual(page.rows, [{ generation: 9, arrival: both }, { generation: 8, arrival: one }, { generation: 7 }]);
    assert.deepEqual(
      page.away.map(({ service, replica }) => [service, replica]),
      [["xds-server", "c"]],
    );
    assert.equal(asked[1], "xds-server /debug/arrivals?generations=9%2C8%2C7 by T");
  });

  it("of two generations are compared by what config-controller keeps", async () => {
    const { services, asked } = servicesWith({ "config-controller /debug/diff": { objects: changed } });
    const compare = changeHandlers(services)["GET /api/v1/changes/compare"];
    const { rows, from, to, total } = await compare(requestOf("from=3&to=5"));
    assert.deepEqual([rows, from, to, total], [shown, 3, 5, 2]);
    assert.deepEqual(asked, ["config-controller /debug/diff?from=3&to=5&contents=true by T"]);
    assert.deepEqual((await compare(requestOf("from=3&to=5&search=created"))).rows, [shown[0]]);
    assert.deepEqual((await compare(requestOf("from=3&to=5&sort=-object&limit=1"))).rows, [shown[1]]);
  });

  for (const [query, message] of [
    ["to=5", "from is missing"],
    ["from=&to=5", "from is missing"],
    ["from=3", "to is missing"],
    ["from=-1&to=5", "from is the number of a generation"],
    ["from=1.5&to=5", "from is the number of a generation"],
    ["from=1&to=x5", "to is the number of a generation"],
    ["from=1&to=5&colour=red", "there is no parameter colour"],
  ] as const)
    it(`are not compared by ${query}`, async () => {
      const { services } = servicesWith({ "config-controller /debug/diff": { objects: [] } });
      await assert.rejects(async () => changeHandlers(services)["GET /api/v1/changes/compare"](requestOf(query)), {
        ...{ code: "bad-request", message },
      });
    });
});

describe("the history of an object", () => {
  const row = (generation: number) => ({ generation, at: "", by: "ann", changes: 1 });
  const page = { rows: [row(7), row(5)], total: 2 };
  /** `diffs` by the generation that is compared with the one before it. */
  const ask = async (query: string, diffs: Readonly<Record<string, unknown>>) => {
    const asked: string[] = [];
    const { services } = servicesWith({ "config-controller /debug/generations": page });
    const first: Services["first"] = (service, question: Question) => {
      const query = new URLSearchParams(question.query as Record<string, string>);
      asked.push(`${question.path}?${query}`);
      if (question.path !== "/debug/diff") return services.first(service, question);
      return servicesWith({ [`${service} /debug/diff`]: diffs[query.get("to") ?? ""] }).services.first(
        service,
        question,
      );
    };
    return { history: await objectHistory({ ...services, first }, requestOf(query), "VirtualService/shop/b"), asked };
  };

  it("has what each generation changed of it, and nothing of others", async () => {
    const { history, asked } = await ask("", { 7: { objects: changed }, 5: { objects: changed.slice(1) } });
    assert.deepEqual(history, { total: 2, away: [], rows: [{ ...row(7), change: shown[1] }, row(5)] });
    assert.deepEqual(asked, [
      "/debug/generations?limit=20&object=VirtualService%2Fshop%2Fb",
      "/debug/diff?from=6&to=7&contents=true",
      "/debug/diff?from=4&to=5&contents=true",
    ]);
  });

  it("has no change of the oldest generation, before which nothing is kept", async () => {
    const { history } = await ask("", { 7: { objects: changed }, 5: new NoAnswer("4 is not kept", 400) });
    assert.deepEqual(history.rows[1], row(5));
  });

  it("is refused with every other failure", () =>
    assert.rejects(async () => ask("", { 7: new NoAnswer("broken", 500), 5: { objects: [] } }), { code: "upstream" }));

  for (const [query, limit] of [
    ["", "20"],
    ["limit=3", "3"],
    ["limit=20", "20"],
    ["limit=21", "20"],
    ["limit=500", "20"],
  ] as const)
    it(`is cut to ${limit} where ${query || "no limit"} is asked for`, async () => {
      const { asked } = await ask(query, { 7: { objects: [] }, 5: { objects: [] } });
      assert.equal(new URLSearchParams(asked[0]?.split("?")[1]).get("limit"), limit);
    });
});
