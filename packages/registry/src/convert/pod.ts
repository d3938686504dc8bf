/** Properties that an endpoint inherits from the pod behind it. */
import { type Labels, ownValue } from "@flotilla/model";
import type { KubeNode, KubePod } from "../kube.ts";
import {
  type EndpointContext,
  endpointNetwork,
  hboneTrait,
  localityLabel,
  localityOfLabel,
  placedLabels,
  spiffeId,
  subzoneLabel,
  tlsModeLabel,
  type Workload,
  workloadNameLabel,
} from "./endpoint-traits.ts";

/** Properties that endpoints of a pod inherit from it: labels with its place, identity, network and locality. */
export function podWorkload(pod: KubePod, context: EndpointContext): Workload {
  const { metadata, spec = {}, status = {} } = pod;
  const own = metadata.labels ?? {};
  const namespace = metadata.namespace ?? "";
  const nodeName = spec.nodeName ?? "";
  const locality = podLocality(own, context.nodeOf(nodeName));
  const network = endpointNetwork(status.podIP ?? "", own, context);
  const subdomain = spec.subdomain ?? "";
  return {
    labels: placedLabels(own, { clusterId: context.clusterId, locality, network, nodeName }),
    serviceAccount: spiffeId(context.trustDomain, namespace, spec.serviceAccountName ?? ""),
    network,
    locality,
    clusterId: context.clusterId,
    tlsMode: tlsMode(own),
    ...hboneTrait(own, metadata.annotations ?? {}),
    namespace,
    workloadName: workloadName(pod),
    ...(subdomain === "" ? {} : { hostname: spec.hostname || metadata.name, subdomain }),
    ...(nodeName === "" ? {} : { nodeName }),
  };
}

function tlsMode(labels: Labels): string {
  return labels[tlsModeLabel] ?? "disabled";
}

/** True where the pod has an address, is Ready, has not ended and is not being deleted. */
export function isPodReady({ metadata, status = {} }: KubePod): boolean {
  const { phase, podIP, podIPs = [] } = status;
  const isTerminal = phase === "Succeeded" || phase === "Failed";
  if (metadata.deletionTimestamp !== undefined || isTerminal || (!podIP && podIPs.length === 0)) return false;
  return status.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false;
}

function podLocality(labels: Labels, node: KubeNode | undefined): string {
  const own = localityOfLabel(labels[localityLabel]);
  return own === "" ? nodeLocality(node) : own;
}

/** The place of a node, `region/zone/subzone`, by its present labels or the ones that older clusters have. */
function nodeLocality(node: KubeNode | undefined): string {
  const of = node?.metadata.labels ?? {};
  const region = of["topology.kubernetes.io/region"] ?? of["failure-domain.beta.kubernetes.io/region"];
  const zone = of["topology.kubernetes.io/zone"] ?? of["failure-domain.beta.kubernetes.io/zone"];
  return placeOf(region, zone, of[subzoneLabel]);
}

/** The place of a node as ztunnels have it: as in istiod, by its present labels alone. */
export function ambientLocality(node: KubeNode | undefined): string {
  const of = node?.metadata.labels ?? {};
  return placeOf(of["topology.kubernetes.io/region"], of["topology.kubernetes.io/zone"], of[subzoneLabel]);
}

function placeOf(region = "", zone = "", subzone = ""): string {
  const parts = [region, zone, subzone];
  // Parts that are missing keep their slash: distinguished by it, pods and machines of one place are two groups, as in istiod.
  return parts.some((part) => part !== "") ? parts.join("/") : "";
}

/**
 * The name of the workload that runs the pod, in users' terms: the one that its label states, else a Deployment rather than its ReplicaSet, a
 * CronJob rather than one of its Jobs. Pods that no object generated go by their own name.
 */
export function workloadName({ metadata }: KubePod): string {
  const stated = ownValue(metadata.labels, workloadNameLabel);
  if (stated !== undefined) return stated;
  const owner = metadata.ownerReferences?.find(({ controller, name = "" }) => controller === true && name !== "");
  if (metadata.generateName === undefined || owner === undefined) return metadata.name;
  const hash = metadata.labels?.["pod-template-hash"] ?? metadata.labels?.["rollouts-pod-template-hash"] ?? "";
  if (owner.kind === "ReplicaSet" && hash !== "" && owner.name.endsWith(`-${hash}`)) {
    return owner.name.slice(0, -hash.length - 1);
  }
  if (owner.kind === "ReplicationController" && metadata.labels?.["deploymentconfig"]) {
    return metadata.labels["deploymentconfig"];
  }
  if (owner.kind === "Job") return /^(.+)-\d{8,10}$/.exec(owner.name)?.[1] ?? owner.name;
  return owner.name;
}
