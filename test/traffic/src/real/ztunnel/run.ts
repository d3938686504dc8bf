/**
 * `run.ts`, within a network namespace of its own: the control plane, pods with a real ztunnel each, and what their workloads can
 * call. Prints a JSON line for each check: its name, and its failure if it failed.
 */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { until } from "@flotilla/runtime";
import { writeWhole } from "../embedded.ts";
import { printOutcomes, ZtunnelLab } from "./lab.ts";
import * as mesh from "./mesh.ts";
import { makeBridge, startPod } from "./pods.ts";

const within = (what: string) => ({ withinMs: 20_000, what, everyMs: 20 });
makeBridge();
const lab = await ZtunnelLab.start({
  objects: mesh.base,
  settings: { PILOT_ENABLE_AMBIENT: "true", AMBIENT_ENABLE_DRY_RUN_AUTHORIZATION_POLICY: "true" },
});
const [[sleep, ztunnel], [, ofWeb]] = await Promise.all([
  lab.startCaptured({ name: "sleep", address: mesh.sleepAddress, serviceAccount: "sleep" }),
  lab.startCaptured({ name: "web", address: mesh.webAddress, serviceAccount: "web" }),
]);
const outsider = lab.owned.use(await startPod({ name: "outsider", address: mesh.outsiderAddress, isCaptured: false }));

const bySleep =
  /(?=.*connection_security_policy="mutual_tls").*source_principal="spiffe:\/\/cluster\.local\/ns\/shop\/sa\/sleep"/;
const encrypted = () => ofWeb.metric("istio_tcp_connections_opened_total", bySleep);
/** Of the resources that the ztunnel of sleep has been sent. */
const bytes = () => ztunnel.metric("istio_xds_message_bytes_total");
const streams = () => ztunnel.log().split("Stream established").length - 1;
const policyNames = async () => (await ztunnel.dump()).policies.map(({ name }) => name).sort();
const uids = async () => (await ztunnel.dump()).workloads.map(({ uid }) => uid).sort();
const uid = (name: string) => `Kubernetes//Pod/shop/${name}`;

/** Writes an object for the time of the checks, which wait until it has taken effect; resolves when its effect has ended. */
async function withObject(yaml: string, checks: () => Promise<void>, lifted: () => Promise<boolean>): Promise<void> {
  const file = join(lab.config, "extra.yaml");
  writeWhole(file, yaml);
  try {
    await checks();
  } finally {
    rmSync(file);
  }
  await until(lifted, within("the object to be lifted"));
}

/** Resolves to the time that it took. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return Math.round(performance.now() - start);
}

const isServed = async () => (await sleep.call(mesh.vip, 80)) === "web";
const isRefused = async () => (await sleep.call(mesh.vip, 80)) === "closed";

/** Of a policy that comes, is enforced and goes, with the workload that it selects. */
async function bytesOfDeny(): Promise<number> {
  const before = await bytes();
  const selects = async () =>
    (await ztunnel.dump()).workloads.some(({ authorizationPolicies = [] }) => authorizationPolicies.length > 0);
  await withObject(
    mesh.denySleep,
    async () => {
      await until(isRefused, within("sleep to be denied"));
      await until(selects, within("the workload that the policy selects"));
    },
    async () => (await isServed()) && !(await selects()),
  );
  return (await bytes()) - before;
}

const checks: Readonly<Record<string, () => Promise<void>>> = {
  "a ztunnel has the mesh": async () => {
    const { services, workloads, policies } = await ztunnel.dump();
    assert.deepEqual(
      services.map(({ hostname, vips }) => [hostname, vips]),
      [["web.shop.svc.cluster.local", [`/${mesh.vip}`]]],
    );
    assert.deepEqual(workloads.map(({ uid: one, protocol }) => [one, protocol]).sort(), [
      [uid("sleep"), "HBONE"],
      [uid("web"), "HBONE"],
    ]);
    assert.deepEqual(policies, []);
  },
  "a service is called by its address and a pod by its own, over mutual TLS": async () => {
    const before = await encrypted();
    assert.equal(await sleep.call(mesh.vip, 80), "web");
    assert.equal(await sleep.call(mesh.vip, 90), "web");
    assert.equal(await sleep.call(mesh.webAddress, 8080), "web");
    await until(async () => (await encrypted()) === before + 3, within("three connections of sleep"));
    const { certificates } = await ztunnel.dump();
    const own = certificates.map(({ identity, state }) => `${identity} ${state}`);
    assert.deepEqual(own, ["spiffe://cluster.local/ns/shop/sa/sleep Available"]);
  },
  "STRICT refuses callers without an identity, and lets others pass": async () => {
    assert.equal(await outsider.call(mesh.webAddress, 8080), "web");
    const isOpen = async () => (await outsider.call(mesh.webAddress, 8080)) === "web";
    await withObject(
      mesh.strict,
      async () => {
        await until(async () => !(await isOpen()), within("plain text to be refused"));
        assert.equal(await sleep.call(mesh.vip, 80), "web");
      },
      isOpen,
    );
  },
  "a DENY by principal and port is enforced, on no other port, and lifted": async () => {
    let enforcedMs = 0;
    await withObject(
      mesh.denySleep,
      async () => {
        enforcedMs = await timed(() => until(isRefused, within("sleep to be denied")));
        assert.equal(await sleep.call(mesh.webAddress, 8080), "closed");
        assert.equal(await sleep.call(mesh.vip, 90), "web");
        assert.equal(await outsider.call(mesh.webAddress, 8080), "web");
        assert.deepEqual(await policyNames(), ["deny-sleep"]);
      },
      isServed,
    );
    process.stdout.write(`enforced after ${enforcedMs} ms\n`);
  },
  "a DENY of a dry run denies no caller": () =>
    withObject(
      mesh.tryDenySleep,
      async () => {
        await until(async () => (await policyNames()).length === 1, within("the policy"));
        assert.equal(await sleep.call(mesh.vip, 80), "web");
        await until(() => ofWeb.log().includes("dry-run: deny policy match"), within("the log of what it would deny"));
      },
      async () => (await policyNames()).length === 0,
    ),
  "an ALLOW on attributes that a ztunnel cannot see allows no caller": () =>
    withObject(mesh.allowGet, () => until(isRefused, within("sleep to be denied")).then(() => undefined), isServed),
  "a pod that is born is called, and one that goes is not": async () => {
    const file = join(lab.config, "born.yaml");
    writeWhole(file, mesh.podObject("born", mesh.bornAddress, "web"));
    await lab.startCaptured({ name: "born", address: mesh.bornAddress, serviceAccount: "web" });
    await until(async () => (await uids()).includes(uid("born")), within("the workload"));
    await until(async () => (await sleep.call(mesh.vip, 80)) === "born", within("a call of the new pod"));
    rmSync(file);
    await until(async () => !(await uids()).includes(uid("born")), within("the end of the workload"));
    for (let call = 0; call < 10; call++) assert.equal(await sleep.call(mesh.vip, 80), "web");
  },
  "a control plane that restarts sends nothing again, then what changes": async () => {
    const opened = streams();
    const change = await bytesOfDeny();
    let held = 0;
    await lab.restartPlane(async () => {
      assert.equal(await sleep.call(mesh.vip, 80), "web");
      held = await bytes();
    });
    await until(() => streams() > opened, within("the next stream"));
    assert.equal(await bytesOfDeny(), change);
    assert.equal(await bytes(), held + change);
  },
};

await printOutcomes(checks);
await lab[Symbol.asyncDispose]();
process.exit(0);
