/**
 * `networks-run.ts`, within a network namespace of its own: two clusters with a control plane and a network each. A ztunnel of one calls a
 * service of the other, through a real Envoy as its east-west gateway. Prints a JSON line for each check: its name, and its failure if it failed.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { startProxy } from "@flotilla/cli/testing";
import type { EnvoyNode } from "@flotilla/dataplane";
import { until } from "@flotilla/runtime";
import { writeWhole } from "../embedded.ts";
import { printOutcomes, ZtunnelLab } from "./lab.ts";
import { sleepAddress, vip, webAddress } from "./mesh.ts";
import {
  denySleepAtGateway,
  first,
  gatewayAccount,
  gatewayLabels,
  meshConfig,
  second,
  tlsHost,
  tlsPort,
} from "./networks-mesh.ts";
import { bridgeAddress, makeBridge } from "./pods.ts";

const within = (what: string) => ({ withinMs: 20_000, what, everyMs: 20 });
const settings = { PILOT_ENABLE_AMBIENT: "true", AMBIENT_ENABLE_MULTI_NETWORK: "true" };
makeBridge();
const calling = await ZtunnelLab.start({ objects: first, settings, meshConfig });
const called = await ZtunnelLab.start({
  ...{ objects: second, settings, meshConfig },
  ...{ discoveryPort: 15013, trusting: calling },
});
const gateway: EnvoyNode = {
  ...{ type: "waypoint", name: "ew", namespace: "istio-system", address: bridgeAddress },
  serviceAccount: gatewayAccount,
  labels: gatewayLabels,
  metadata: { NETWORK: "net2", REQUESTED_NETWORK_VIEW: "net2" },
};
const envoy = await startProxy(process.env["ENVOY_BIN"] ?? "", gateway, called.plane.layout, called.owned, true);
const [[sleep, ofSleep], [, ofWeb]] = await Promise.all([
  calling.startCaptured({ name: "sleep", address: sleepAddress, serviceAccount: "sleep", network: "net1" }),
  called.startCaptured({ name: "web", address: webAddress, serviceAccount: "web", network: "net2" }),
]);
await envoy.ready(60_000);

/** Connections over mutual TLS that the ztunnel of web took from an account. */
const opened = (account: string) =>
  ofWeb.metric(
    "istio_tcp_connections_opened_total",
    new RegExp(`source_principal="spiffe://cluster.local/ns/${account}".*connection_security_policy="mutual_tls"`),
  );
const isServed = async () => (await sleep.call(vip, 80)) === "web";

await printOutcomes({
  "a ztunnel knows the service behind the gateway, and no pod of the other network": async () => {
    const uids = (await ofSleep.dump()).workloads.map(({ uid }) => uid);
    assert.deepEqual(uids.toSorted(), [
      "Kubernetes//Pod/shop/sleep",
      `NetworkGateway/net2/${bridgeAddress}/15008`,
      `net2/SplitHorizonWorkload/istio-system/ew/${bridgeAddress}/shop/web.shop.svc.cluster.local`,
    ]);
  },
  "a service of the other network is called through its gateway, with the caller's identity": async () => {
    await until(isServed, within("a call through the gateway"));
    assert.equal(await sleep.call(vip, 90), "web");
    await until(async () => (await opened("shop/sa/sleep")) > 0, within("the caller"));
  },
  "TLS goes through the gateway by its server name, in a tunnel with the identity of the gateway": async () => {
    const socket = connect({ host: bridgeAddress, port: tlsPort, servername: tlsHost });
    // The pod speaks no TLS, and its answer comes back.
    await assert.rejects(once(socket, "secureConnect"), /wrong version number|packet length too long/);
    await until(async () => (await opened(`istio-system/sa/${gatewayAccount}`)) > 0, within("the gateway"));
  },
  "a policy of the gateway denies a caller, and is lifted": async () => {
    const file = join(called.config, "extra.yaml");
    writeWhole(file, denySleepAtGateway);
    await until(async () => !(await isServed()), within("sleep to be denied"));
    rmSync(file);
    await until(isServed, within("the policy to be lifted"));
  },
});
await called[Symbol.asyncDispose]();
await calling[Symbol.asyncDispose]();
process.exit(0);
