/** From another revision of the repository to this one, by docs/install/kubernetes.md, under load. */
import assert from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, before, describe, it } from "node:test";
import { pods, replicasOfXdsServer, scaleXdsServer, untilReady } from "./control-plane.ts";
import { record, timed } from "./figures.ts";
import { provideImage } from "./images.ts";
import { repository, runSection } from "./install-page.ts";
import { during, untilAnswered } from "./load.ts";
import { kubectl, run } from "./process.ts";

const revision = process.env["CLUSTER_UPGRADE_FROM"] ?? "HEAD~1";
const minutes = 60_000;

describe(`an upgrade from ${revision}`, () => {
  const directory = mkdtempSync(join(realpathSync(tmpdir()), "flotilla-upgrade-"));
  const old = join(directory, "checkout");
  const overlay = join(directory, "overlay");

  before(
    async () => {
      await run("git", ["worktree", "add", "--detach", old, revision], { cwd: repository });
      await provideImage(old, "flotilla:before");
      await provideImage(repository, "flotilla:0.1.0");
      await run("mkdir", [overlay]);
      const resources = [relative(overlay, join(old, "k8s/base"))];
      const images = [{ name: "flotilla", newTag: "before" }];
      writeFileSync(join(overlay, "kustomization.yaml"), JSON.stringify({ resources, images }));
    },
    { timeout: 20 * minutes },
  );
  after(async () => {
    await run("git", ["worktree", "remove", "--force", old], { cwd: repository });
    rmSync(directory, { recursive: true, force: true });
  });

  it("begins with that revision at work", { timeout: 10 * minutes }, async () => {
    await kubectl("apply", "--server-side", "-f", join(old, "packages/kinds/crds/istio.yaml"));
    await kubectl("apply", "-k", overlay);
    await untilReady();
    await scaleXdsServer(2);
    await runSection("Kubernetes/A first workload");
    await untilAnswered("an answer", ({ last }) => last !== undefined);
  });

  it("fails no request, and keeps the replicas", { timeout: 15 * minutes }, async () => {
    const { answered, failed, reason } = await during(() =>
      timed("upgrade: all rolled out", async () => {
        await runSection("Kubernetes/Upgrade");
        await untilReady();
      }),
    );
    record("requests during the upgrade", `${answered} answered, ${failed} failed`);
    assert.deepEqual([failed, reason], [0, undefined]);
    assert.equal(await replicasOfXdsServer(), 2);
    const images = (await pods()).flatMap(({ spec }) => spec.containers.map(({ image }) => image));
    assert.ok(!images.includes("flotilla:before"), images.join(" "));
  });

  it("serves new workloads and the ones from before", { timeout: 5 * minutes }, async () => {
    await runSection("Kubernetes/A route, and mutual TLS for all");
    await untilAnswered("the route", ({ last }) => last?.route === "canary");
    await kubectl("-n", "shop", "rollout", "restart", "deployment/orders");
    await kubectl("-n", "shop", "rollout", "status", "deployment/orders", "--timeout=180s");
    await runSection("Kubernetes/Remove");
  });
});
