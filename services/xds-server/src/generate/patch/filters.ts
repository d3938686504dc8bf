/** NETWORK_FILTER and HTTP_FILTER patches of one filter chain. */
import { clone } from "@bufbuild/protobuf";
import { type Any, type GenMessage, type Message, pack, unpackAs } from "@flotilla/proto";
import {
  type Filter,
  type FilterChain,
  FilterSchema,
} from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import {
  HttpConnectionManagerSchema,
  type HttpFilter,
  HttpFilterSchema,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { reasonOf } from "@flotilla/proto/patch-values";
import { presentName } from "./filter-names.ts";
import { httpFilterMatcher, networkFilterMatcher } from "./listener-match.ts";
import { changeList } from "./lists.ts";
import { isMerge, mergeAny } from "./merge.ts";
import { ApplyTo, type NoteOutcome, type Patch, patchesTo } from "./patch.ts";

const connectionManager = "envoy.filters.network.http_connection_manager";

/** @param patches those that are for the chain */
export function patchFilters(chain: FilterChain, patches: readonly Patch[], note: NoteOutcome): void {
  const ofNetwork = patchesTo(patches, ApplyTo.NETWORK_FILTER);
  const ofHttp = patchesTo(patches, ApplyTo.HTTP_FILTER);
  if (ofNetwork.length === 0 && ofHttp.length === 0) return;
  chain.filters = changeFilters(FilterSchema, chain.filters, ofNetwork, { matcher: networkFilterMatcher, note });
  for (const filter of chain.filters) {
    mergeConfigs(filter, ofNetwork, { matcher: networkFilterMatcher, note });
    if (filter.name === connectionManager) patchHttpFilters(filter, ofHttp, note);
  }
}

interface FilterWork {
  readonly matcher: (patch: Patch) => ((filter: { readonly name: string }) => boolean) | undefined;
  readonly note: NoteOutcome;
}

/** Operations that add, remove or move filters; merges come after all of these. */
export function changeFilters<Item extends Message & { readonly name: string }>(
  schema: GenMessage<Item>,
  items: readonly Item[],
  patches: readonly Patch<Item>[],
  { matcher, note }: FilterWork,
): Item[] {
  let changed = items;
  for (const patch of patches) {
    const { operation, value } = patch;
    const copy = () => clone(schema, value as never) as unknown as Item;
    const before = changed;
    changed = changeList(before, { operation, value: copy, isMeant: matcher(patch) });
    if (changed !== before) note(patch);
  }
  return [...changed];
}

interface Configured {
  name: string;
  configType: { readonly case: "typedConfig"; readonly value: Any } | { readonly case: string | undefined };
}

/** Names and typed configs are merged, and nothing else. Filters without a typed config stay as they are. */
export function mergeConfigs<Item extends Message & Configured>(
  filter: Item,
  patches: readonly Patch<Item>[],
  { matcher, note }: FilterWork,
): void {
  for (const patch of patches) {
    if (!isMerge(patch) || patch.value === undefined || matcher(patch)?.(filter) === false) continue;
    const [own, other] = [typedConfig(filter), typedConfig(patch.value)];
    if (own === undefined) continue;
    try {
      if (other !== undefined) filter.configType = { case: "typedConfig", value: mergeAny(own, other) };
      filter.name = presentName(patch.value.name === "" ? filter.name : patch.value.name);
      note(patch);
    } catch (error) {
      note(patch, reasonOf(error));
    }
  }
}

function typedConfig({ configType }: Configured): Any | undefined {
  return configType.case === "typedConfig" && "value" in configType ? configType.value : undefined;
}

function patchHttpFilters(filter: Filter, patches: readonly Patch<HttpFilter>[], note: NoteOutcome): void {
  const meant = patches.filter((patch) => networkFilterMatcher(patch)?.(filter) !== false);
  const config = typedConfig(filter);
  if (meant.length === 0 || config === undefined) return;
  const manager = unpackAs(HttpConnectionManagerSchema, config);
  if (manager === undefined) return;
  const work = { matcher: httpFilterMatcher, note };
  manager.httpFilters = changeFilters(HttpFilterSchema, manager.httpFilters, meant, work);
  for (const one of manager.httpFilters) mergeConfigs(one, meant, work);
  filter.configType = { case: "typedConfig", value: pack(HttpConnectionManagerSchema, manager) };
}
