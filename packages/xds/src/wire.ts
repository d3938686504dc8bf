/**
 * Both forms on the wire: requests read, responses put together from as little of the format as they need, since bytes of resources
 * are never decoded or encoded again.
 */
import { fieldSize, Parts, textBytes } from "@flotilla/proto";
import type { DeltaDiscoveryRequest, DiscoveryRequest } from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import type { MessageBody } from "./message-body.ts";
import type { DeltaRequest, SotwRequest } from "./request.ts";

/** A ControlPlane message with its identifier, or nothing. */
function controlPlane(parts: Parts, field: number, identifier: string): Parts {
  if (identifier === "") return parts;
  const text = textBytes(identifier);
  return parts.open(field, fieldSize(1, text.length)).bytes(1, text);
}

/** Fields of DeltaDiscoveryResponse and its Resource. */
const deltaField = { systemVersion: 1, resources: 2, typeUrl: 4, nonce: 5, removed: 6, controlPlane: 7 } as const;
const resourceField = { version: 1, resource: 2, name: 3, aliases: 4 } as const;
const any = { typeUrl: 1, value: 2 } as const;

export function readDeltaRequest(request: DeltaDiscoveryRequest): DeltaRequest {
  const { typeUrl, responseNonce, errorDetail, initialResourceVersions } = request;
  const error = errorDetail && { code: errorDetail.code, message: errorDetail.message };
  const held = new Map(Object.entries(initialResourceVersions).map(([name, version]) => [name, { version }]));
  const { resourceNamesSubscribe: subscribe, resourceNamesUnsubscribe: unsubscribe } = request;
  return { typeUrl, nonce: responseNonce, error, subscribe, unsubscribe, held };
}

/** All but version and nonce: the part that streams share. */
export function encodeDeltaBody({ typeUrl, resources, removed }: MessageBody): Uint8Array {
  const parts = new Parts();
  const urls = new Map<string, Uint8Array>();
  for (const { name, version, typeUrl: own, bytes, aliases = [] } of resources) {
    let url = urls.get(own);
    if (url === undefined) {
      url = textBytes(own);
      urls.set(own, url);
    }
    const nameText = textBytes(name);
    const versionText = textBytes(version);
    const aliasTexts = aliases.map(textBytes);
    const wrapped = fieldSize(any.typeUrl, url.length) + fieldSize(any.value, bytes.length);
    const size =
      fieldSize(resourceField.version, versionText.length) +
      fieldSize(resourceField.resource, wrapped) +
      fieldSize(resourceField.name, nameText.length) +
      aliasTexts.reduce((sum, { length }) => sum + fieldSize(resourceField.aliases, length), 0);
    parts.open(deltaField.resources, size);
    parts.bytes(resourceField.version, versionText);
    parts.open(resourceField.resource, wrapped).bytes(any.typeUrl, url).bytes(any.value, bytes);
    parts.bytes(resourceField.name, nameText);
    for (const alias of aliasTexts) parts.bytes(resourceField.aliases, alias);
  }
  for (const name of removed) parts.text(deltaField.removed, name);
  return parts.text(deltaField.typeUrl, typeUrl).finish();
}

/** `server`: who answers, in the words that clients show. */
export function encodeDeltaTail(version: string, nonce: string, server = ""): Uint8Array {
  const parts = new Parts().text(deltaField.systemVersion, version).text(deltaField.nonce, nonce);
  return controlPlane(parts, deltaField.controlPlane, server).finish();
}

/** Fields of DiscoveryResponse. */
const sotwField = { version: 1, resources: 2, typeUrl: 4, nonce: 5, controlPlane: 6 } as const;

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

/** All but version and nonce: the part that streams share. Fields of a message may come in any order. */
export function encodeSotwBody({ typeUrl, resources }: MessageBody): Uint8Array {
  const parts = new Parts();
  const urls = new Map<string, Uint8Array>();
  for (const { typeUrl: own, bytes } of resources) {
    let url = urls.get(own);
    if (url === undefined) {
      url = textBytes(own);
      urls.set(own, url);
    }
    parts.open(sotwField.resources, fieldSize(any.typeUrl, url.length) + fieldSize(any.value, bytes.length));
    parts.bytes(any.typeUrl, url).bytes(any.value, bytes);
  }
  return parts.text(sotwField.typeUrl, typeUrl).finish();
}

/** `server`: who answers, in the words that clients show. */
export function encodeSotwTail(version: string, nonce: string, server = ""): Uint8Array {
  const parts = new Parts().text(sotwField.version, version).text(sotwField.nonce, nonce);
  return controlPlane(parts, sotwField.controlPlane, server).finish();
}
