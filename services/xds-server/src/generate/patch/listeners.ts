/** LISTENER, LISTENER_FILTER and FILTER_CHAIN patches, and those of the filters below. */
import { clone } from "@bufbuild/protobuf";
import {
  type FilterChain,
  FilterChainSchema,
  ListenerFilterSchema,
} from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { reasonOf } from "@flotilla/proto/patch-values";
import { changeFilters, mergeConfigs, patchFilters } from "./filters.ts";
import { listenerFilterMatcher, matchesChain, matchesListener, mayMatchListener } from "./listener-match.ts";
import { isMerge, mergeSocket, mergeValue } from "./merge.ts";
import { ApplyTo, type Context, isInContext, type NoteOutcome, Operation, type Patch, patchesTo } from "./patch.ts";

const kinds: ReadonlySet<ApplyTo> = new Set([
  ApplyTo.LISTENER,
  ApplyTo.LISTENER_FILTER,
  ApplyTo.FILTER_CHAIN,
  ApplyTo.NETWORK_FILTER,
  ApplyTo.HTTP_FILTER,
]);

function isListenerPatch({ applyTo }: Patch): boolean {
  return kinds.has(applyTo);
}

/** The patches that may change a listener or something in it. */
export function listenerPatches(
  patches: readonly Patch[],
  { name, context }: { readonly name: string; readonly context: Context },
): readonly Patch[] {
  return patches.filter(
    (patch) =>
      isListenerPatch(patch) &&
      !(patch.applyTo === ApplyTo.LISTENER && patch.operation === Operation.ADD) &&
      isInContext(patch, context) &&
      mayMatchListener(patch, name),
  );
}

/** The listeners that patches add in a context; `ANY` means outbound of sidecars, and gateways. */
export function addedListeners(patches: readonly Patch[], contexts: readonly Context[]): readonly Patch<Listener>[] {
  return patchesTo(patches, ApplyTo.LISTENER).filter(
    (patch) => patch.operation === Operation.ADD && contexts.some((context) => isInContext(patch, context)),
  );
}

/** The listener itself is changed. Undefined when it is removed. */
export function patchListener(listener: Listener, patches: readonly Patch[], note: NoteOutcome): Listener | undefined {
  let patched = listener;
  for (const patch of patchesTo(patches, ApplyTo.LISTENER)) {
    if (!matchesListener(patch, patched)) continue;
    note(patch);
    if (patch.operation === Operation.REMOVE) return undefined;
    if (isMerge(patch)) patched = mergeValue(ListenerSchema, patched, patch);
  }
  const deeper = patches.filter((patch) => patch.applyTo !== ApplyTo.LISTENER && matchesListener(patch, patched));
  patchListenerFilters(patched, deeper, note);
  patchChains(patched, deeper, note);
  return patched;
}

function patchListenerFilters(listener: Listener, patches: readonly Patch[], note: NoteOutcome): void {
  const ofFilters = patchesTo(patches, ApplyTo.LISTENER_FILTER);
  if (ofFilters.length === 0) return;
  const work = { matcher: listenerFilterMatcher, note };
  listener.listenerFilters = changeFilters(ListenerFilterSchema, listener.listenerFilters, ofFilters, work);
  // Unlike filters of a chain, they are merged where a patch names them only, and keep their names. Source: istiod asked.
  const named = ofFilters.filter((patch) => listenerFilterMatcher(patch) !== undefined);
  for (const filter of listener.listenerFilters) {
    const { name } = filter;
    mergeConfigs(filter, named, work);
    filter.name = name;
  }
}

function patchChains(listener: Listener, patches: readonly Patch[], note: NoteOutcome): void {
  const patched = (chain: FilterChain) =>
    chain.filters.length === 0 ? chain : patchChain(listener, chain, { patches, note });
  const chains = listener.filterChains.flatMap((chain) => patched(chain) ?? []);
  listener.defaultFilterChain &&= patched(listener.defaultFilterChain);
  for (const patch of patchesTo(patches, ApplyTo.FILTER_CHAIN)) {
    if (patch.operation !== Operation.ADD || patch.value === undefined) continue;
    chains.push(clone(FilterChainSchema, patch.value));
    note(patch);
  }
  // One without filters would close its connections. Source: istiod asked.
  listener.filterChains = chains.filter(({ filters }) => filters.length > 0);
}

interface Work {
  readonly patches: readonly Patch[];
  readonly note: NoteOutcome;
}

function patchChain(listener: Listener, chain: FilterChain, { patches, note }: Work): FilterChain | undefined {
  let patched = chain;
  for (const patch of patchesTo(patches, ApplyTo.FILTER_CHAIN)) {
    if (!matchesChain(patch, listener, patched)) continue;
    if (patch.operation === Operation.REMOVE) {
      note(patch);
      return undefined;
    }
    if (!isMerge(patch)) continue;
    try {
      patched = mergeChain(patched, patch);
      note(patch);
    } catch (error) {
      note(patch, reasonOf(error));
    }
  }
  patchFilters(
    patched,
    patches.filter((patch) => matchesChain(patch, listener, patched)),
    note,
  );
  return patched;
}

/** As of clusters: a transport socket is merged into that of its name, and the rest of the patch does not count. */
function mergeChain(chain: FilterChain, patch: Patch<FilterChain>): FilterChain {
  const socket = patch.value?.transportSocket;
  if (socket !== undefined && mergeSocket([chain.transportSocket], socket)) return chain;
  return mergeValue(FilterChainSchema, chain, patch);
}
