/** The keeper of caBundles: nothing to do without a cluster or a root, and otherwise at work until the service stops. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { noopLogger } from "@flotilla/runtime";
import { readSettings } from "../settings.ts";
import { keepCaBundles } from "./keep-ca-bundles.ts";

const directory = mkdtempSync(join(tmpdir(), "keep-ca-bundles-"));
after(() => rmSync(directory, { recursive: true, force: true }));
/** Of a cluster that nothing listens at. */
const kubeconfig = join(directory, "kubeconfig");
writeFileSync(
  kubeconfig,
  JSON.stringify({
    ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
    clusters: [{ name: "c", cluster: { server: "http://127.0.0.1:1" } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    users: [{ name: "u", user: {} }],
  }),
);

function start(env: Readonly<Record<string, string>>) {
  const stop = new AbortController();
  const lines: string[] = [];
  const log = { ...noopLogger, info: (text: string) => void lines.push(text), child: () => noopLogger };
  const options = { version: "1", log, onAttempt: () => undefined };
  return { running: keepCaBundles(readSettings(env), options, stop.signal), stop, lines };
}

/** The lines that are logged until it ends by itself. */
async function ended(env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const { running, lines } = start(env);
  await running;
  return lines;
}

it("without a cluster there is nothing to do", async () =>
  assert.deepEqual(await ended({ CLUSTER_KUBECONFIG: "" }), []));

it("without a root that is ca's or named, caBundle is left alone, which is logged", async () => {
  const own = { TLS_CERT_FILE: join(directory, "cert.pem"), TLS_KEY_FILE: join(directory, "key.pem") };
  assert.deepEqual(await ended({ CLUSTER_KUBECONFIG: kubeconfig, ...own }), [
    "caBundle of webhook configurations is not filled in: set WEBHOOK_CA_BUNDLE_FILE",
  ]);
});

for (const [name, env] of [
  ["ca's root", {}],
  [
    "a root that is named",
    { WEBHOOK_CA_BUNDLE_FILE: join(directory, "root.pem"), TLS_CERT_FILE: "c", TLS_KEY_FILE: "k" },
  ],
] as const)
  it(`with ${name} it is at work until the service stops`, async () => {
    const { running, stop, lines } = start({ CLUSTER_KUBECONFIG: kubeconfig, ...env });
    const turns = async () => {
      for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
      return "at work";
    };
    assert.equal(await Promise.race([running, turns()]), "at work");
    stop.abort();
    await running;
    assert.ok(!lines.some((line) => line.includes("not filled in")));
  });
