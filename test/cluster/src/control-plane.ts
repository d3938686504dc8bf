/** The pods of the control plane. */
import { getJson, kubectl } from "./process.ts";

export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    /** Set while it ends. */
    readonly deletionTimestamp?: string;
  };
  readonly spec: { readonly containers: readonly { readonly image: string }[] };
  readonly status: { readonly containerStatuses?: readonly { readonly restartCount: number }[] };
}

const ours = "app.kubernetes.io/part-of=flotilla";

/** Those that do not end at the moment. */
export async function pods(namespace = "istio-system"): Promise<readonly Pod[]> {
  const { items } = await getJson<{ readonly items: readonly Pod[] }>("pods", "-n", namespace, "-l", ours);
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/** All replicas of everything, ready. */
export async function untilReady(namespace = "istio-system"): Promise<void> {
  for (const kind of ["statefulset", "deployment"])
    await kubectl("-n", namespace, "rollout", "status", kind, "-l", ours, "--timeout=300s");
}

export async function scaleXdsServer(replicas: number): Promise<void> {
  const deployment = "deployment/flotilla-xds-server";
  await kubectl("-n", "istio-system", "scale", deployment, `--replicas=${replicas}`);
  await kubectl("-n", "istio-system", "rollout", "status", deployment, "--timeout=300s");
}

export async function replicasOfXdsServer(): Promise<number> {
  const path = "jsonpath={.spec.replicas}";
  return Number(await kubectl("-n", "istio-system", "get", "deployment/flotilla-xds-server", "-o", path));
}
