/**
 * A real Prometheus scrapes a running mesh: every panel of our dashboard and every query of Istio's pilot dashboard that can have data here
 * has some, nothing fires while nothing is wrong, and every alert is fired by a real fault.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { whyNoApiserver } from "@flotilla/kube-api/testing";
import { delay, until } from "@flotilla/runtime";
import { admit, badRoute, pod } from "./observability/admission-calls.ts";
import { type Fault, faults } from "./observability/faults.ts";
import { notApplicable, pilotQueries } from "./observability/pilot-dashboard.ts";
import { whyNoPrometheus } from "./observability/prometheus.ts";
import { route, startWatchedMesh, type WatchedMesh } from "./observability/watched-mesh.ts";

const dashboard = fileURLToPath(new URL("../../../k8s/observability/dashboard.json", import.meta.url));
const soon = (what: string) => ({ withinMs: 90_000, what, everyMs: 250 });

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}
const panels = (JSON.parse(readFileSync(dashboard, "utf8")) as Dashboard).panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => ({ title, expression: expr.replaceAll("$__rate_interval", "1m") })),
);

if (whyNoPrometheus !== false) process.stdout.write(`SKIPPED: ${whyNoPrometheus}\n`);

describe("a mesh that Prometheus watches", { skip: whyNoPrometheus }, () => {
  let mesh: WatchedMesh;

  before(
    async () => {
      mesh = await startWatchedMesh();
    },
    { timeout: 300_000 },
  );
  after(() => mesh?.[Symbol.asyncDispose]());

  const hasData = async (expression: string) => (await mesh.prometheus.query(expression)).length > 0;

  it("fires no alert while nothing is wrong, but that of a root of 20 days", async () => {
    const isScraped = async () => (await mesh.prometheus.query("count(up == 1) >= 7")).length > 0;
    await until(isScraped, soon("all targets to be scraped"));
    const areOthersQuiet = async () => {
      const firing = await mesh.prometheus.firing();
      return firing.has("FlotillaRootExpires") && !firing.has("FlotillaServiceMissing");
    };
    await until(areOthersQuiet, soon("the first scrapes to be evaluated"));
    await delay(5_000);
    const problems = mesh.plane.services.map(async ({ name, healthUrl }) => {
      return `${name}: ${await (await fetch(`${healthUrl}/debug/problems`)).text()}`;
    });
    assert.deepEqual(
      [...(await mesh.prometheus.firing())],
      ["FlotillaRootExpires"],
      (await Promise.all(problems)).join("\n"),
    );
  });

  describe("where something happens", { timeout: 180_000 }, () => {
    before(async () => {
      const { plane, apiserver } = mesh;
      mesh.write("refused", badRoute);
      const routes = "/apis/networking.istio.io/v1/namespaces/cluster/virtualservices";
      await apiserver?.api.create(routes, route("1s", "cluster"));
      for (const second of ["2s", "3s", "4s"]) {
        mesh.write("route", route(second));
        assert.equal(await admit(plane, "/validate", route("1s")), true);
        assert.equal(await admit(plane, "/validate", badRoute), false);
        assert.equal(await admit(plane, "/inject", pod()), true);
        await until(() => hasData(`flotilla_config_published_total{op="put"}`), soon("a published change"));
      }
    });

    for (const { title, expression } of panels)
      it(`the panel ${title} has data: ${expression}`, async () => {
        await until(() => hasData(expression), soon(expression));
      });
    for (const { title, expression, needsCluster } of pilotQueries)
      it(`the panel ${title} of Istio's pilot dashboard has data: ${expression}`, async (t) => {
        if (needsCluster && mesh.apiserver === undefined) return t.skip(whyNoApiserver);
        await until(() => hasData(expression), soon(expression));
      });
    it("the queries of Istio's pilot dashboard are 23", () => {
      assert.equal(pilotQueries.length + Object.keys(notApplicable).length, 23);
    });
  });

  describe("an alert fires by a real fault:", { timeout: 400_000 }, () => {
    const fires = (alert: string) => until(async () => (await mesh.prometheus.firing()).has(alert), soon(alert));
    for (const { name, alerts, needsCluster, cause } of faults satisfies readonly Fault[])
      it(`${name}: ${alerts.join(", ")}`, async (t) => {
        if (needsCluster && mesh.apiserver === undefined) return t.skip(whyNoApiserver);
        await using _repaired = await cause(mesh);
        for (const alert of alerts) await fires(alert);
      });
  });
});
