/** ztunnels of an ambient mesh over real NATS and Redis: what is sent when pods come, change and go, and after a lost stream. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { until } from "@flotilla/runtime";
import { startRedis } from "@flotilla/servers";
import { ZtunnelClient } from "./ambient/ztunnel-client.ts";
import { startFleet } from "./clusters/fleet.ts";

const ambient = { PILOT_ENABLE_AMBIENT: "true" };
const host = "shop/web.shop.svc.cluster.local";
const uid = (name: string) => `Kubernetes//Pod/shop/${name}`;
const soon = (what: string) => ({ withinMs: 60_000, what });

const service = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.96.0.1, ports: [{name: http, port: 80, targetPort: 8080}], selector: {app: web}}
`;

function pod(name: string, address: string, nodeName = "n1"): string {
  return `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: shop, labels: {app: web}, annotations: {ambient.istio.io/redirection: enabled}}
spec: {nodeName: ${nodeName}, serviceAccountName: web}
status: {phase: Running, podIP: ${address}, conditions: [{type: Ready, status: "True"}]}
`;
}

describe("an ambient mesh", () => {
  const owned = new AsyncDisposableStack();
  const work = mkdtempSync(join(tmpdir(), "flotilla-ambient-"));
  const directory = join(work, "objects");
  let everything: ZtunnelClient;
  let onDemand: ZtunnelClient;
  /** Files are put in place at once: readers never see a half. */
  const write = (name: string, text: string) => {
    writeFileSync(join(work, name), text);
    renameSync(join(work, name), join(directory, `${name}.yaml`));
  };
  const remove = (name: string) => rmSync(join(directory, `${name}.yaml`));

  before(async () => {
    owned.defer(() => rmSync(work, { recursive: true, force: true }));
    mkdirSync(directory);
    write("service", service);
    for (let index = 0; index < 20; index++) write(`p${index}`, pod(`p${index}`, `10.0.0.${index + 1}`));
    write("near", pod("near", "10.0.2.1", "n2"));
    const redis = owned.use(await startRedis({ directory: join(work, "redis"), env: process.env }));
    const fleet = owned.use(await startFleet({ ...ambient, STORE_URL: redis.url }));
    await fleet.startServiceController("registry", { ...ambient, CONFIG_DIR: directory });
    everything = owned.use(new ZtunnelClient(fleet.xdsAddress, typeUrl.address));
    await until(() => everything.held.length === 22, soon("the first answer"));
    const names = ["/10.0.0.1", "/10.0.9.9"];
    onDemand = owned.use(new ZtunnelClient(fleet.xdsAddress, typeUrl.address, names, { nodeName: "n2" }));
    await until(() => onDemand.updates.length === 1, soon("the answer to names"));
  });
  after(() => owned.disposeAsync());

  it("names are answered with what they stand for and the pods of the node, and unknown ones as removed", () => {
    const [first] = onDemand.updates;
    assert.deepEqual(first, [uid("near"), uid("p0"), "-/10.0.9.9"]);
    assert.deepEqual(
      everything.held.filter((name) => name.startsWith("shop/")),
      [host],
    );
  });

  it("a pod that changes is one workload on the wire, for those who have it", async () => {
    everything.forget();
    onDemand.forget();
    write("p7", pod("p7", "10.0.1.7"));
    await until(() => everything.updates.length > 0, soon("the change"));
    write("p0", pod("p0", "10.0.0.1").replace("serviceAccountName: web", "serviceAccountName: other"));
    await until(() => onDemand.updates.length > 0, soon("the change of a name that was asked for"));
    await until(() => everything.updates.length > 1, soon("the second change"));
    assert.deepEqual(everything.updates, [[uid("p7")], [uid("p0")]]);
    assert.deepEqual(onDemand.updates, [[uid("p0")]]);
  });

  it("pods are born and die one by one", async () => {
    everything.forget();
    onDemand.forget();
    write("born", pod("born", "10.0.9.9"));
    await until(() => onDemand.updates.length > 0 && everything.updates.length > 0, soon("the birth"));
    remove("born");
    await until(() => onDemand.updates.length > 1 && everything.updates.length > 1, soon("the death"));
    for (const client of [everything, onDemand]) assert.deepEqual(client.updates, [[uid("born")], [`-${uid("born")}`]]);
  });

  it("a stream that was lost is sent nothing again", async () => {
    everything.forget();
    const { opened } = everything;
    everything.disconnect();
    await until(() => everything.opened > opened, soon("the next stream"));
    write("p3", pod("p3", "10.0.1.3"));
    await until(() => everything.updates.length > 0, soon("the change"));
    assert.deepEqual(everything.updates, [[uid("p3")]]);
  });
});
