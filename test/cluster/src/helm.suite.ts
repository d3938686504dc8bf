/** The Helm chart by docs/install/helm.md: installed, upgraded under load, removed, and with a revision of its own. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { before, describe, it } from "node:test";
import { replicasOfXdsServer, scaleXdsServer, untilReady } from "./control-plane.ts";
import { record, timed } from "./figures.ts";
import { provideImage } from "./images.ts";
import { notExecuted, repository, runSection } from "./install-page.ts";
import { inventory, newSince } from "./inventory.ts";
import { during, untilAnswered } from "./load.ts";
import { kubectl } from "./process.ts";

const minutes = 60_000;
const hasHelm = spawnSync("helm", ["version", "--short"]).status === 0;

describe("the Helm chart", { skip: hasHelm ? false : "no helm on PATH" }, () => {
  let untouched: ReadonlySet<string> = new Set();

  before(
    async () => {
      await provideImage(repository, "flotilla:0.1.0");
      untouched = await inventory();
    },
    { timeout: 15 * minutes },
  );

  it("installs by the commands of the page, and serves a workload", { timeout: 10 * minutes }, async () => {
    await timed("`helm install --wait`", () => runSection("Helm/Install"));
    await untilReady();
    await runSection("Kubernetes/A first workload");
    await untilAnswered("an answer", ({ last }) => last !== undefined);
  });

  it("upgrades without a failed request, and keeps the replicas", { timeout: 10 * minutes }, async () => {
    await scaleXdsServer(2);
    const { answered, failed, reason } = await during(async () => {
      await timed("`helm upgrade --wait`", () => runSection("Helm/Upgrade"));
      await untilReady();
    });
    record("requests during `helm upgrade`", `${answered} answered, ${failed} failed`);
    assert.deepEqual([failed, reason], [0, undefined]);
    assert.equal(await replicasOfXdsServer(), 2);
    const settings = await kubectl("-n", "istio-system", "get", "configmap", "flotilla", "-o", "yaml");
    assert.match(settings, /LOG_LEVEL: "?debug/);
  });

  it("is removed, and leaves nothing behind", { timeout: 10 * minutes }, async () => {
    await timed("`helm uninstall` and the commands after it", () => runSection("Helm/Remove"));
    assert.deepEqual(await newSince(untouched), []);
  });

  it("is installed with a revision in a namespace of its own, and removed", { timeout: 10 * minutes }, async () => {
    await runSection("Helm/Beside another control plane");
    assert.deepEqual(await newSince(untouched), []);
    assert.deepEqual(
      notExecuted((section) => section.startsWith("Helm/")),
      [],
    );
  });
});
