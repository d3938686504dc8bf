/** Installation by docs/install/kubernetes.md, what works then, and that nothing is left afterwards. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { pods, replicasOfXdsServer, scaleXdsServer, untilReady } from "./control-plane.ts";
import { memoryByContainer, record, timed } from "./figures.ts";
import { provideImage } from "./images.ts";
import { notExecuted, repository, runSection } from "./install-page.ts";
import { inventory, newSince } from "./inventory.ts";
import { istioctl, machineEnvironment, noIstioctl } from "./istioctl.ts";
import { counts, during, untilAnswered } from "./load.ts";
import { apply, kubectl, ProcessError, run } from "./process.ts";
import { removeStranger, startStranger, strangerGets } from "./stranger.ts";

const image = "flotilla:0.1.0";
const minutes = 60_000;
/** Sections of docs/operations.md with commands. */
const operations = ["Back-up", "The seal key", "Restarts", "Looking at it"];

describe("Flotilla in Kubernetes", () => {
  let untouched: ReadonlySet<string> = new Set();

  before(
    async () => {
      await provideImage(repository, image);
      untouched = await inventory();
    },
    { timeout: 15 * minutes },
  );

  it("installs by the commands of the page, and no pod restarts", { timeout: 10 * minutes }, async () => {
    await timed("install: `kubectl apply` to all available", () => runSection("Kubernetes/Install"));
    await untilReady();
    await runSection("Kubernetes/The MeshConfig");
    for (const { metadata, status } of await pods())
      for (const { restartCount } of status.containerStatuses ?? [])
        assert.equal(restartCount, 0, `${metadata.name} restarted`);
  });

  it("injects workloads, which call each other with certificates", { timeout: 5 * minutes }, async () => {
    await timed("first workload: `kubectl apply` to rolled out", () => runSection("Kubernetes/A first workload"));
    const { last } = await untilAnswered("an answer", ({ last }) => last !== undefined);
    assert.match(last?.certificate ?? "", /By=spiffe:\/\/cluster\.local\/ns\/shop\/sa\/orders/);
    assert.match(last?.certificate ?? "", /URI=spiffe:\/\/cluster\.local\/ns\/shop\/sa\/web/);
  });

  it("configuration arrives, and STRICT refuses a pod without a certificate", { timeout: 5 * minutes }, async () => {
    await startStranger(image);
    assert.equal(await strangerGets(), "200", "before STRICT");
    assert.equal((await counts()).last?.route, undefined);
    await runSection("Kubernetes/A route, and mutual TLS for all");
    await untilAnswered("the route", ({ last }) => last?.route === "canary");
    await until(async () => (await strangerGets()) === "ECONNRESET", { withinMs: 30_000, what: "the refusal" });
    const { failed } = await during(async () => undefined);
    assert.equal(failed, 0, "the mesh's own calls go on");
    await removeStranger();
  });

  it("serves istioctl", { skip: noIstioctl, timeout: 5 * minutes }, async () => {
    assert.match(await istioctl("version"), /control plane version: 0\.1\.0/);
    assert.match(await istioctl("proxy-status"), /^web-\S+\.shop /m);
    assert.match(await istioctl("proxy-config", "routes", "deploy/web.shop"), /orders\.shop\.svc\.cluster\.local:8080/);
    assert.match(await istioctl("x", "describe", "service", "orders.shop"), /VirtualService: orders\.shop/);
    assert.equal((await istioctl("analyze", "-n", "istio-system")).trim(), "");
    const web = (await kubectl("-n", "shop", "get", "pod", "-l", "app=web", "-o", "name")).trim().replace("pod/", "");
    assert.match(await istioctl("x", "describe", "pod", `${web}.shop`), /Workload mTLS mode: STRICT/);
    assert.match(await machineEnvironment("shop"), /^TRUST_DOMAIN='cluster\.local'$/m);
    const injected = await istioctl("kube-inject", "-f", "samples/kubernetes/shop.yaml");
    assert.match(injected, /name: istio-proxy/);
  });

  it("refuses an object that is wrong, with the field", async () => {
    const http = [{ route: [{ destination: { host: "orders" }, weight: -1 }] }];
    const wrong = { apiVersion: "networking.istio.io/v1", kind: "VirtualService", spec: { hosts: ["orders"], http } };
    const refused = apply([{ ...wrong, metadata: { name: "wrong", namespace: "shop" } }]);
    await assert.rejects(refused, (error) => error instanceof ProcessError && /denied|Invalid/.test(error.output));
  });

  it("xds-server goes from 1 to 3 replicas and back without a failed request", { timeout: 10 * minutes }, async () => {
    await scaleXdsServer(1);
    const { answered, failed, reason } = await during(async () => {
      await timed("xds-server 1 → 3: ready", () => scaleXdsServer(3));
      await kubectl("apply", "-k", "k8s/base");
      assert.equal(await replicasOfXdsServer(), 3, "applying the base again leaves the replicas");
      await scaleXdsServer(1);
    });
    record("requests while scaling 1 → 3 → 1", `${answered} answered, ${failed} failed`);
    assert.deepEqual([failed, reason], [0, undefined]);
  });

  it("every pod of it can be deleted without a failed request", { timeout: 20 * minutes }, async () => {
    const { answered, failed, reason } = await during(async () => {
      for (const { metadata } of await pods())
        await timed(`${metadata.name.replace(/-[0-9a-f]{6,10}-\w{5}$/, "")} deleted: all ready again`, async () => {
          await kubectl("-n", "istio-system", "delete", "pod", metadata.name);
          await untilReady();
        });
    });
    record("requests while every pod is deleted", `${answered} answered, ${failed} failed`);
    assert.deepEqual([failed, reason], [0, undefined]);
    await kubectl("-n", "shop", "rollout", "restart", "deployment/orders");
    await kubectl("-n", "shop", "rollout", "status", "deployment/orders", "--timeout=180s");
    for (const [container, megabytes] of await memoryByContainer("istio-system"))
      record(`memory of ${container}`, `${megabytes} MB`);
  });

  it("keeps serving while the commands of docs/operations.md are run", { timeout: 10 * minutes }, async () => {
    const directory = mkdtempSync(join(tmpdir(), "flotilla-operations-"));
    const { answered, failed } = await during(async () => {
      for (const section of operations) await runSection(section, directory);
      await untilReady();
    });
    rmSync(directory, { recursive: true });
    record("requests while the seal key is changed and services restart", `${answered} answered, ${failed} failed`);
    assert.equal(failed, 0);
  });

  it("`flotilla logs` shows the lines of the pods of every service, and those of one", async () => {
    const logs = (...args: readonly string[]) =>
      run(process.execPath, [
        join(repository, "packages/cli/bin/flotilla.mjs"),
        ...["logs", "-n", "istio-system", "--kubeconfig", process.env["KUBECONFIG"] ?? "", ...args],
      ]);
    const all = await logs("--tail", "100000");
    for (const service of ["ca", "config-controller", "service-controller", "xds-server", "webhook"])
      assert.match(all, new RegExp(`INFO +flotilla-${service}-\\S+ +\\S`));
    const ofOne = (await logs("-o", "json", "ca")).trim().split("\n");
    const services = ofOne
      .filter((line) => line.startsWith("{"))
      .map((line) => (JSON.parse(line) as { readonly service?: string }).service);
    assert.deepEqual([...new Set(services)], ["ca"]);
  });

  it("is removed by the commands of the page, and leaves nothing behind", { timeout: 10 * minutes }, async () => {
    await timed("removal", () => runSection("Kubernetes/Remove"));
    assert.deepEqual(await newSince(untouched), []);
    const elsewhere = ["Kubernetes/The image", "Kubernetes/Upgrade"];
    const isMeant = (section: string) =>
      !elsewhere.includes(section) && (section.startsWith("Kubernetes/") || operations.includes(section));
    assert.deepEqual(notExecuted(isMeant), []);
  });
});
