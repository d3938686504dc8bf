/**
 * The five services in a cluster, as k8s/base has them: with the rights that it gives them and no others, tokens of their accounts
 * and the root from a ConfigMap, over mutual TLS; and a ca that comes back with nothing but what the cluster keeps.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { until } from "@flotilla/runtime";
import { Cluster } from "./transport/cluster.ts";
import { Deployed, services } from "./transport/deployed.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);

describe("the deployment in a cluster", { skip: server === undefined && whyNoApiserver }, () => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-cluster-"));
  const stop = new AbortController();
  let deployed: Deployed;
  let mounting: Promise<void> = Promise.resolve();

  before(async () => {
    assert.ok(server !== undefined);
    const cluster = new Cluster(server, directory);
    await cluster.applyRights();
    mounting = cluster.mountRoot(stop.signal);
    deployed = await Deployed.in(directory, cluster);
    for (const service of services) await deployed.startService(service);
    await Promise.all([deployed.startCertificate("nats"), deployed.startCertificate("redis")]);
    await deployed.startNats();
    await deployed.startRedis();
  });
  after(async () => {
    await deployed?.[Symbol.asyncDispose]();
    stop.abort();
    await mounting;
    await server?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it("all are ready, and none is refused anything", { timeout: 180_000 }, async () => {
    await deployed.allReady();
    for (const service of services) assert.doesNotMatch(deployed.log(service), /forbidden/);
  });

  it("ca comes back in an empty pod, and knows the mesh before it issues", { timeout: 180_000 }, async () => {
    await deployed.stop("ca");
    rmSync(join(directory, "ca"), { recursive: true });
    const before = deployed.log("ca").length;
    await deployed.startService("ca");
    const issues = () => deployed.log("ca").slice(before).includes("certificates issued");
    await until(issues, { withinMs: 60_000, what: "ca" });
    await deployed.allReady();
    const lines = deployed.log("ca").slice(before);
    const heard = lines.indexOf("trust domain taken from the mesh");
    assert.ok(heard >= 0 && heard < lines.indexOf("certificates issued"), lines);
  });
});
