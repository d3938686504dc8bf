import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fleetPage } from "./fleet-page.ts";
import type { PlacedProxy } from "./fleet-status.ts";
import type { Viewer } from "./viewer.ts";

const placed = (proxy: string, namespace: string): PlacedProxy => ({
  replica: undefined,
  status: {
    ...{ proxy, namespace, type: "sidecar", clusterId: "Kubernetes", istioVersion: "1.32.0" },
    ...{ connectionId: proxy, peer: "10.0.0.1:1", connectedAtMs: 0, types: {} },
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
  const page = fleetPage({ byReplica }, "pod-a", () => clock.nowMs);
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

  it("is read again after it could not be read", async () => {
    const { proxies } = pageOf([new Error("redis unreachable"), [placed("web.shop", "shop")]]);
    await assert.rejects(proxies(mesh), /redis unreachable/);
    assert.deepEqual(await proxies(mesh), ["web.shop"]);
  });
});
