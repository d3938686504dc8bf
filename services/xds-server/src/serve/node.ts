/** Reads the node of a stream's first request. */

import { NodeError, type NodeMetadata, type Proxy, parseNode } from "@flotilla/model";
import type { Node } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { Interner } from "@flotilla/xds";

/** An Envoy names five hundred extensions, and all Envoys of a version the same ones. */
export class NodeReader {
  readonly #extensions = new Interner<ReadonlySet<string>>();

  /** @throws NodeError saying what is wrong with it */
  read(node: Node): Proxy {
    const urls = node.extensions.flatMap(({ typeUrls }) => typeUrls);
    const extensions =
      urls.length === 0 ? undefined : this.#extensions.intern(urls.sort().join("\n"), () => new Set(urls));
    checkMetadata(node.metadata);
    const { region = "", zone = "", subZone: subzone = "" } = node.locality ?? {};
    return parseNode({
      id: node.id,
      cluster: node.cluster,
      metadata: (node.metadata ?? {}) as NodeMetadata,
      ...(node.locality && { locality: { region, zone, subzone } }),
      ...(extensions && { extensions }),
    });
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
