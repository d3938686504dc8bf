/** Pods as far as injection looks into them; everything else passes through untouched. */

export type Json = Readonly<Record<string, unknown>>;
export type Texts = Readonly<Record<string, string>>;

export interface Metadata {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly labels?: Texts;
  readonly annotations?: Texts;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly [field: string]: unknown;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly controller?: boolean;
}

interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly [field: string]: unknown;
}

interface ContainerPort {
  readonly name?: string;
  readonly containerPort: number;
  readonly [field: string]: unknown;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly args?: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly ports?: readonly ContainerPort[];
  readonly securityContext?: Json;
  readonly lifecycle?: Json;
  readonly [field: string]: unknown;
}

export interface PodSpec {
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly { readonly name: string; readonly [field: string]: unknown }[];
  readonly imagePullSecrets?: readonly { readonly name: string }[];
  readonly hostNetwork?: boolean;
  readonly [field: string]: unknown;
}

export interface Pod {
  readonly metadata: Metadata;
  readonly spec: PodSpec;
  readonly [field: string]: unknown;
}

export const proxyName = "istio-proxy";
export const initName = "istio-init";
export const validationName = "istio-validation";

/** The proxy, wherever it stands. */
export function findProxy({ containers = [], initContainers = [] }: PodSpec): Container | undefined {
  const isProxy = ({ name }: Container): boolean => name === proxyName;
  return containers.find(isProxy) ?? initContainers.find(isProxy);
}

/** The pod with every container of this name changed. */
export function changeContainer(pod: Pod, name: string, change: (container: Container) => Container): Pod {
  const { containers, initContainers } = pod.spec;
  const changed = (list: readonly Container[]): readonly Container[] =>
    list.map((one) => (one.name === name ? change(one) : one));
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(containers === undefined ? {} : { containers: changed(containers) }),
      ...(initContainers === undefined ? {} : { initContainers: changed(initContainers) }),
    },
  };
}

export function annotate(pod: Pod, annotations: Texts): Pod {
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...annotations } } };
}
