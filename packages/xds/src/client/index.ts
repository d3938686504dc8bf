export { type ClientStream, type ClientTransport, XdsClient, type XdsClientOptions } from "./client.ts";
export { type ClientOptions, ClientState, type ClientUpdate } from "./client-state.ts";
export { clusterNames, endpointNames, extensionNames, routeNames, secretNames } from "./followed-names.ts";
export { type ProxyKind, ProxySession, type ProxySessionOptions, type ReceivedUpdate } from "./proxy-session.ts";
export { type ClientResponse, type NameReader, type ReceivedResource, readResponse, writeRequest } from "./response.ts";
