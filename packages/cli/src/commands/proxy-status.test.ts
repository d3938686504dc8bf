import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answerPages } from "../answering-service.fixture.ts";
import { recordRun } from "../recorded-run.fixture.ts";

const type = (name: string) => `type.googleapis.com/${name}`;
const [cds, lds] = [type("envoy.config.cluster.v3.Cluster"), type("envoy.config.listener.v3.Listener")];
const healthy = {
  ...{ proxy: "web.shop", cluster_id: "Kubernetes", istio_version: "1.30.3" },
  resources: {
    [cds]: { sent: "2", acked: "2", version: "v1", sentTime: "2026-01-01T00:00:00.000Z" },
    [lds]: { sent: "4", acked: "3" },
  },
};
const rejecting = {
  proxy: "api.shop",
  resources: { [cds]: { sent: "2", acked: "1", lastError: "Invalid Lua" } },
};

async function shown(args: readonly string[], body: unknown = [healthy]) {
  await using xds = await answerPages(() => ({ body }));
  return await recordRun(["proxy-status", ...args, "--url", `xds-server=${xds.url}`]);
}

describe("flotilla proxy-status", () => {
  it("has a state for each type that istioctl shows, proxies by name", async () => {
    const { code, out } = await shown([], [healthy, rejecting]);
    assert.equal(code, 3);
    const lines = out.trimEnd().split("\n");
    assert.match(lines[0] ?? "", /^NAME +CLUSTER +CDS +LDS +EDS +RDS +ECDS +VERSION$/);
    assert.match(lines[1] ?? "", /^api\.shop +ERROR +NOT SENT +NOT SENT +NOT SENT +NOT SENT$/);
    assert.match(lines[2] ?? "", /^web\.shop +Kubernetes +SYNCED +STALE +NOT SENT +NOT SENT +NOT SENT +1\.30\.3$/);
  });

  it("has reasons of rejections in wide output", async () => {
    const { out } = await shown(["-o", "wide"], [rejecting]);
    assert.match(out, /VERSION +REJECTED BECAUSE\n.*Invalid Lua/);
  });

  it("shows one proxy type by type, and ends with 0 where it rejects nothing", async () => {
    const { code, out } = await shown(["web.shop"], [healthy, rejecting]);
    assert.equal(code, 0);
    assert.match(out, /^web\.shop, Kubernetes, 1\.30\.3\nTYPE +STATE +VERSION +SENT/);
    const bare = await shown(["api.shop"], [healthy, rejecting]);
    assert.equal(bare.code, 3);
    assert.match(bare.out, /^api\.shop\nTYPE .*\nCDS +ERROR +Invalid Lua$/m);
    assert.match(out, /^CDS +SYNCED +v1 +2026-01-01T00:00:00\.000Z$/m);
  });

  it("is called ps too, and gives JSON", async () => {
    await using xds = await answerPages(() => ({ body: [healthy] }));
    const { out } = await recordRun(["ps", "-o", "json", "--url", `xds-server=${xds.url}`]);
    assert.deepEqual(JSON.parse(out), [healthy]);
  });

  it("names a proxy that is not connected", async () => {
    const { code, err } = await shown(["none.shop"]);
    assert.deepEqual([code, /no proxy none\.shop is connected; `flotilla proxy-status` lists/.test(err)], [1, true]);
    assert.match((await shown(["web"])).err, /no proxy web is connected; did you mean web\.shop\?/);
  });

  it("ends with 4 where no xds-server answers", async () => {
    const { code } = await recordRun(["proxy-status", "--url", "xds-server=http://127.0.0.1:1"]);
    assert.equal(code, 4);
  });
});
