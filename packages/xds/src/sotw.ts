/** State of the world on the wire: DiscoveryRequest in, DiscoveryResponse out. */
import type { DiscoveryRequest } from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import type { MessageBody } from "./message-body.ts";
import type { SotwRequest } from "./request.ts";
import { controlPlane, fieldSize, Parts, textBytes } from "./wire.ts";

/** Fields of DiscoveryResponse. */
const field = { version: 1, resources: 2, typeUrl: 4, nonce: 5, controlPlane: 6 } as const;
const any = { typeUrl: 1, value: 2 } as const;

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
    parts.open(field.resources, fieldSize(any.typeUrl, url.length) + fieldSize(any.value, bytes.length));
    parts.bytes(any.typeUrl, url).bytes(any.value, bytes);
  }
  return parts.text(field.typeUrl, typeUrl).finish();
}

/** `server`: who answers, in the words that clients show. */
export function encodeSotwTail(version: string, nonce: string, server = ""): Uint8Array {
  const parts = new Parts().text(field.version, version).text(field.nonce, nonce);
  return controlPlane(parts, field.controlPlane, server).finish();
}
