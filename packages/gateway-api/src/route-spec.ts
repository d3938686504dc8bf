/**
 * Routes of the Gateway API as the API server hands them out; nothing is promised about objects from files, so every
 * field that the API defaults is optional here.
 */

export const routeKinds = ["HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute"] as const;
export type RouteKind = (typeof routeKinds)[number];

export interface ParentRef {
  /** Default: the Gateway API's own, which means a Gateway. */
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly sectionName?: string;
  readonly port?: number;
}

export interface ObjectRef {
  /** Default: Kubernetes' core, which means a Service. */
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly port?: number;
}

export interface BackendRef extends ObjectRef {
  /** Default: 1. */
  readonly weight?: number;
  readonly filters?: readonly RouteFilter[];
}

export interface HeaderModifier {
  readonly set?: readonly NamedValue[];
  readonly add?: readonly NamedValue[];
  readonly remove?: readonly string[];
}

export interface NamedValue {
  readonly name: string;
  readonly value?: string;
}

interface PathModifier {
  readonly type?: string;
  readonly replaceFullPath?: string;
  readonly replacePrefixMatch?: string;
}

export interface RouteFilter {
  readonly type?: string;
  readonly requestHeaderModifier?: HeaderModifier;
  readonly responseHeaderModifier?: HeaderModifier;
  readonly requestMirror?: {
    readonly backendRef?: ObjectRef;
    readonly percent?: number;
    readonly fraction?: { readonly numerator: number; readonly denominator?: number };
  };
  readonly requestRedirect?: {
    readonly scheme?: string;
    readonly hostname?: string;
    readonly path?: PathModifier;
    readonly port?: number;
    readonly statusCode?: number;
  };
  readonly urlRewrite?: { readonly hostname?: string; readonly path?: PathModifier };
  readonly cors?: {
    readonly allowOrigins?: readonly string[];
    readonly allowMethods?: readonly string[];
    readonly allowHeaders?: readonly string[];
    readonly exposeHeaders?: readonly string[];
    readonly allowCredentials?: boolean;
    /** Seconds. */
    readonly maxAge?: number;
  };
}

/** `type` is Exact (the default) or RegularExpression. */
export interface ValueMatch extends NamedValue {
  readonly type?: string;
}

export interface HttpMatch {
  readonly path?: { readonly type?: string; readonly value?: string };
  readonly headers?: readonly ValueMatch[];
  readonly queryParams?: readonly ValueMatch[];
  readonly method?: string;
}

export interface GrpcMatch {
  readonly method?: { readonly type?: string; readonly service?: string; readonly method?: string };
  readonly headers?: readonly ValueMatch[];
}

export interface SessionPersistence {
  readonly sessionName?: string;
  /** Cookie (the default) or Header. */
  readonly type?: string;
  readonly absoluteTimeout?: string;
  /** `lifetimeType` is Session (the default) or Permanent. */
  readonly cookieConfig?: { readonly lifetimeType?: string };
}

interface Rule {
  readonly name?: string;
  readonly backendRefs?: readonly BackendRef[];
  /** Of HTTPRoutes and GRPCRoutes. */
  readonly sessionPersistence?: SessionPersistence;
}

export interface HttpRule extends Rule {
  readonly matches?: readonly HttpMatch[];
  readonly filters?: readonly RouteFilter[];
  readonly timeouts?: { readonly request?: string; readonly backendRequest?: string };
  readonly retry?: { readonly attempts?: number; readonly codes?: readonly number[]; readonly backoff?: string };
}

export interface GrpcRule extends Rule {
  readonly matches?: readonly GrpcMatch[];
  readonly filters?: readonly RouteFilter[];
}

interface RouteSpec<R extends Rule> {
  readonly parentRefs?: readonly ParentRef[];
  readonly hostnames?: readonly string[];
  readonly rules?: readonly R[];
}

export type HttpRouteSpec = RouteSpec<HttpRule>;
export type GrpcRouteSpec = RouteSpec<GrpcRule>;
export type Layer4RouteSpec = RouteSpec<Rule>;
