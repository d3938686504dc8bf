/** One pod through the webhook: an admission request in, the patch of its answer applied. */
import type { Pod } from "@flotilla/injection";
import { noProxyConfigs } from "@flotilla/model";
import { answerPod, type PatchOperation } from "@flotilla/webhook/inject";
import type { Json, Setting } from "./setting.ts";

/** Undefined when the answer has no patch. */
export function askWebhook(
  pod: Pod,
  namespace: string,
  namespaceAnnotations: Readonly<Record<string, string>>,
  { config, environment, mesh }: Setting,
): Pod | undefined {
  const request = {
    uid: "1",
    kind: { group: "", version: "v1", kind: "Pod" },
    namespace,
    name: "",
    operation: "CREATE",
    dryRun: false,
    object: pod as never,
  };
  const state = {
    config: () => config,
    environment,
    mesh: () => mesh,
    namespaceAnnotations: () => namespaceAnnotations,
    proxyConfigs: () => noProxyConfigs,
  };
  const { patch } = answerPod(state, request, "/inject");
  return patch === undefined ? undefined : (applyPatch(structuredClone(pod), patch) as Pod);
}

/** RFC 6902, as far as patches of pods use it: add, remove, replace. */
function applyPatch(document: unknown, operations: readonly PatchOperation[]): unknown {
  for (const operation of operations) {
    const path = operation.path
      .split("/")
      .slice(1)
      .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = path.pop() ?? "";
    const parent = path.reduce<unknown>((value, name) => (value as Json)[name], document) as Record<string, unknown>;
    if (Array.isArray(parent)) {
      const place = last === "-" ? parent.length : Number(last);
      if (operation.op === "remove") parent.splice(place, 1);
      else parent.splice(place, operation.op === "replace" ? 1 : 0, operation.value);
    } else if (operation.op === "remove") delete parent[last];
    else parent[last] = operation.value;
  }
  return document;
}
