/**
 * Patches of a route configuration, which is joined from encoded virtual hosts. Each virtual host is patched once, whatever else
 * changes around it, and those that no patch is for stay the identical ones: an edit of one costs its slice.
 */
import { decode } from "@flotilla/proto";
import { type VirtualHost, VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { type Encoded, Joined } from "../encode/encoded.ts";
import { encodedElement, encodedMessage } from "../encode/message.ts";
import type { ChangedContent, ContainerChanges } from "../encode/patching.ts";
import { virtualHostsField } from "../envoy/routes/route-configuration.ts";
import { ApplyTo, type Patch } from "../patch/patch.ts";
import { addedHosts, patchFrame, patchHost } from "../patch/routes.ts";

export class RouteChanges implements ContainerChanges {
  readonly #patches: readonly Patch[];
  readonly #ofHosts: readonly Patch[];
  /** By part: what became of it, nothing where it was removed. */
  readonly #changed = new WeakMap<Encoded, { readonly part: Encoded | undefined }>();

  /** @param patches those that are for the route configuration */
  constructor(patches: readonly Patch[]) {
    this.#patches = patches;
    this.#ofHosts = patches.filter(({ applyTo }) => applyTo !== ApplyTo.ROUTE_CONFIGURATION);
  }

  join(frame: Uint8Array, parts: readonly Encoded[]): ChangedContent {
    const patched = patchFrame(decode(RouteConfigurationSchema, frame), this.#patches);
    const { virtualHosts: own } = patched;
    patched.virtualHosts = [];
    const joined = new Joined([
      encodedMessage(RouteConfigurationSchema, patched),
      ...parts.flatMap((part) => this.#part(part) ?? []),
      ...own.flatMap((host) => encodedHost(patchHost(host, this.#ofHosts)) ?? []),
      ...addedHosts(this.#patches).flatMap((host) => encodedHost(host) ?? []),
    ]);
    return Object.assign(joined, { isRemoved: false, findings: [] });
  }

  #part(part: Encoded): Encoded | undefined {
    if (this.#ofHosts.length === 0) return part;
    let known = this.#changed.get(part);
    if (known === undefined) {
      known = { part: part instanceof Joined ? this.#slice(part) : this.#host(part) };
      this.#changed.set(part, known);
    }
    return known.part;
  }

  #slice(slice: Joined): Encoded | undefined {
    const parts = slice.parts.flatMap((part) => this.#part(part) ?? []);
    if (parts.length === 0) return undefined;
    const isSame = parts.length === slice.parts.length && parts.every((part, i) => part === slice.parts[i]);
    return isSame ? slice : new Joined(parts);
  }

  #host(part: Encoded): Encoded | undefined {
    const [host] = decode(RouteConfigurationSchema, part.bytes).virtualHosts;
    if (host === undefined) return part;
    const changed = encodedHost(patchHost(host, this.#ofHosts));
    return changed?.version === part.version ? part : changed;
  }
}

function encodedHost(host: VirtualHost | undefined): Encoded | undefined {
  return host && encodedElement(virtualHostsField, VirtualHostSchema, [host]);
}
