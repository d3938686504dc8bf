/** Bytes of a request of either form, decoded, and the node of the first; garbage gets a status that names the fault. */
import { NodeError, type NodeMetadata, type Proxy, parseNode } from "@flotilla/model";
import { decode } from "@flotilla/proto";
import type { Node } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { type ClientRequest, type Form, Interner, readDeltaRequest, readSotwRequest } from "@flotilla/xds";
import { streamEnd } from "./stream-end.ts";

export interface DecodedRequest {
  readonly request: ClientRequest;
  /** Only the first request of a stream has to carry it. */
  readonly node: Node | undefined;
}

/** Longer ones are rarely the same. */
const maxKnownBytes = 512;
const maxKnown = 256;

/**
 * Requests of all streams of a server. A message that many are sent alike is acknowledged by all in the same bytes, and those
 * are decoded once.
 */
export class RequestDecoder {
  readonly #known: Readonly<Record<Form, Map<string, DecodedRequest>>> = { sotw: new Map(), delta: new Map() };

  /** @throws GrpcError INVALID_ARGUMENT */
  decode(form: Form, bytes: Buffer): DecodedRequest {
    if (bytes.length > maxKnownBytes) return decodeRequest(form, bytes);
    const known = this.#known[form];
    const key = bytes.toString("latin1");
    let decoded = known.get(key);
    if (decoded === undefined) {
      decoded = decodeRequest(form, bytes);
      if (decoded.node !== undefined) return decoded;
      if (known.size >= maxKnown) known.clear();
      known.set(key, decoded);
    }
    return decoded;
  }
}

function decodeRequest(form: Form, bytes: Uint8Array): DecodedRequest {
  try {
    if (form === "sotw") {
      const message = decode(DiscoveryRequestSchema, bytes);
      return { request: readSotwRequest(message), node: message.node };
    }
    const message = decode(DeltaDiscoveryRequestSchema, bytes);
    return { request: readDeltaRequest(message), node: message.node };
  } catch (error) {
    throw streamEnd.invalid(error instanceof Error ? error.message : String(error));
  }
}

/** An Envoy names five hundred extensions, and all Envoys of a version the same ones. */
export class NodeReader {
  readonly #extensions = new Interner<ReadonlySet<string>>();
  readonly #clusterAliases: ReadonlyMap<string, string>;

  /** @param clusterAliases other names of clusters, each with the name that counts */
  constructor(clusterAliases: ReadonlyMap<string, string> = new Map()) {
    this.#clusterAliases = clusterAliases;
  }

  /** @throws NodeError saying what is wrong with it */
  read(node: Node): Proxy {
    const urls = node.extensions.flatMap(({ typeUrls }) => typeUrls);
    const extensions =
      urls.length === 0 ? undefined : this.#extensions.intern(urls.sort().join("\n"), () => new Set(urls));
    checkMetadata(node.metadata);
    const { region = "", zone = "", subZone: subzone = "" } = node.locality ?? {};
    const proxy = parseNode({
      id: node.id,
      cluster: node.cluster,
      metadata: (node.metadata ?? {}) as NodeMetadata,
      ...(node.locality && { locality: { region, zone, subzone } }),
      ...(extensions && { extensions }),
    });
    const clusterId = this.#clusterAliases.get(proxy.clusterId);
    return clusterId === undefined ? proxy : { ...proxy, clusterId };
  }
}

/** Agents state some kilobytes; each stream keeps its own. */
const maxMetadataLength = 524_288;

/** @throws NodeError */
function checkMetadata(metadata: unknown): void {
  const length = metadata === undefined ? 0 : JSON.stringify(metadata).length;
  if (length > maxMetadataLength)
    throw new NodeError(`node metadata has ${length} characters, ${maxMetadataLength} are allowed`);
}
