export { type ClientStream, type ClientTransport, XdsClient, type XdsClientOptions } from "./client.ts";
export type { ClientOptions, ClientUpdate } from "./client-state.ts";
export {
  bootstrapEndpointNames,
  clusterNames,
  endpointNames,
  extensionNames,
  hasScopedRoutes,
  routeNames,
  secretNames,
} from "./followed-names.ts";
export {
  type ProxyKind,
  ProxySession,
  type ProxySessionOptions,
  type ReceivedUpdate,
  shortTypes,
  usualForm,
} from "./proxy-session.ts";
export type { ClientResponse, NameReader, ReceivedResource } from "./response.ts";
