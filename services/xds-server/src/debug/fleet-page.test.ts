import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { createFleetRows, fleetPage } from "./fleet-page.ts";
import type { PlacedProxy } from "./fleet-status.ts";
import type { TypeStatus, TypeStatuses } from "./proxy-status.ts";
import type { Viewer } from "./viewer.ts";

const placed = (proxy: string, namespace: string, types: TypeStatuses = {}, replica?: string): PlacedProxy => ({
  replica,
  status: {
    ...{ proxy, namespace, type: "sidecar", clusterId: "Kubernetes", istioVersion: "1.32.0" },
    ...{ connectionId: proxy, peer: "10.0.0.1:1", connectedAtMs: 0, types },
  },
});
const mesh: Viewer = { namespace: undefined };
const bank: Viewer = { namespace: "bank" };

function pageOf(answers: readonly (readonly PlacedProxy[] | Error)[]) {
  const [clock, asked] = [{ nowMs: 0 }, { times: 0 }];
  const byReplica = async () => {
    const answer = answers[Math.min(asked.times++, answers.length - 1)] ?? [];
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const page = fleetPage(createFleetRows({ byReplica }, "pod-a", () => clock.nowMs));
  const proxies = async (viewer: Viewer, query = "") => {
    const reply = await page.answer({ path: "fleet", query: new URLSearchParams(query), viewer });
    return ((reply as { json: unknown }).json as { rows: { proxy: string }[] }).rows.map(({ proxy }) => proxy);
  };
  return { clock, asked, proxies };
}

describe("the list of the fleet", () => {
  it("is read once for questions of the same moment, of which each has its own rows", async () => {
    const { asked, proxies } = pageOf([[placed("app.bank", "bank"), placed("web.shop", "shop")]]);
    assert.deepEqual(await Promise.all([proxies(mesh), proxies(bank), proxies(mesh, "search=web")]), [
      ["app.bank", "web.shop"],
      ["app.bank"],
      ["web.shop"],
    ]);
    assert.equal(asked.times, 1);
  });

  it("is read again for a later question", async () => {
    const { clock, asked, proxies } = pageOf([[], [placed("web.shop", "shop")]]);
    assert.deepEqual(await proxies(mesh), []);
    clock.nowMs = 99;
    assert.deepEqual(await proxies(mesh), []);
    clock.nowMs = 100;
    assert.deepEqual([await proxies(mesh), asked.times], [["web.shop"], 2]);
  });

  it("keeps the row of a proxy to which nothing happened", async () => {
    const [clock, still] = [{ nowMs: 0 }, placed("web.shop", "shop")];
    const fleets = [
      [still, placed("app.bank", "bank")],
      [still, placed("app.bank", "bank")],
    ];
    const rows = createFleetRows({ byReplica: async () => fleets.shift() ?? [] }, "pod-a", () => clock.nowMs);
    const [webBefore, appBefore] = await rows();
    clock.nowMs = 1_000;
    const [web, app] = await rows();
    assert.deepEqual([web === webBefore, app === appBefore, app], [true, false, appBefore]);
  });

  it("is read again after it could not be read", async () => {
    const { proxies } = pageOf([new Error("redis unreachable"), [placed("web.shop", "shop")]]);
    await assert.rejects(proxies(mesh), /redis unreachable/);
    assert.deepEqual(await proxies(mesh), ["web.shop"]);
  });
});

it("the fleet is sorted and searched by each of its columns", async () => {
  const all = [placed("a.shop", "shop"), placed("b.bank", "bank", {}, "pod-b")];
  const { proxies } = pageOf(Array.from({ length: 20 }, () => all));
  for (const column of ["proxy", "namespace", "type", "version", "replica", "connectedAt", "state"])
    for (const sort of [column, `-${column}`]) {
      const found = await proxies(mesh, `sort=${sort}`);
      assert.deepEqual([...found].sort(), ["a.shop", "b.bank"], sort);
    }
  assert.deepEqual(await proxies(mesh, "sort=namespace"), ["b.bank", "a.shop"]);
  assert.deepEqual(await proxies(mesh, "sort=-proxy"), ["b.bank", "a.shop"]);
  assert.deepEqual(await proxies(mesh, "sort=-replica"), ["b.bank", "a.shop"]);
  assert.deepEqual(await proxies(mesh, "search=pod-b"), ["b.bank"]);
});

describe("the state of a proxy", () => {
  const synced: TypeStatus = { sent: "n1", acked: "n1" };
  const sending: TypeStatus = { sent: "n2", acked: "n1" };
  const rejected: TypeStatus = { sent: "n2", acked: "n1", error: "no such cluster" };
  const [cds, rds] = [typeUrl.cluster, typeUrl.route];
  const cases: readonly (readonly [name: string, types: TypeStatuses, state: string])[] = [
    ["is synced where it was sent nothing", {}, "synced"],
    ["is synced where it has answered everything", { [cds]: synced, [rds]: synced }, "synced"],
    ["is sending where it owes one answer", { [cds]: synced, [rds]: sending }, "sending"],
    ["is rejected where it has rejected one type", { [cds]: sending, [rds]: rejected }, "rejected"],
  ];
  for (const [name, types, state] of cases)
    it(name, async () => {
      for (const one of ["synced", "sending", "rejected"]) {
        const { proxies } = pageOf([[placed("web.shop", "shop", types)]]);
        assert.deepEqual(await proxies(mesh, `state=${one}`), one === state ? ["web.shop"] : [], one);
      }
    });

  it("is listed with its replica, this one where none is named", async () => {
    const { proxies } = pageOf([[placed("a.shop", "shop"), placed("b.shop", "shop", {}, "pod-b")]]);
    assert.deepEqual(await proxies(mesh, "replica=pod-a"), ["a.shop"]);
    assert.deepEqual(await proxies(mesh, "replica=pod-b"), ["b.shop"]);
  });
});
