/**
 * `KUBECONFIG=… node held-memory.ts LIST`: what a view of the cluster takes on the heap, against the own JSON of the objects on
 * the path LIST: without managedFields and what kubectl notes for itself. Prints both in bytes.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { listAll, loadKubeConfig, openKubeApi } from "@flotilla/kube-api";
import type { KubeObject } from "@flotilla/model";
import { noopLogger } from "@flotilla/runtime";
import { AggregateStore } from "../src/aggregate/aggregate-store.ts";
import { mergeSources } from "../src/aggregate/merge-sources.ts";
import { configAdmission } from "../src/watch/config-source.ts";
import { kubernetesConfig } from "../src/watch/kubernetes/kubernetes-source.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const config = await loadKubeConfig(process.env);
if (config === undefined) throw new Error("KUBECONFIG names no cluster");
const api = openKubeApi(config);
const [list = ""] = process.argv.slice(2);

async function ownBytes(): Promise<number> {
  const { objects } = await listAll<KubeObject>(api, list);
  return objects.reduce((sum, object) => {
    const { managedFields: _, ...metadata } = object.metadata as unknown as Record<string, unknown>;
    // Nor is what is reported about an object its own.
    return sum + Buffer.byteLength(JSON.stringify({ ...object, metadata, status: undefined }));
  }, 0);
}

/** Twice: objects finalized by the first collection are freed by the second. */
function heapBytes(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

/** The heap that is in use while a view with everything of the cluster is held. */
async function withView(scope: { readonly ignored: readonly string[] }): Promise<number> {
  const source = kubernetesConfig({
    ...{ api: openKubeApi(config as NonNullable<typeof config>), admission: configAdmission(), revision: "default" },
    ...{ log: noopLogger, nowMs: Date.now, random: Math.random, onProblems: () => undefined },
    scope: { namespaces: [], included: [], ...scope },
  });
  const stop = new AbortController();
  const store = new AggregateStore([source.name]);
  const groups = mergeSources([source], { store }, stop.signal);
  const first = await groups.next();
  if (first.done === true) throw new Error("the source ended");
  // As in the service: the loops wait for the next group.
  const next = groups.next();
  await new Promise((resolve) => setTimeout(resolve, 100));
  const bytes = heapBytes();
  // Held until here.
  if (store.counts().size === 0) throw new Error("the view is empty");
  stop.abort();
  await next;
  await source[Symbol.asyncDispose]();
  return bytes;
}

const own = await ownBytes();
// Once with everything, so that what is loaded and compiled on the way is in both.
await withView({ ignored: [] });
const without = await withView({ ignored: ["virtualservices.networking.istio.io"] });
const held = (await withView({ ignored: [] })) - without;
process.stdout.write(`${JSON.stringify({ own, held })}\n`);
process.exit(0);
