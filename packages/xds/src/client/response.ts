/** Responses of both forms as a client reads them, and its requests as they are written. */
import { create, decode, encode } from "@flotilla/proto";
import type { Node } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { StatusSchema } from "@flotilla/proto/google/rpc/status_pb";
import type { Form } from "../plan.ts";
import { type ClientRequest, isDelta } from "../request.ts";

export interface ReceivedResource {
  readonly name: string;
  /** Delta only; state of the world has one version per type. */
  readonly version: string;
  /** Of the resource's own message. */
  readonly typeUrl: string;
  readonly bytes: Uint8Array;
}

export interface ClientResponse {
  readonly typeUrl: string;
  readonly version: string;
  readonly nonce: string;
  readonly resources: readonly ReceivedResource[];
  readonly removed: readonly string[];
}

/** Finds the name of a resource in its bytes, where a response does not name it. */
export type NameReader = (bytes: Uint8Array, typeUrl: string) => string;

export function readResponse(form: Form, bytes: Uint8Array, nameOf: NameReader = nameWithin): ClientResponse {
  if (form === "sotw") {
    const { typeUrl, versionInfo: version, nonce, resources } = decode(DiscoveryResponseSchema, bytes);
    const received = resources.map(({ typeUrl: own, value }) => ({
      name: nameOf(value, own),
      version: "",
      typeUrl: own,
      bytes: value,
    }));
    return { typeUrl, version, nonce, resources: received, removed: [] };
  }
  const { typeUrl, systemVersionInfo: version, nonce, ...rest } = decode(DeltaDiscoveryResponseSchema, bytes);
  const resources = rest.resources.map(({ name, version: own, resource }) => ({
    name,
    version: own,
    typeUrl: resource?.typeUrl ?? typeUrl,
    bytes: resource?.value ?? new Uint8Array(),
  }));
  return { typeUrl, version, nonce, resources, removed: rest.removedResources };
}

export function writeRequest(request: ClientRequest, node: Node | undefined): Uint8Array {
  const { typeUrl, nonce: responseNonce, error } = request;
  const common = {
    typeUrl,
    responseNonce,
    ...(node && { node }),
    ...(error && { errorDetail: create(StatusSchema, { code: error.code, message: error.message }) }),
  };
  if (!isDelta(request)) {
    const { names: resourceNames, version: versionInfo } = request;
    return encode(
      DiscoveryRequestSchema,
      create(DiscoveryRequestSchema, { ...common, resourceNames: [...resourceNames], versionInfo }),
    );
  }
  const delta = create(DeltaDiscoveryRequestSchema, {
    ...common,
    resourceNamesSubscribe: [...request.subscribe],
    resourceNamesUnsubscribe: [...request.unsubscribe],
    initialResourceVersions: Object.fromEntries([...request.held].map(([name, { version }]) => [name, version])),
  });
  return encode(DeltaDiscoveryRequestSchema, delta);
}

/** Every resource of Envoy's API has its name in field 1. */
export function nameWithin(bytes: Uint8Array): string {
  if (bytes[0] !== 0x0a) return "";
  let at = 1;
  let length = 0;
  for (let factor = 1; ; factor *= 128) {
    const byte = bytes[at++] ?? 0;
    length += (byte & 127) * factor;
    if (byte < 128) break;
  }
  return new TextDecoder().decode(bytes.subarray(at, at + length));
}
