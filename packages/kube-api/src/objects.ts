/**
 * Kubernetes' own kinds, in the types that its client has of them. They cost nothing when the program runs: objects stay as their
 * JSON has them, which differs from what the client makes of them in its times.
 */
import type {
  V1beta1ClusterTrustBundle,
  V1CertificateSigningRequest,
  V1ConfigMap,
  V1Ingress,
  V1IngressClass,
  V1Lease,
  V1Node,
  V1Pod,
  V1Secret,
  V1Service,
  V1TokenReview,
} from "@kubernetes/client-node";
import type { KubeObject } from "./kube-api.ts";

/** A value as JSON has it. */
type Json<T> = T extends Date
  ? string
  : T extends readonly (infer Element)[]
    ? readonly Json<Element>[]
    : T extends object
      ? { readonly [Field in keyof T]: Json<T[Field]> }
      : T;

type Kind<T extends object> = KubeObject & Json<Omit<T, keyof KubeObject>>;

/** A CertificateSigningRequest; `request` and `certificate` are PEM in base64. */
export type CertificateSigningRequest = Kind<V1CertificateSigningRequest>;
export type ClusterTrustBundle = Kind<V1beta1ClusterTrustBundle>;
export type ConfigMap = Kind<V1ConfigMap>;
export type Ingress = Kind<V1Ingress>;
export type IngressClass = Kind<V1IngressClass>;
export type Lease = Kind<V1Lease>;
export type Node = Kind<V1Node>;
export type Pod = Kind<V1Pod>;
/** A Secret; the values of `data` are base64. */
export type Secret = Kind<V1Secret>;
export type Service = Kind<V1Service>;
export type TokenReview = Kind<V1TokenReview>;
