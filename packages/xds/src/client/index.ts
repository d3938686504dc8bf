export { type ClientStream, type ClientTransport, XdsClient, type XdsClientOptions } from "./client.ts";
export { type ClientOptions, ClientState, type ClientUpdate } from "./client-state.ts";
export { type ClientResponse, type NameReader, type ReceivedResource, readResponse, writeRequest } from "./response.ts";
