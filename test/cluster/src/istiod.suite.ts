/** Beside an istiod and in its place, and back, by docs/install/beside-istiod.md and takeover.md. CLUSTER_ISTIO installs and removes the istiod. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { record, timed } from "./figures.ts";
import { provideImage } from "./images.ts";
import { notExecuted, repository, runSection } from "./install-page.ts";
import { inventory, newSince } from "./inventory.ts";
import { during, untilAnswered } from "./load.ts";
import { getJson, kubectl, run } from "./process.ts";

const command = process.env["CLUSTER_ISTIO"];
const minutes = 60_000;
const skip = command === undefined && "CLUSTER_ISTIO names no command that installs an istiod";

interface Proxies {
  readonly items: readonly {
    readonly metadata: { readonly deletionTimestamp?: string };
    readonly spec: {
      readonly initContainers?: readonly Container[];
      readonly containers: readonly Container[];
    };
  }[];
}
interface Container {
  readonly name: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}

/** Addresses from which the proxies of shop have their certificates. */
async function authorities(): Promise<readonly string[]> {
  const { items } = await getJson<Proxies>("pods", "-n", "shop", "--field-selector=status.phase=Running");
  const staying = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const proxies = staying.flatMap(({ spec }) => [...(spec.initContainers ?? []), ...spec.containers]);
  const values = proxies.filter(({ name }) => name === "istio-proxy").flatMap(({ env = [] }) => env);
  return [...new Set(values.filter(({ name }) => name === "CA_ADDR").map(({ value = "" }) => value))];
}

async function restartOrders(): Promise<void> {
  await kubectl("-n", "shop", "rollout", "restart", "deployment/orders");
  await kubectl("-n", "shop", "rollout", "status", "deployment/orders", "--timeout=180s");
}

/** A change that is made now is in force on web's proxy. */
async function routeArrives(value: string): Promise<void> {
  const patch = `[{"op":"replace","path":"/spec/http/0/headers/response/set/x-route","value":"${value}"}]`;
  await kubectl("-n", "shop", "patch", "virtualservice", "orders", "--type=json", `-p=${patch}`);
  await untilAnswered(`the route ${value}`, ({ last }) => last?.route === value);
}

describe("Flotilla and an istiod", { skip }, () => {
  let withIstiod: ReadonlySet<string> = new Set();

  before(
    async () => {
      await provideImage(repository, "flotilla:0.1.0");
      await run("bash", ["-c", `${command} install`]);
      await runSection("Kubernetes/A first workload");
      await untilAnswered("an answer by istiod's configuration", ({ last }) => last !== undefined);
      await runSection("Kubernetes/A route, and mutual TLS for all");
      await untilAnswered("the route", ({ last }) => last?.route === "canary");
      withIstiod = await inventory();
    },
    { timeout: 20 * minutes },
  );
  after(
    async () => {
      await kubectl("delete", "namespace", "shop", "--ignore-not-found");
      await run("bash", ["-c", `${command} remove`]);
    },
    { timeout: 10 * minutes },
  );

  it("beside it: a namespace moves over and back, and both call each other", { timeout: 15 * minutes }, async () => {
    const moved = await during(async () => {
      await runSection("Beside an istiod/One root for both");
      await runSection("Beside an istiod/Install");
    });
    assert.equal(moved.failed, 0, "istiod's own mesh goes on");
    await restartOrders();
    assert.deepEqual(await authorities(), ["istiod.istio-system.svc:15012"], "what is not moved is istiod's");
    await runSection("Beside an istiod/Move a namespace over");
    assert.deepEqual(await authorities(), ["flotilla-ca.flotilla-system.svc:15013"]);
    await untilAnswered("an answer", ({ last }) => last?.certificate?.includes("sa/web") === true);
    await routeArrives("beside");
    await runSection("Beside an istiod/Move it back");
    assert.deepEqual(await authorities(), ["istiod.istio-system.svc:15012"]);
    await runSection("Beside an istiod/Remove");
    await routeArrives("alone");
    assert.deepEqual(await leftovers(withIstiod), []);
  });

  it("in its place: no request fails on the way there and back", { timeout: 20 * minutes }, async () => {
    await timed("takeover: started beside istiod", () => runSection("In the place of an istiod/Start"));
    const there = await during(async () => {
      await runSection("In the place of an istiod/Switch over");
      await untilGone("app=istiod,istio=pilot");
      await routeArrives("taken over");
      await restartOrders();
    });
    record("requests during the takeover", `${there.answered} answered, ${there.failed} failed`);
    const back = await during(async () => {
      await runSection("In the place of an istiod/Switch back");
      await runSection("In the place of an istiod/Remove");
      await routeArrives("back");
      await restartOrders();
    });
    record("requests on the way back to istiod", `${back.answered} answered, ${back.failed} failed`);
    assert.deepEqual([there.failed, back.failed], [0, 0]);
    assert.deepEqual(await leftovers(withIstiod), []);
    assert.deepEqual(
      notExecuted((section) => section.includes("an istiod/")),
      [],
    );
  });
});

/** Not those of workloads that were restarted, nor the pod of istiod that came back. */
async function leftovers(before: ReadonlySet<string>): Promise<readonly string[]> {
  return (await newSince(before)).filter((line) => !/ shop |^Pod istio-system istiod-/.test(line));
}

async function untilGone(selector: string): Promise<void> {
  const left = async () => (await kubectl("-n", "istio-system", "get", "pods", "-l", selector, "-o", "name")).trim();
  await until(async () => (await left()) === "", { withinMs: 120_000, what: `no pods of ${selector}`, everyMs: 1000 });
}
