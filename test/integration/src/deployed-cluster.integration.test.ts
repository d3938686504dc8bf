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
import { startDeployedConsole } from "./transport/deployed-console.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);

describe("the deployment in a cluster", { skip: server === undefined && whyNoApiserver }, () => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-cluster-"));
  const stop = new AbortController();
  let cluster: Cluster;
  let deployed: Deployed;
  let mounting: Promise<void> = Promise.resolve();

  before(async () => {
    assert.ok(server !== undefined);
    cluster = new Cluster(server, directory);
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

  it("pages open to operators' tokens of the cluster, for accounts of the control plane", async () => {
    await cluster.createAccount("istio-system", "operator");
    await cluster.createAccount("shop", "operator");
    const audience = ["flotilla-api"];
    const [own, foreign] = [
      await cluster.token("operator", audience),
      await cluster.token("operator", audience, "shop"),
    ];
    const forCertificates = await cluster.token("operator", ["istio-ca"]);
    const status = async (service: (typeof services)[number], token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch(`${deployed.pages(service)}/debug/settings`, { headers })).status;
    };
    for (const service of services) {
      const answers = [await status(service, own), await status(service, foreign), await status(service, "a.b.c")];
      assert.deepEqual([service, ...answers], [service, 200, 403, 401]);
      // xds-server takes the tokens of proxies on its pages, too, which show a proxy what is of its namespace.
      assert.deepEqual(
        [service, await status(service, forCertificates)],
        [service, service === "xds-server" ? 200 : 401],
      );
    }
  });

  it("the console is served with a certificate of ca, and shows every service to an operator of the cluster", async () => {
    await using console = await startDeployedConsole(directory, cluster, deployed);
    await cluster.createAccount("istio-system", "viewer");
    const anonymous = await console.ask("GET", "/api/v1/overview");
    assert.deepEqual([anonymous.status, anonymous.body.error.code], [401, "no-session"]);
    const token = await cluster.token("viewer", ["flotilla-api"]);
    const { status, body, cookie } = await console.ask("POST", "/api/v1/session", undefined, { token });
    assert.deepEqual([status, body.account, body.mayWrite], [201, "istio-system/viewer", false]);
    assert.match(cookie, /; Secure/);
    const session = cookie.split(";", 1)[0] ?? "";
    for (const path of ["overview", "changes", "objects", "certificates", "settings", "topology/namespaces"]) {
      const answer = await console.ask("GET", `/api/v1/${path}`, session);
      assert.deepEqual([path, answer.status, answer.body.away ?? []], [path, 200, []]);
    }
    const { body: overview } = await console.ask("GET", "/api/v1/overview", session);
    const states = overview.services.map(({ service, state }: Record<string, string>) => `${service} ${state}`);
    assert.deepEqual(states.sort(), services.map((name) => `${name} ready`).sort());
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
