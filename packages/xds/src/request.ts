/** Requests of both forms, as the state machine reads them. */
import type { DeltaDiscoveryRequest, DiscoveryRequest } from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";

interface CommonRequest {
  readonly typeUrl: string;
  /** Empty: not about a message of this stream. */
  readonly nonce: string;
  readonly error: RequestError | undefined;
}

/** The client refuses a message. */
export interface RequestError {
  readonly code: number;
  readonly message: string;
}

export interface SotwRequest extends CommonRequest {
  readonly names: readonly string[];
  /** Of the last message the client accepted, on this stream or an earlier one. */
  readonly version: string;
}

export interface DeltaRequest extends CommonRequest {
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** Resources that the client has when it reconnects, by name. */
  readonly held: ReadonlyMap<string, { readonly version: string }>;
}

export type ClientRequest = SotwRequest | DeltaRequest;

export function isDelta(request: ClientRequest): request is DeltaRequest {
  return "subscribe" in request;
}

export function readDeltaRequest(request: DeltaDiscoveryRequest): DeltaRequest {
  const { typeUrl, responseNonce, errorDetail, initialResourceVersions } = request;
  const error = errorDetail && { code: errorDetail.code, message: errorDetail.message };
  const held = new Map(Object.entries(initialResourceVersions).map(([name, version]) => [name, { version }]));
  const { resourceNamesSubscribe: subscribe, resourceNamesUnsubscribe: unsubscribe } = request;
  return { typeUrl, nonce: responseNonce, error, subscribe, unsubscribe, held };
}

export function readSotwRequest({
  typeUrl,
  resourceNames,
  versionInfo,
  responseNonce,
  errorDetail,
}: DiscoveryRequest): SotwRequest {
  const error = errorDetail && { code: errorDetail.code, message: errorDetail.message };
  return { typeUrl, nonce: responseNonce, error, names: resourceNames, version: versionInfo };
}
