/** Resources that an object went into: every replica is asked, and their rows are one list. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RequestRefused } from "../errors.ts";
import { ByReplica, NoAnswer, requestOf, servicesWith } from "../upstream/answers.fixture.ts";
import { madeFrom } from "./made-from.ts";

const row = (proxy: string, name = "80") => ({ proxy, type: "rds", name });
const answered = (rows: readonly object[], isComplete = true) => ({ rows, isComplete });
const object = "VirtualService/shop/web";

function ask(query: string, values: Readonly<Record<string, unknown>>) {
  const pages = { "xds-server": Object.keys(values), "xds-server /debug/made_from": new ByReplica(values) };
  const { services, asked } = servicesWith(pages);
  return { page: madeFrom(services, requestOf(query), object), asked };
}

describe("resources made from an object", () => {
  it("are those of every replica, sorted and cut together", async () => {
    const { page, asked } = ask("offset=1&limit=2", {
      a: answered([row("d.shop"), row("b.shop")]),
      b: answered([row("c.shop"), row("a.shop")]),
    });
    const { rows, matching, isComplete, away } = await page;
    assert.deepEqual([rows, matching, isComplete, away], [[row("b.shop"), row("c.shop")], 4, true, []]);
    assert.deepEqual(asked, ["xds-server /debug/made_from?object=VirtualService%2Fshop%2Fweb&limit=1000 by T"]);
  });

  it("are searched among all", async () => {
    const values = { a: answered([row("d.shop")]), b: answered([row("c.shop", "9080"), row("d.shop", "9080")]) };
    assert.deepEqual((await ask("search=9080 d.", values).page).rows, [row("d.shop", "9080")]);
  });

  it("of a proxy that moves are listed once", async () => {
    const values = { a: answered([row("d.shop")]), b: answered([row("d.shop")]) };
    assert.equal((await ask("", values).page).total, 1);
  });

  it("may be more where a replica has not looked at all, and one that gives no answer is named", async () => {
    const { isComplete, away, rows } = await ask("", {
      ...{ a: answered([row("d.shop")], false), b: new NoAnswer("gone") },
    }).page;
    assert.deepEqual([isComplete, away.map(({ replica }) => replica), rows.length], [false, ["b"], 1]);
  });

  it("are refused where every replica refuses them", async () => {
    const refused = new NoAnswer("not yours", 403);
    await assert.rejects(
      ask("", { a: refused, b: refused }).page,
      (error) => error instanceof RequestRefused && error.code === "forbidden",
    );
  });
});
