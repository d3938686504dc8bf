/** The API server and the webhook together: injection, validation, their configurations, revision tags, and analysis of the cluster. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import {
  apiServerHas,
  bundlesOf,
  failurePolicies,
  hasNoEndingPods,
  injectedProxies,
  injectors,
  podsAreRefused,
  validators,
} from "./admission.ts";
import { untilReady } from "./control-plane.ts";
import { timed } from "./figures.ts";
import { provideImage } from "./images.ts";
import { notExecuted, repository, runSection } from "./install-page.ts";
import { inventory, newSince } from "./inventory.ts";
import { during, untilAnswered } from "./load.ts";
import { apply, kubectl, ProcessError, run } from "./process.ts";

const minutes = 60_000;
const gatewayApi = process.env["CLUSTER_GATEWAY_API"];
const webhook = ["-n", "istio-system", "deployment/flotilla-webhook"] as const;
const invalid = {
  ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService" },
  ...{ metadata: { name: "wrong", namespace: "shop" } },
  spec: { hosts: ["orders"], http: [{ route: [{ destination: { host: "orders" }, weight: -1 }] }] },
};

async function restartOrders(): Promise<void> {
  await kubectl("-n", "shop", "rollout", "restart", "deployment/orders");
  await kubectl("-n", "shop", "rollout", "status", "deployment/orders", "--timeout=180s");
}

async function scaleWebhook(replicas: number): Promise<void> {
  const [flag, namespace, deployment] = webhook;
  await kubectl(flag, namespace, "scale", deployment, `--replicas=${replicas}`);
  await kubectl(flag, namespace, "rollout", "status", deployment, "--timeout=180s");
  if (replicas > 0) return;
  const left = () => kubectl(flag, namespace, "get", "pods", "-l", "app=flotilla-webhook", "-o", "name");
  await until(async () => (await left()) === "", { withinMs: 60_000, what: "no webhook", everyMs: 500 });
}

/** Of Istio's kinds; the webhook of kinds that other controllers share stays open. */
const allFail = async (): Promise<boolean> => String(await failurePolicies(validators)) === "Fail,Ignore";

describe("admission on a cluster", () => {
  let untouched: ReadonlySet<string> = new Set();

  before(
    async () => {
      await provideImage(repository, "flotilla:0.1.0");
      untouched = await inventory();
      if (gatewayApi !== undefined) await kubectl("apply", "--server-side", "-k", gatewayApi);
      await runSection("Kubernetes/Install");
      await untilReady();
      await runSection("Kubernetes/A first workload");
    },
    { timeout: 20 * minutes },
  );

  it("injects native sidecars, which call each other with certificates", { timeout: 3 * minutes }, async () => {
    const { last } = await untilAnswered("an answer", ({ last }) => last !== undefined);
    assert.match(last?.certificate ?? "", /By=spiffe:\/\/cluster\.local\/ns\/shop\/sa\/orders/);
    assert.match(last?.certificate ?? "", /URI=spiffe:\/\/cluster\.local\/ns\/shop\/sa\/web/);
    for (const { isNative } of await injectedProxies("shop")) assert.ok(isNative, "the nodes are 1.33 or newer");
  });

  it("writes the root into every configuration, also after somebody changed it", { timeout: 3 * minutes }, async () => {
    const root = await kubectl(...["-n", "istio-system", "get", "configmap", "istio-ca-root-cert"], ...rootPath);
    const expected = Buffer.from(root).toString("base64");
    for (const kind of [injectors, validators]) assert.deepEqual([...new Set(await bundlesOf(kind))], [expected]);
    const wrong = `[{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":"${Buffer.from(root.slice(0, -2)).toString("base64")}"}]`;
    await timed("caBundle: changed to written again", async () => {
      await kubectl("patch", injectors, "flotilla-sidecar-injector", "--type=json", `-p=${wrong}`);
      const isBack = async () => (await bundlesOf(injectors)).every((bundle) => bundle === expected);
      await until(isBack, { withinMs: 30_000, what: "the root", everyMs: 200 });
    });
  });

  it("validation fails closed only once an invalid object was refused", { timeout: 5 * minutes }, async () => {
    await until(allFail, { withinMs: 60_000, what: "failurePolicy Fail", everyMs: 500 });
    await scaleWebhook(0);
    assert.match(await apiServerHas(invalid), /failed calling webhook/);
    assert.ok(await podsAreRefused("shop"), "an uninjected pod would be outside of the mesh");
    const open = '[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]';
    await kubectl("patch", validators, "flotilla-validator", "--type=json", `-p=${open}`);
    const valid = { ...invalid, spec: { hosts: ["orders"], http: [{ route: [{ destination: { host: "orders" } }] }] } };
    await until(async () => (await apiServerHas(valid)) === "", {
      ...{ withinMs: 30_000, what: "an object that passes without validation", everyMs: 500 },
    });
    assert.deepEqual(await failurePolicies(validators), ["Ignore", "Ignore"]);
    await scaleWebhook(2);
    await timed("webhook back to failurePolicy Fail", () =>
      until(allFail, { withinMs: 60_000, what: "failurePolicy Fail again", everyMs: 200 }),
    );
    assert.match(await apiServerHas(invalid), /denied the request.*weight|Invalid value/s);
  });

  it("the webhook killed and back: running pods go on, new ones are injected", { timeout: 5 * minutes }, async () => {
    const { failed, reason } = await during(async () => {
      const forced = ["--grace-period=0", "--force"];
      await kubectl("-n", "istio-system", "delete", "pod", "-l", "app=flotilla-webhook", ...forced);
      await timed("webhook killed to a new pod injected", async () => {
        await until(async () => !(await podsAreRefused("shop")), {
          ...{ withinMs: 120_000, what: "a pod that is taken", everyMs: 500 },
        });
      });
      await untilReady();
      await restartOrders();
    });
    assert.deepEqual([failed, reason], [0, undefined]);
    assert.ok((await injectedProxies("shop")).length >= 3);
  });

  it("a ProxyConfig holds for pods that are made after it", { timeout: 5 * minutes }, async () => {
    const spec = { concurrency: 1, environmentVariables: { SEEN_BY: "a-proxy-config" } };
    const metadata = { name: "orders", namespace: "shop" };
    await apply([{ apiVersion: "networking.istio.io/v1beta1", kind: "ProxyConfig", metadata, spec }]);
    await until(
      async () => {
        await restartOrders();
        const proxies = await injectedProxies("shop", "app=orders");
        return proxies.every(({ env }) => env["SEEN_BY"] === "a-proxy-config");
      },
      { withinMs: 120_000, what: "its variable in the proxies of orders", everyMs: 1000 },
    );
    for (const { env } of await injectedProxies("shop", "app=orders"))
      assert.match(env["PROXY_CONFIG"] ?? "", /"concurrency":1/);
  });

  const skip = gatewayApi === undefined && "CLUSTER_GATEWAY_API names no definitions of the Gateway API";
  it("and for Gateways that are deployed", { skip, timeout: 5 * minutes }, async () => {
    const listeners = [{ name: "http", port: 80, protocol: "HTTP" }];
    const gateway = { apiVersion: "gateway.networking.k8s.io/v1", kind: "Gateway" };
    const metadata = {
      name: "front",
      namespace: "shop",
      annotations: { "networking.istio.io/service-type": "ClusterIP" },
    };
    await apply([{ ...gateway, metadata, spec: { gatewayClassName: "istio", listeners } }]);
    const deployment = "deployment/front-istio";
    const isThere = () => kubectl("-n", "shop", "get", deployment, "--ignore-not-found", "-o", "name");
    await until(async () => (await isThere()) !== "", { withinMs: 60_000, what: deployment, everyMs: 500 });
    await kubectl("-n", "shop", "rollout", "status", deployment, "--timeout=180s");
    const proxies = await injectedProxies("shop", "gateway.networking.k8s.io/gateway-name=front");
    assert.deepEqual(
      proxies.map(({ env }) => env["SEEN_BY"]),
      ["a-proxy-config"],
    );
    await kubectl("-n", "shop", "delete", "gateways.gateway.networking.k8s.io", "front");
  });

  it("analysis of the cluster finds a planted mistake, and nothing once it is corrected", {
    timeout: 3 * minutes,
  }, async () => {
    const destination = { destination: { host: "odrers" } };
    const planted = { ...invalid, metadata: { name: "planted", namespace: "shop" } };
    await apply([{ ...planted, spec: { hosts: ["orders"], http: [{ route: [destination] }] } }]);
    await assert.rejects(flotilla("analyze", "--kube", "-n", "shop"), (error) => {
      assert.ok(error instanceof ProcessError);
      assert.match(
        error.output,
        /VirtualService shop\/planted: .*host odrers does not exist: is orders meant\? \[IST0101\]/,
      );
      return true;
    });
    await kubectl("-n", "shop", "delete", "virtualservice", "planted");
    await flotilla("analyze", "--kube", "-n", "shop");
  });

  it("upgrades by a revision tag, and back", { timeout: 15 * minutes }, async () => {
    // Two control planes on one small node.
    await kubectl("-n", "istio-system", "set", "resources", "deployment", "--all", "--requests=cpu=20m");
    await untilReady();
    const revisions = async () => [...new Set((await injectedProxies("shop")).map(({ revision }) => revision))];
    await runSection("Upgrade by a revision tag/The tag");
    assert.deepEqual(await revisions(), ["default"]);
    // Counters are of one pod, and the old pod is called until it is gone.
    await until(() => hasNoEndingPods("shop"), { withinMs: 90_000, what: "the old pods to end", everyMs: 500 });
    const { failed, reason } = await during(() =>
      timed("second revision: `helm install --wait`", () => runSection("Upgrade by a revision tag/A second revision")),
    );
    assert.deepEqual([failed, reason], [0, undefined]);
    await timed("tag led over: all pods of shop rolled out", () =>
      runSection("Upgrade by a revision tag/Lead the tag over"),
    );
    assert.deepEqual(await revisions(), ["canary"]);
    await untilAnswered("an answer", ({ last }) => last?.certificate?.includes("sa/web") === true);
    const empty = '[{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":""}]';
    await kubectl("patch", injectors, "istio-revision-tag-prod", "--type=json", `-p=${empty}`);
    const isBack = async () => (await bundlesOf(injectors)).every((bundle) => bundle !== "");
    await until(isBack, { withinMs: 30_000, what: "the root in the tag's configuration", everyMs: 200 });
    await runSection("Upgrade by a revision tag/Back, and remove");
    assert.deepEqual(await revisions(), ["default"]);
  });

  it("leaves nothing behind", { timeout: 10 * minutes }, async () => {
    await runSection("Kubernetes/Remove");
    if (gatewayApi !== undefined) await kubectl("delete", "--ignore-not-found", "-k", gatewayApi);
    assert.deepEqual(await newSince(untouched), []);
    assert.deepEqual(
      notExecuted((section) => section.startsWith("Upgrade by a revision tag/")),
      [],
    );
  });
});

const rootPath = ["-o", "jsonpath={.data.root-cert\\.pem}"];

function flotilla(...args: readonly string[]): Promise<string> {
  return run(process.execPath, [join(repository, "packages/cli/bin/flotilla.mjs"), ...args]);
}
