/** The older Endpoints objects, read as the EndpointSlices that Kubernetes would make of them. */
import type { KubeObject } from "@flotilla/model";
import type { KubeEndpointSlice, KubeSliceEndpoint } from "../kube.ts";

interface EndpointsAddress {
  readonly ip?: string;
  readonly nodeName?: string;
  readonly targetRef?: NonNullable<KubeSliceEndpoint["targetRef"]>;
}
interface EndpointsSubset {
  readonly addresses?: readonly EndpointsAddress[];
  readonly notReadyAddresses?: readonly EndpointsAddress[];
  readonly ports?: KubeEndpointSlice["ports"];
}

/** One slice for each subset; its name can be of no real slice. */
export function slicesOfEndpoints(object: KubeObject): readonly KubeEndpointSlice[] {
  const { name } = object.metadata;
  return ((object["subsets"] ?? []) as readonly EndpointsSubset[]).map((subset, index) => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { ...object.metadata, name: `${name}~${index}`, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: [
      ...(subset.addresses ?? []).map((address) => sliceEndpoint(address, true)),
      ...(subset.notReadyAddresses ?? []).map((address) => sliceEndpoint(address, false)),
    ],
    ports: subset.ports ?? [],
  }));
}

function sliceEndpoint({ ip, nodeName, targetRef }: EndpointsAddress, ready: boolean): KubeSliceEndpoint {
  return {
    addresses: ip === undefined ? [] : [ip],
    conditions: { ready, serving: ready, terminating: false },
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(targetRef === undefined ? {} : { targetRef }),
  };
}
