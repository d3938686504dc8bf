/** Gateways and what belongs to them, as the API server hands them out; every field that the API defaults is optional here. */
import type { LabelSelector } from "@flotilla/model";
import type { ObjectRef } from "./route-spec.ts";

export const gatewayGroup = "gateway.networking.k8s.io";

export interface GatewayClassSpec {
  readonly controllerName?: string;
}

export interface NamespaceSelection {
  /** All, Selector, Same or None. */
  readonly from?: string;
  readonly selector?: LabelSelector;
}

export interface ListenerTls {
  /** Terminate (the default) or Passthrough. */
  readonly mode?: string;
  readonly certificateRefs?: readonly ObjectRef[];
  readonly options?: Readonly<Record<string, string>>;
}

export interface ListenerSpec {
  readonly name: string;
  /** "" or absent: any. */
  readonly hostname?: string;
  readonly port?: number;
  readonly protocol?: string;
  readonly tls?: ListenerTls;
  readonly allowedRoutes?: {
    readonly namespaces?: NamespaceSelection;
    readonly kinds?: readonly { readonly group?: string; readonly kind?: string }[];
  };
}

export interface ClientValidation {
  readonly caCertificateRefs?: readonly ObjectRef[];
  /** AllowValidOnly (the default) or AllowInsecureFallback. */
  readonly mode?: string;
}

export interface KubernetesGatewaySpec {
  readonly gatewayClassName?: string;
  readonly listeners?: readonly ListenerSpec[];
  readonly addresses?: readonly { readonly type?: string; readonly value?: string }[];
  readonly allowedListeners?: { readonly namespaces?: NamespaceSelection };
  readonly infrastructure?: { readonly parametersRef?: ObjectRef };
  readonly tls?: {
    readonly frontend?: {
      readonly default?: { readonly validation?: ClientValidation };
      readonly perPort?: readonly {
        readonly port: number;
        readonly tls?: { readonly validation?: ClientValidation };
      }[];
    };
    readonly backend?: { readonly clientCertificateRef?: ObjectRef };
  };
}

export interface ListenerSetSpec {
  readonly parentRef?: ObjectRef;
  readonly listeners?: readonly ListenerSpec[];
}

export interface ReferenceGrantSpec {
  readonly from?: readonly { readonly group?: string; readonly kind?: string; readonly namespace?: string }[];
  readonly to?: readonly { readonly group?: string; readonly kind?: string; readonly name?: string }[];
}

export interface NamespaceHead {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}
