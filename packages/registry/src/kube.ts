/** The fields of Kubernetes objects that services and endpoints are made from. Sources check types before. */
import type { KubeObject, Labels } from "@flotilla/model";

/** A port of a Service. */
export interface KubeServicePort {
  readonly name?: string;
  readonly port: number;
  readonly targetPort?: number | string;
  readonly nodePort?: number;
  readonly protocol?: string;
  readonly appProtocol?: string;
}

/** A Service, as far as it is read. */
export interface KubeService extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
    readonly ipFamilies?: readonly string[];
    readonly ports?: readonly KubeServicePort[];
    readonly selector?: Labels;
    readonly externalName?: string;
    readonly externalIPs?: readonly string[];
    readonly externalTrafficPolicy?: string;
    readonly internalTrafficPolicy?: string;
    readonly publishNotReadyAddresses?: boolean;
    readonly trafficDistribution?: string;
  };
  readonly status?: {
    readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[] };
  };
}

/** Conditions of an endpoint of a slice; absent ones are unknown. */
export interface KubeEndpointConditions {
  readonly ready?: boolean;
  readonly serving?: boolean;
  readonly terminating?: boolean;
}

/** An endpoint of an EndpointSlice. */
export interface KubeSliceEndpoint {
  readonly addresses?: readonly string[];
  readonly conditions?: KubeEndpointConditions;
  readonly nodeName?: string;
  readonly targetRef?: {
    readonly kind?: string;
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
  };
}

/** An EndpointSlice, as far as it is read. */
export interface KubeEndpointSlice extends KubeObject {
  readonly addressType?: string;
  readonly endpoints?: readonly KubeSliceEndpoint[];
  readonly ports?: readonly { readonly name?: string; readonly port?: number; readonly protocol?: string }[];
}

/** A container of a pod, as far as it is read. */
interface KubeContainer {
  /** `Always` of an init container that runs beside the others. */
  readonly restartPolicy?: string;
  readonly ports?:
    | readonly { readonly name?: string; readonly containerPort: number; readonly protocol?: string }[]
    | null;
}

/** A Pod, as far as it is read. */
export interface KubePod extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly hostname?: string;
    readonly subdomain?: string;
    readonly hostNetwork?: boolean;
    readonly containers?: readonly KubeContainer[] | null;
    /** Some of them may run beside the others, with ports of their own. */
    readonly initContainers?: readonly KubeContainer[] | null;
  };
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly podIPs?: readonly { readonly ip?: string }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** A Node, as far as it is read; its labels have the locality. */
export interface KubeNode extends KubeObject {
  readonly status?: { readonly addresses?: readonly { readonly type: string; readonly address: string }[] };
}

/** A ServiceEntry's or WorkloadEntry's spec, in protobuf JSON. */
export interface ServiceEntrySpec {
  readonly hosts?: readonly string[];
  readonly addresses?: readonly string[];
  readonly ports?: readonly ServiceEntryPort[];
  readonly location?: "MESH_EXTERNAL" | "MESH_INTERNAL";
  readonly resolution?: "NONE" | "STATIC" | "DNS" | "DNS_ROUND_ROBIN" | "DYNAMIC_DNS";
  readonly endpoints?: readonly WorkloadEntrySpec[];
  readonly workloadSelector?: { readonly labels?: Labels };
  readonly exportTo?: readonly string[];
  readonly subjectAltNames?: readonly string[];
}

/** A port of a ServiceEntry. */
export interface ServiceEntryPort {
  readonly number: number;
  readonly name?: string;
  readonly protocol?: string;
  readonly targetPort?: number;
}

/** The spec of a WorkloadEntry, and of an endpoint within a ServiceEntry. */
export interface WorkloadEntrySpec {
  readonly address?: string;
  readonly ports?: Readonly<Record<string, number>>;
  readonly labels?: Labels;
  readonly network?: string;
  readonly locality?: string;
  readonly weight?: number;
  readonly serviceAccount?: string;
}
