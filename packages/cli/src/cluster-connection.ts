/** A control plane in a cluster: ports of this host that lead to the pages of its pods, in place of `--url`. */
import { defaultPorts } from "@flotilla/runtime";
import { CliError } from "./errors.ts";

/** By the label `app.kubernetes.io/name` of the pods. */
const pagePorts: Readonly<Record<string, number>> = {
  "flotilla-ca": defaultPorts.ca.health,
  "flotilla-config-controller": defaultPorts.configController.health,
  "flotilla-service-controller": defaultPorts.serviceController.health,
  "flotilla-xds-server": defaultPorts.xdsServer.health,
  "flotilla-webhook": defaultPorts.webhook.health,
};

export interface ReachableOptions extends AsyncDisposable {
  readonly options: Readonly<Record<string, unknown>>;
}

/** With `--context` the options have a URL for each pod of the control plane. @throws CliError; KubeError */
export async function reachCluster(options: Readonly<Record<string, unknown>>): Promise<ReachableOptions> {
  const { context, kubeconfig, meshNamespace: namespace, url } = options;
  if (typeof context !== "string" || typeof namespace !== "string")
    return { options, [Symbol.asyncDispose]: async () => undefined };
  if (Array.isArray(url) && url.length > 0)
    throw new CliError("CLI_USAGE", "--context and --url name two control planes: give one of them");
  // Loaded for clusters only: it takes a second.
  const { forwardPods } = await import("@flotilla/kube-api");
  const file = typeof kubeconfig === "string" ? kubeconfig : undefined;
  const target = { namespace, labels: "app.kubernetes.io/part-of=flotilla", ports: pagePorts };
  const forwarded = await forwardPods({ file, context }, target);
  if (forwarded.pods.length === 0) {
    await forwarded[Symbol.asyncDispose]();
    throw new CliError("CLI_NOT_RUNNING", `no pod of a control plane runs in namespace ${namespace} of ${context}`);
  }
  const urls = forwarded.pods.map(({ app, port }) => `${app.replace(/^flotilla-/, "")}=http://127.0.0.1:${port}`);
  return { options: { ...options, url: urls }, [Symbol.asyncDispose]: () => forwarded[Symbol.asyncDispose]() };
}
