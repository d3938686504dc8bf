/** Webhook configurations and injected pods, as the API server has them. */
import { getJson, ProcessError, run } from "./process.ts";

export const injectors = "mutatingwebhookconfigurations";
export const validators = "validatingwebhookconfigurations";

interface Configurations {
  readonly items: readonly {
    readonly webhooks: readonly {
      readonly failurePolicy: string;
      readonly clientConfig: { readonly caBundle?: string };
    }[];
  }[];
}

async function webhooksOf(kind: string) {
  const { items } = await getJson<Configurations>(kind);
  return items.flatMap(({ webhooks }) => webhooks);
}

export async function bundlesOf(kind: string): Promise<readonly string[]> {
  return (await webhooksOf(kind)).map(({ clientConfig }) => clientConfig.caBundle ?? "");
}

export async function failurePolicies(kind: string): Promise<readonly string[]> {
  return (await webhooksOf(kind)).map(({ failurePolicy }) => failurePolicy);
}

export interface InjectedProxy {
  readonly isNative: boolean;
  readonly revision: string | undefined;
  readonly env: Readonly<Record<string, string>>;
}
interface Container {
  readonly name: string;
  readonly restartPolicy?: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}
interface Pods {
  readonly items: readonly {
    readonly metadata: { readonly deletionTimestamp?: string; readonly annotations?: Readonly<Record<string, string>> };
    readonly spec: { readonly initContainers?: readonly Container[]; readonly containers: readonly Container[] };
  }[];
}

/** The proxies of the pods of a namespace that do not end. */
export async function injectedProxies(namespace: string, selector = ""): Promise<readonly InjectedProxy[]> {
  const { items } = await getJson<Pods>("pods", "-n", namespace, "-l", selector);
  const staying = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return staying.flatMap(({ metadata, spec: { initContainers = [], containers } }) =>
    [...initContainers, ...containers]
      .filter(({ name }) => name === "istio-proxy")
      .map(({ restartPolicy, env = [] }) => ({
        isNative: restartPolicy === "Always",
        revision: metadata.annotations?.["istio.io/rev"],
        env: Object.fromEntries(env.map(({ name, value = "" }) => [name, value])),
      })),
  );
}

export async function hasNoEndingPods(namespace: string): Promise<boolean> {
  const { items } = await getJson<Pods>("pods", "-n", namespace);
  return items.every(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/** Why the API server refuses the object, which is not stored; empty where it is taken. */
export async function apiServerHas(object: object): Promise<string> {
  return refusal(["create", "--dry-run=server", "-f", "-"], object);
}

/** Resolves to true if a new pod of the namespace is rejected because no webhook injects it. */
export async function podsAreRefused(namespace: string): Promise<boolean> {
  const spec = { containers: [{ name: "none", image: "none" }] };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "asked-about", namespace }, spec };
  return (await refusal(["create", "--dry-run=server", "-f", "-"], pod)) !== "";
}

async function refusal(args: readonly string[], object: object): Promise<string> {
  try {
    await run("kubectl", args, { input: JSON.stringify(object) });
    return "";
  } catch (error) {
    if (error instanceof ProcessError) return error.output;
    throw error;
  }
}
