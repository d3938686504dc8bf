/** The incremental form on the wire: DeltaDiscoveryRequest in, DeltaDiscoveryResponse out. */
import type { DeltaDiscoveryRequest } from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import type { MessageBody } from "./message-body.ts";
import type { DeltaRequest } from "./request.ts";
import { controlPlane, fieldSize, Parts, textBytes } from "./wire.ts";

/** Fields of DeltaDiscoveryResponse and its Resource. */
const field = { systemVersion: 1, resources: 2, typeUrl: 4, nonce: 5, removed: 6, controlPlane: 7 } as const;
const resourceField = { version: 1, resource: 2, name: 3 } as const;
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
  for (const { name, version, typeUrl: own, bytes } of resources) {
    let url = urls.get(own);
    if (url === undefined) {
      url = textBytes(own);
      urls.set(own, url);
    }
    const nameText = textBytes(name);
    const versionText = textBytes(version);
    const wrapped = fieldSize(any.typeUrl, url.length) + fieldSize(any.value, bytes.length);
    const size =
      fieldSize(resourceField.version, versionText.length) +
      fieldSize(resourceField.resource, wrapped) +
      fieldSize(resourceField.name, nameText.length);
    parts.open(field.resources, size);
    parts.bytes(resourceField.version, versionText);
    parts.open(resourceField.resource, wrapped).bytes(any.typeUrl, url).bytes(any.value, bytes);
    parts.bytes(resourceField.name, nameText);
  }
  for (const name of removed) parts.text(field.removed, name);
  return parts.text(field.typeUrl, typeUrl).finish();
}

/** `server`: who answers, in the words that clients show. */
export function encodeDeltaTail(version: string, nonce: string, server = ""): Uint8Array {
  const parts = new Parts().text(field.systemVersion, version).text(field.nonce, nonce);
  return controlPlane(parts, field.controlPlane, server).finish();
}
