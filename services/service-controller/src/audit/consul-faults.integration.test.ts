/** A real Consul that crashes, or whose answers are corrupted on the way: the state held equals its catalog in the end. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { delay, until } from "@flotilla/runtime";
import { findServer, freePort, startConsul } from "@flotilla/servers";
import { seeded } from "../watch/fake-cluster.fixture.ts";
import { churn, followConsul, write } from "./consul-churn.fixture.ts";
import { type AnswerFault, startFaultyAnswers } from "./faulty-answers.fixture.ts";

const root = mkdtempSync(join(tmpdir(), "flotilla-consul-"));
after(() => rmSync(root, { recursive: true, force: true }));
const { env } = process;
const missing = await findServer("consul", { env }).then(
  () => undefined,
  (error: Error) => error.message,
);
if (missing !== undefined) process.stderr.write(`SKIPPED: ${missing}\n`);
const random = seeded(7);
const equality = { withinMs: 60_000, what: "what is known to equal the catalog", everyMs: 200 };

const reported: readonly AnswerFault[] = ["cut", "delay", "repeat", "rewind"];
const cases: readonly { readonly name: string; readonly faults: readonly AnswerFault[]; readonly share: number }[] = [
  {
    name: "lines that are cut, answers that are late, repeated or of an index that goes back",
    faults: reported,
    share: 0.3,
  },
  { name: "changes that are lost without a trace", faults: ["lose"], share: 0.5 },
  { name: "all of it", faults: [...reported, "lose"], share: 0.1 },
];

describe("a real Consul", { skip: missing }, () => {
  it("that crashes under changes of its services is in the end as its catalog", { timeout: 180_000 }, async (test) => {
    const directory = join(root, "one");
    let consul = await startConsul({ env, directory });
    const { url, port } = consul;
    try {
      await using followed = followConsul(url);
      await churn(url, 150, random);
      const churning = churn(url, 150, random);
      await delay(100);
      await consul.kill();
      consul = await startConsul({ env, directory, port });
      await churning;
      await until(followed.equalsCatalog, equality);
      test.diagnostic(`${followed.repaired} repaired`);
    } finally {
      await consul[Symbol.asyncDispose]();
    }
  });

  for (const [i, { name, faults, share }] of cases.entries()) {
    it(`behind ${name} is in the end as its catalog`, { timeout: 180_000 }, async (test) => {
      await using consul = await startConsul({ env, directory: join(root, `faults-${i}`) });
      await using proxy = await startFaultyAnswers(consul.url, random);
      await churn(consul.url, 100, random);
      await using followed = followConsul(proxy.url);
      await until(followed.equalsCatalog, equality);
      Object.assign(proxy, { faults, share });
      // Slow enough that answers are not all joined.
      for (let round = 0; round < 30; round++) {
        await churn(consul.url, 10, random);
        await delay(50);
      }
      await until(followed.equalsCatalog, equality);
      const { counts } = proxy;
      test.diagnostic(`${JSON.stringify(counts)}, ${followed.repaired} repaired`);
      for (const fault of faults) assert.ok(counts[fault] > 0, `${fault} did not occur`);
      // Faults visible on the wire cause another request; only the comparison finds the rest.
      if (reported.every((fault) => !faults.includes(fault))) assert.ok(followed.repaired > 0);
    });
  }

  it("keeps what was known of a datacenter that is away, and says so", { timeout: 180_000 }, async () => {
    const wanPort = await freePort();
    await using one = await startConsul({ env, directory: join(root, "dc1"), wanPort });
    const more = { datacenter: "dc2", wanPort: await freePort(), joinWan: [wanPort] };
    await using two = await startConsul({ env, directory: join(root, "dc2"), ...more });
    await using proxy = await startFaultyAnswers(one.url, random);
    await churn(one.url, 60, random);
    const service = (port: number) => ({ Name: "far", ID: "far", Address: "10.2.0.1", Port: port });
    await write(two.url, "/v1/agent/service/register", service(7_001));
    await until(async () => (await fetch(`${one.url}/v1/catalog/services?dc=dc2`)).ok, {
      withinMs: 60_000,
      what: "the datacenters to know each other",
      everyMs: 200,
    });
    await using followed = followConsul(proxy.url, ["dc1", "dc2"]);
    const knows = (port: number) => followed.state().includes(`"port":${port}`);
    const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 100 });
    await until(() => knows(7_001), soon("the service of the other datacenter"));
    proxy.away = "dc2";
    await write(two.url, "/v1/agent/service/register", service(7_002));
    const isReported = () => followed.problems().some((problem) => problem.startsWith("Consul/dc2: unreachable since"));
    await until(isReported, soon("the datacenter to be reported as away"));
    await write(one.url, "/v1/agent/service/register", { Name: "near", ID: "near", Address: "10.1.0.1", Port: 7_003 });
    await until(() => knows(7_003), soon("the other datacenter to go on"));
    assert.ok(knows(7_001), "what was known is kept");
    proxy.away = undefined;
    await until(() => knows(7_002) && !knows(7_001), soon("what changed meanwhile"));
    await until(() => followed.problems().length === 0, soon("nothing to be wrong"));
    await until(followed.equalsCatalog, equality);
  });
});
