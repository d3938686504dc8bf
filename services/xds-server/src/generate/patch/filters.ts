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
import { ApplyTo, type Patch, patchesTo, type ReportProblem } from "./patch.ts";

const connectionManager = "envoy.filters.network.http_connection_manager";

/** @param patches those that are for the chain */
export function patchFilters(chain: FilterChain, patches: readonly Patch[], report: ReportProblem): void {
  const ofNetwork = patchesTo(patches, ApplyTo.NETWORK_FILTER);
  const ofHttp = patchesTo(patches, ApplyTo.HTTP_FILTER);
  if (ofNetwork.length === 0 && ofHttp.length === 0) return;
  chain.filters = changeFilters(FilterSchema, chain.filters, ofNetwork, networkFilterMatcher);
  for (const filter of chain.filters) {
    mergeConfigs(filter, ofNetwork, networkFilterMatcher, report);
    if (filter.name === connectionManager) patchHttpFilters(filter, ofHttp, report);
  }
}

type Matcher = (patch: Patch) => ((filter: { readonly name: string }) => boolean) | undefined;

/** Operations that add, remove or move filters; merges come after all of these. */
export function changeFilters<Item extends Message & { readonly name: string }>(
  schema: GenMessage<Item>,
  items: readonly Item[],
  patches: readonly Patch<Item>[],
  matcher: Matcher,
): Item[] {
  let changed = items;
  for (const patch of patches) {
    const { operation, value } = patch;
    const copy = () => clone(schema, value as never) as unknown as Item;
    changed = changeList(changed, { operation, value: copy, isMeant: matcher(patch) });
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
  matcher: Matcher,
  report: ReportProblem,
): void {
  for (const patch of patches) {
    if (!isMerge(patch) || patch.value === undefined || matcher(patch)?.(filter) === false) continue;
    const [own, other] = [typedConfig(filter), typedConfig(patch.value)];
    if (own === undefined) continue;
    try {
      if (other !== undefined) filter.configType = { case: "typedConfig", value: mergeAny(own, other) };
      filter.name = presentName(patch.value.name === "" ? filter.name : patch.value.name);
    } catch (error) {
      report(patch, reasonOf(error));
    }
  }
}

function typedConfig({ configType }: Configured): Any | undefined {
  return configType.case === "typedConfig" && "value" in configType ? configType.value : undefined;
}

function patchHttpFilters(filter: Filter, patches: readonly Patch<HttpFilter>[], report: ReportProblem): void {
  const meant = patches.filter((patch) => networkFilterMatcher(patch)?.(filter) !== false);
  const config = typedConfig(filter);
  if (meant.length === 0 || config === undefined) return;
  const manager = unpackAs(HttpConnectionManagerSchema, config);
  if (manager === undefined) return;
  manager.httpFilters = changeFilters(HttpFilterSchema, manager.httpFilters, meant, httpFilterMatcher);
  for (const one of manager.httpFilters) mergeConfigs(one, meant, httpFilterMatcher, report);
  filter.configType = { case: "typedConfig", value: pack(HttpConnectionManagerSchema, manager) };
}
