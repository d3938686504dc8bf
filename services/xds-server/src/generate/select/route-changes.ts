/**
 * Patches of a route configuration, which is joined from encoded virtual hosts. Each virtual host is patched once by a set of patches
 * that may be for it, whatever else changes around it, and those that no patch is for stay the identical ones: an edit of one costs its slice.
 */
import { decode } from "@flotilla/proto";
import { type VirtualHost, VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { type Encoded, encoded, encodedElement, encodedMessage, Joined } from "../encode/encoded.ts";
import type { ChangedContent, ContainerChanges } from "../encode/patching.ts";
import { virtualHostsField } from "../envoy/routes/route-configuration.ts";
import { ApplyTo, Operation, type Patch } from "../patch/patch.ts";
import type { HostNames } from "../patch/route-match.ts";
import { addedHosts, patchesOfHost, patchFrame, patchHost } from "../patch/routes.ts";
import { type PatchSet, patchSet, perSet } from "./patches.ts";

export class RouteChanges implements ContainerChanges {
  readonly #patches: readonly Patch[];
  readonly #ofHosts: readonly Patch[];
  /** Held, so that they stay the identical ones as long as this is in use. */
  readonly #used = new Set<PatchSet>();
  /** By part: what became of it, nothing where it was removed. */
  readonly #changed = new WeakMap<Encoded, { readonly part: Encoded | undefined }>();

  /** @param patches those that are for the route configuration */
  constructor(patches: readonly Patch[]) {
    this.#patches = patches;
    this.#ofHosts = patches.filter(
      ({ applyTo, operation }) =>
        applyTo === ApplyTo.HTTP_ROUTE || (applyTo === ApplyTo.VIRTUAL_HOST && operation !== Operation.ADD),
    );
  }

  join(frame: Uint8Array, parts: readonly Encoded[]): ChangedContent {
    const { fields, hosts } = this.#frame(frame);
    const joined = new Joined([
      fields,
      ...parts.flatMap((part) => this.#part(part) ?? []),
      ...hosts.flatMap((host) => encodedHost(patchHost(host, this.#ofHosts)) ?? []),
      ...addedHosts(this.#patches).flatMap((host) => encodedHost(host) ?? []),
    ]);
    return Object.assign(joined, { isRemoved: false, findings: [] });
  }

  /** The fields around the virtual hosts, and the virtual hosts that patches of the route configuration bring. */
  #frame(frame: Uint8Array): { readonly fields: Encoded; readonly hosts: readonly VirtualHost[] } {
    if (!this.#patches.some(({ applyTo }) => applyTo === ApplyTo.ROUTE_CONFIGURATION))
      return { fields: encoded(frame), hosts: [] };
    const patched = patchFrame(decode(RouteConfigurationSchema, frame), this.#patches);
    const { virtualHosts: hosts } = patched;
    patched.virtualHosts = [];
    return { fields: encodedMessage(RouteConfigurationSchema, patched), hosts };
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
    const host = hostNames.of(part);
    if (host === undefined) return part;
    const set = patchSet(patchesOfHost(this.#ofHosts, host));
    if (set === undefined) return part;
    this.#used.add(set);
    return changedHosts(set).of(part);
  }
}

/** Virtual hosts after a set of patches. */
class ChangedHosts {
  readonly #patches: readonly Patch[];
  readonly #changed = new WeakMap<Encoded, { readonly part: Encoded | undefined }>();

  constructor({ patches }: PatchSet) {
    this.#patches = patches;
  }

  of(part: Encoded): Encoded | undefined {
    let known = this.#changed.get(part);
    if (known === undefined) {
      known = { part: this.#change(part) };
      this.#changed.set(part, known);
    }
    return known.part;
  }

  #change(part: Encoded): Encoded | undefined {
    const host = decodedHost(part);
    if (host === undefined) return part;
    const changed = encodedHost(patchHost(host, this.#patches));
    return changed?.version === part.version ? part : changed;
  }
}

const changedHosts = perSet((set) => new ChangedHosts(set));

/** Read once of each virtual host: the changes of patches. */
class DecodedNames {
  readonly #names = new WeakMap<Encoded, HostNames>();

  of(part: Encoded): HostNames | undefined {
    const known = this.#names.get(part);
    if (known !== undefined) return known;
    const host = decodedHost(part);
    if (host === undefined) return undefined;
    const names = { name: host.name, domains: host.domains };
    this.#names.set(part, names);
    return names;
  }
}

const hostNames = new DecodedNames();

function decodedHost({ bytes }: Encoded): VirtualHost | undefined {
  return decode(RouteConfigurationSchema, bytes).virtualHosts[0];
}

function encodedHost(host: VirtualHost | undefined): Encoded | undefined {
  return host && encodedElement(virtualHostsField, VirtualHostSchema, [host]);
}
