/** Replicated NATS and Redis by docs/install/high-availability.md: over from k8s/base, a server of each killed, and removed. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { pods, untilReady } from "./control-plane.ts";
import { record, timed } from "./figures.ts";
import { provideImage } from "./images.ts";
import { notExecuted, repository, runSection } from "./install-page.ts";
import { inventory, newSince } from "./inventory.ts";
import { during, untilAnswered } from "./load.ts";
import { kubectl } from "./process.ts";

const minutes = 60_000;

describe("replicated servers", () => {
  let untouched: ReadonlySet<string> = new Set();

  before(
    async () => {
      await provideImage(repository, "flotilla:0.1.0");
      untouched = await inventory();
    },
    { timeout: 15 * minutes },
  );

  it("take the place of the single ones without a failed request", { timeout: 15 * minutes }, async () => {
    await runSection("Kubernetes/Install");
    await runSection("Kubernetes/A first workload");
    await untilAnswered("an answer", ({ last }) => last !== undefined);
    const { answered, failed, reason } = await during(() =>
      timed("from k8s/base to replicated servers: all ready", async () => {
        await runSection("High availability/From k8s/base");
        await runSection("High availability/Install");
        await untilReady();
      }),
    );
    record("requests meanwhile", `${answered} answered, ${failed} failed`);
    assert.deepEqual([failed, reason], [0, undefined]);
    const servers = (await pods()).filter(({ metadata }) => /-(nats|redis)-\d$/.test(metadata.name));
    assert.equal(servers.length, 6);
  });

  it("one of each is killed: no request fails, and a change arrives", { timeout: 10 * minutes }, async () => {
    const { failed, reason } = await during(async () => {
      for (const pod of ["flotilla-nats-0", "flotilla-redis-0"])
        await kubectl("-n", "istio-system", "delete", "pod", pod, "--grace-period=0", "--force");
      await kubectl("apply", "-f", "samples/kubernetes/routes.yaml");
      await timed("a change while a NATS and a Redis server are gone: in effect", async () => {
        await untilAnswered("the route", ({ last }) => last?.route === "canary");
      });
      await timed("a NATS and a Redis server killed: all ready again", () => untilReady());
    });
    assert.deepEqual([failed, reason], [0, undefined]);
  });

  it("are removed, and leave nothing behind", { timeout: 10 * minutes }, async () => {
    await runSection("High availability/Remove");
    assert.deepEqual(await newSince(untouched), []);
    assert.deepEqual(
      notExecuted((section) => section.startsWith("High availability/")),
      [],
    );
  });
});
