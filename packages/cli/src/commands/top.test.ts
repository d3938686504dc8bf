import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sumsOf } from "@flotilla/runtime";
import { answerPages } from "../answering-service.fixture.ts";
import { recordRun } from "../recorded-run.fixture.ts";
import { loadBetween } from "../top/load.ts";

function metricsAt(seconds: number): string {
  return [
    "# HELP process_cpu_seconds_total x",
    `process_cpu_seconds_total ${seconds}`,
    "process_resident_memory_bytes 104857600",
    'pilot_xds{version="1.30"} 2',
    'pilot_xds{version="1.29"} 1',
    "nodejs_eventloop_lag_p99_seconds 0.0125",
    `pilot_xds_pushes{type="cds"} ${seconds}`,
    "",
  ].join("\n");
}

describe("flotilla top", () => {
  it("shows what each replica uses, and which do not answer", async () => {
    let seconds = 10;
    await using xds = await answerPages(() => {
      seconds += 0.1;
      return { body: metricsAt(seconds) };
    });
    const urls = ["--url", `xds-server=${xds.url}`, "--url", "ca=http://127.0.0.1:1"];
    const { code, out } = await recordRun(["top", "--interval", "100ms", ...urls]);
    assert.equal(code, 0);
    assert.match(out, /^REPLICA +CPU +MEMORY/);
    assert.match(out, /^xds-server +\d+\.\d% +100Mi +- +12\.5ms +- +3 +\d\.\d messages\/s$/m);
    assert.match(out, /^ca +no answer$/m);
    const json = await recordRun(["top", "--interval", "100ms", "-o", "json", ...urls]);
    assert.equal(JSON.parse(json.out)[0].proxies, 3);
  });

  it("shows a replica that answers from the second reading on, without rates", async () => {
    let requests = 0;
    await using xds = await answerPages(() => {
      requests++;
      return requests === 1 ? { status: 503, body: {} } : { body: metricsAt(10) };
    });
    const { code, out } = await recordRun(["top", "--interval", "10ms", "--url", `xds-server=${xds.url}`]);
    assert.equal(code, 0);
    assert.match(out, /^xds-server +\S+ +100Mi /m);
  });

  it("ends with 4 without an answer", async () => {
    const { code } = await recordRun(["top", "--interval", "10ms", "--url", "ca=http://127.0.0.1:1"]);
    assert.equal(code, 4);
  });

  it("takes a counter that began anew as no work", () => {
    const at = (atMs: number, value: number) => ({ atMs, sums: sumsOf(`process_cpu_seconds_total ${value}`) });
    assert.equal(loadBetween("ca", "ca", at(0, 50), at(1_000, 1)).cpu, 0);
    assert.equal(loadBetween("ca", "ca", at(0, 1), at(2_000, 2)).cpu, 0.5);
  });
});
