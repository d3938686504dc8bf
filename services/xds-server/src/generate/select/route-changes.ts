/**
 * Patches of a route configuration, which is joined from encoded virtual hosts. Each virtual host is patched once by a set of patches
 * that may be for it, whatever else changes around it, and those that no patch is for stay the identical ones: an edit of one costs its slice.
 */
import type { Finding } from "@flotilla/incremental";
import { decode } from "@flotilla/proto";
import { type VirtualHost, VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { type Encoded, encoded, encodedElement, encodedMessage, Joined } from "../encode/encoded.ts";
import type { ChangedContent, ContainerChanges } from "../encode/patching.ts";
import { virtualHostsField } from "../envoy/routes/route-configuration.ts";
import { ApplyTo, Operation, type Patch } from "../patch/patch.ts";
import type { HostNames } from "../patch/route-match.ts";
import { addedHosts, patchesOfHost, patchFrame, patchHost } from "../patch/routes.ts";
import { Outcomes } from "./patch-outcomes.ts";
import { type PatchSet, patchSet, perSet } from "./patches.ts";

export class RouteChanges implements ContainerChanges {
  readonly #patches: readonly Patch[];
  readonly #ofHosts: readonly Patch[];
  /** Held, so that they stay the identical ones as long as this is in use. */
  readonly #used = new Set<PatchSet>();
  readonly #changed = new WeakMap<Encoded, ChangedPart>();

  /** @param patches those that are for the route configuration */
  constructor(patches: readonly Patch[]) {
    this.#patches = patches;
    this.#ofHosts = patches.filter(
      ({ applyTo, operation }) =>
        applyTo === ApplyTo.HTTP_ROUTE || (applyTo === ApplyTo.VIRTUAL_HOST && operation !== Operation.ADD),
    );
  }

  join(frame: Uint8Array, parts: readonly Encoded[]): ChangedContent {
    const outcomes = new Outcomes();
    const { note } = outcomes;
    const { fields, hosts } = this.#frame(frame, outcomes);
    const joined = new Joined([
      fields,
      ...parts.flatMap((part) => this.#part(part, outcomes) ?? []),
      ...hosts.flatMap((host) => encodedHost(patchHost(host, this.#ofHosts, note)) ?? []),
      ...addedHosts(this.#patches, note).flatMap((host) => encodedHost(host) ?? []),
    ]);
    return Object.assign(joined, { isRemoved: false, findings: [], outcomes: outcomes.list });
  }

  /** The fields around the virtual hosts, and the virtual hosts that patches of the route configuration bring. */
  #frame(frame: Uint8Array, { note }: Outcomes): { readonly fields: Encoded; readonly hosts: readonly VirtualHost[] } {
    if (!this.#patches.some(({ applyTo }) => applyTo === ApplyTo.ROUTE_CONFIGURATION))
      return { fields: encoded(frame), hosts: [] };
    const patched = patchFrame(decode(RouteConfigurationSchema, frame), this.#patches, note);
    const { virtualHosts: hosts } = patched;
    patched.virtualHosts = [];
    return { fields: encodedMessage(RouteConfigurationSchema, patched), hosts };
  }

  #part(part: Encoded, outcomes: Outcomes): Encoded | undefined {
    if (this.#ofHosts.length === 0) return part;
    let known = this.#changed.get(part);
    if (known === undefined) {
      known = part instanceof Joined ? this.#slice(part) : this.#host(part);
      this.#changed.set(part, known);
    }
    outcomes.add(known.outcomes);
    return known.part;
  }

  #slice(slice: Joined): ChangedPart {
    const outcomes = new Outcomes();
    const parts = slice.parts.flatMap((part) => this.#part(part, outcomes) ?? []);
    const { list } = outcomes;
    if (parts.length === 0) return { part: undefined, outcomes: list };
    const isSame = parts.length === slice.parts.length && parts.every((part, i) => part === slice.parts[i]);
    return { part: isSame ? slice : new Joined(parts), outcomes: list };
  }

  #host(part: Encoded): ChangedPart {
    const host = hostNames.of(part);
    const set = host && patchSet(patchesOfHost(this.#ofHosts, host));
    if (set === undefined) return { part, outcomes: [] };
    this.#used.add(set);
    return changedHosts(set).of(part);
  }
}

/** A part after the changes; empty if it was removed. */
interface ChangedPart {
  readonly part: Encoded | undefined;
  readonly outcomes: readonly Finding[];
}

/** Virtual hosts after a set of patches. */
class ChangedHosts {
  readonly #patches: readonly Patch[];
  readonly #changed = new WeakMap<Encoded, ChangedPart>();

  constructor({ patches }: PatchSet) {
    this.#patches = patches;
  }

  of(part: Encoded): ChangedPart {
    let known = this.#changed.get(part);
    if (known === undefined) {
      known = this.#change(part);
      this.#changed.set(part, known);
    }
    return known;
  }

  #change(part: Encoded): ChangedPart {
    const outcomes = new Outcomes();
    const host = decodedHost(part);
    const changed = host && encodedHost(patchHost(host, this.#patches, outcomes.note));
    const isSame = host === undefined || changed?.version === part.version;
    return { part: isSame ? part : changed, outcomes: outcomes.list };
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
