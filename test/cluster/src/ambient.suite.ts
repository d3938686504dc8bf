/** An ambient mesh by docs/install/ambient.md: a namespace joins, is secured, gets a waypoint and leaves, under load. CLUSTER_AMBIENT has the data plane. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { hasNoEndingPods } from "./admission.ts";
import { besideGets, removeBeside, startBeside, webGetsBeside } from "./beside.ts";
import { untilReady } from "./control-plane.ts";
import { record, timed } from "./figures.ts";
import { provideImage } from "./images.ts";
import { notExecuted, repository, runSection } from "./install-page.ts";
import { inventory, newSince } from "./inventory.ts";
import { istioctl, noIstioctl } from "./istioctl.ts";
import { type Counts, counts, during, untilAnswered, web } from "./load.ts";
import { getJson, kubectl, run, statusSeenBy } from "./process.ts";
import { removeStranger, startStranger, strangerGets } from "./stranger.ts";

const image = "flotilla:0.1.0";
const minutes = 60_000;
const { CLUSTER_AMBIENT: dataPlane, CLUSTER_GATEWAY_API: gatewayApi } = process.env;
const skip =
  (dataPlane === undefined && "CLUSTER_AMBIENT names no command that installs Istio's CNI plugin and ztunnel") ||
  (gatewayApi === undefined && "CLUSTER_GATEWAY_API names no definitions of the Gateway API");
const waypointPods = "gateway.networking.k8s.io/gateway-name=waypoint";

describe("an ambient mesh on a cluster", { skip }, () => {
  let untouched: ReadonlySet<string> = new Set();

  before(
    async () => {
      await provideImage(repository, image);
      untouched = await inventory();
      await kubectl("apply", "--server-side", "-k", `${gatewayApi}`);
    },
    { timeout: 15 * minutes },
  );

  it("installs by the commands of the page, and both DaemonSets are ready", { timeout: 10 * minutes }, async () => {
    await timed("ambient control plane: `kubectl apply` to all available", () =>
      runSection("Ambient mesh/The control plane"),
    );
    await untilReady();
    await runSection("Ambient mesh/Sidecars in the same mesh");
    await timed("Istio's CNI plugin and ztunnel: installed and ready", () =>
      run("bash", ["-c", `${dataPlane} install`]),
    );
  });

  it("a namespace with sidecars becomes ambient under load, with strict mutual TLS", {
    timeout: 8 * minutes,
  }, async () => {
    await runSection("Kubernetes/A first workload");
    await kubectl("apply", "-f", "samples/kubernetes/strict.yaml");
    const before = await untilAnswered("an answer between sidecars", ({ last }) => last?.certificate !== undefined);
    await runSection("Ambient mesh/From sidecars");
    // Of the pod with a sidecar, which ends for half a minute.
    const ending = await counts();
    assert.ok(ending.failed <= before.failed, `${ending.failed} failed, ${before.failed} before: ${ending.reason}`);
    const { answered, failed, reason } = await untilWebIsNew("an answer", ({ last }) => last !== undefined);
    assert.deepEqual([failed, reason], [0, undefined]);
    record(
      "requests while sidecars are replaced by ztunnels",
      `${ending.answered - before.answered + answered}, none failed`,
    );
    for (const { metadata, spec } of await podsOfShop())
      assert.deepEqual([spec.containers.length, spec.initContainers, isServed(metadata)], [1, undefined, true]);
    await kubectl("delete", "namespace", "shop");
  });

  it("serves a workload that is not of the mesh yet", { timeout: 5 * minutes }, async () => {
    await runSection("Ambient mesh/A workload");
    await untilAnswered("an answer", ({ last }) => last !== undefined);
    await startStranger(image);
    assert.equal(await strangerGets(), "200");
  });

  it("takes its namespace in, and no pod restarts", { timeout: 5 * minutes }, async () => {
    const before = await namesOfPods();
    // The CNI plugin redirects a pod before its ztunnel listens: requests of that moment may fail, whatever the control plane does.
    const { answered, failed } = await during(() =>
      timed("label of the namespace to all pods served by ztunnel", async () => {
        await runSection("Ambient mesh/Into the mesh");
        await until(isCaptured, { withinMs: 60_000, what: "all pods to be served by ztunnel", everyMs: 100 });
      }),
    );
    record("requests while running pods join", `${answered} answered, ${failed} failed`);
    assert.deepEqual(await namesOfPods(), before);
    for (const { spec } of await podsOfShop()) assert.equal(spec.containers.length, 1, "no sidecar");
  });

  it("STRICT refuses a pod outside, until that is of the mesh, too", { timeout: 5 * minutes }, async () => {
    await runSection("Ambient mesh/Mutual TLS for all");
    await untilStranger("is refused", (answer) => answer !== "200");
    await untilWebIsNew("an answer over mutual TLS", ({ last }) => last !== undefined);
    const joining = await during(async () => {
      await kubectl("label", "namespace", "outside", "istio.io/dataplane-mode=ambient");
      await untilStranger("is answered", (answer) => answer === "200");
    });
    recordRequests("requests while another namespace joins", joining);
  });

  it("a pod with a sidecar calls the namespace, and is called by it", { timeout: 5 * minutes }, async () => {
    await startBeside(image);
    for (const [what, ask] of [
      ["an answer to the sidecar", besideGets],
      ["an answer of the sidecar", webGetsBeside],
    ] as const)
      await until(async () => (await ask()) === "200", { withinMs: 30_000, what, everyMs: 500 });
    await removeBeside();
  });

  it("a policy by identity refuses it again", { timeout: 5 * minutes }, async () => {
    const restricted = await during(async () => {
      await runSection("Ambient mesh/Who may call");
      await untilStranger("is refused", (answer) => answer !== "200");
    });
    recordRequests("requests while a policy about callers is added", restricted);
  });

  it("a waypoint applies a route, and a policy about methods", { timeout: 8 * minutes }, async () => {
    await runSection("Ambient mesh/A waypoint");
    const { failed, reason } = await untilWebIsNew("the route", ({ last }) => last?.route === "canary");
    assert.deepEqual([failed, reason], [0, undefined]);
    assert.equal(await webAsks("GET"), "200");
    assert.equal(await webAsks("POST"), "403");
    await untilStranger("is refused", (answer) => answer === "403");
  });

  it("istioctl finds the control plane, the waypoint and ztunnel", { skip: noIstioctl }, async () => {
    assert.match(await istioctl("version"), /control plane version: 0\.1\.0/);
    const proxies = await istioctl("proxy-status");
    for (const proxy of [/^waypoint-\S+\.shop /m, /^ztunnel-\S+\.istio-system /m]) assert.match(proxies, proxy);
    const services = await istioctl("ztunnel-config", "services");
    assert.match(services, /^shop +orders +\S+ +waypoint +2\/2/m);
  });

  it("pods come and go without a failed request", { timeout: 8 * minutes }, async () => {
    const scaled = await during(async () => {
      for (const replicas of [4, 1, 2]) {
        await kubectl("-n", "shop", "scale", "deployment/orders", `--replicas=${replicas}`);
        await kubectl("-n", "shop", "rollout", "status", "deployment/orders", "--timeout=180s");
      }
      await until(isCaptured, { withinMs: 60_000, what: "all pods to be served by ztunnel", everyMs: 500 });
    });
    recordRequests("requests while orders goes from 2 pods to 4, 1 and 2", scaled);
  });

  it("the control plane restarts, and requests go on", { timeout: 8 * minutes }, async () => {
    const restarted = await during(async () => {
      await kubectl(
        "-n",
        "istio-system",
        "rollout",
        "restart",
        "deployment",
        "-l",
        "app.kubernetes.io/part-of=flotilla",
      );
      await untilReady();
    });
    recordRequests("requests while the control plane restarts", restarted);
  });

  it("its waypoint goes without a failed request", { timeout: 5 * minutes }, async () => {
    await runSection("Ambient mesh/Without the waypoint");
    const isGone = async () => (await kubectl("-n", "shop", "get", "pods", "-l", waypointPods, "-o", "name")) === "";
    await until(isGone, { withinMs: 120_000, what: "no pod of the waypoint", everyMs: 500 });
    const { last, failed, reason } = await untilWebIsNew("an answer", ({ last }) => last !== undefined);
    assert.deepEqual([last?.route, failed, reason], [undefined, 0, undefined]);
  });

  it("a namespace leaves the mesh", { timeout: 5 * minutes }, async () => {
    // ztunnel closes the connections that it carries for a pod.
    const { answered, failed } = await during(async () => {
      await runSection("Ambient mesh/Out of the mesh");
      const isOut = async () => (await podsOfShop()).every(({ metadata }) => !isServed(metadata));
      await until(isOut, { withinMs: 60_000, what: "no pod to be served by ztunnel", everyMs: 500 });
    });
    record("requests while running pods leave", `${answered} answered, ${failed} failed`);
    await untilStranger("is answered", (answer) => answer === "200");
  });

  it("is removed by the commands of the page, and leaves nothing behind", { timeout: 10 * minutes }, async () => {
    await removeStranger();
    await run("bash", ["-c", `${dataPlane} remove`]);
    await runSection("Ambient mesh/Remove");
    await kubectl("delete", "--ignore-not-found", "-k", `${gatewayApi}`);
    assert.deepEqual(await newSince(untouched), []);
    const byCommands = ["The definitions of the Gateway API", "The data plane", "Remove the data plane"];
    const isMeant = (section: string) =>
      section.startsWith("Ambient mesh/") && !byCommands.some((name) => section.endsWith(`/${name}`));
    assert.deepEqual(notExecuted(isMeant), []);
  });
});

interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly spec: { readonly containers: readonly object[]; readonly initContainers?: readonly object[] };
}

/** Those of its workloads that do not end at the moment. */
async function podsOfShop(): Promise<readonly Pod[]> {
  const { items } = await getJson<{ readonly items: readonly Pod[] }>(
    "pods",
    "-n",
    "shop",
    "-l",
    "app in (web, orders)",
  );
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

async function namesOfPods(): Promise<readonly string[]> {
  return (await podsOfShop()).map(({ metadata }) => metadata.name).sort();
}

/** The agent of the CNI plugin notes on a pod that a ztunnel carries its traffic. */
function isServed({ annotations }: Pod["metadata"]): boolean {
  return annotations?.["ambient.istio.io/redirection"] === "enabled";
}

async function isCaptured(): Promise<boolean> {
  return (await podsOfShop()).every(({ metadata }) => isServed(metadata));
}

/** web was restarted: its new pod is the only one whose counters are read. */
async function untilWebIsNew(what: string, isSo: (counts: Counts) => boolean): Promise<Counts> {
  await until(() => hasNoEndingPods("shop"), { withinMs: 90_000, what: "the old pods to end", everyMs: 500 });
  return untilAnswered(what, isSo);
}

async function untilStranger(what: string, isSo: (answer: string) => boolean): Promise<void> {
  const look = async () => isSo(await strangerGets());
  await until(look, { withinMs: 60_000, what: `a caller of another namespace ${what}`, everyMs: 500 });
}

/** The status that a new connection of web's pod gets. */
function webAsks(method: string): Promise<string> {
  return statusSeenBy(web, "http://orders:8080/", method);
}

function recordRequests(what: string, { answered, failed, reason }: Counts): void {
  record(what, `${answered} answered, ${failed} failed`);
  assert.deepEqual([failed, reason], [0, undefined], what);
}
