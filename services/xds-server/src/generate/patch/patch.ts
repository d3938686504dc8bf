/** Patches of EnvoyFilters as they are applied: their values are messages, read once for each object. */
import type { Message } from "@flotilla/proto";
import type { Bootstrap } from "@flotilla/proto/envoy/config/bootstrap/v3/bootstrap_pb";
import type { Cluster } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import type { TypedExtensionConfig } from "@flotilla/proto/envoy/config/core/v3/extension_pb";
import type {
  Filter,
  FilterChain,
  ListenerFilter,
} from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import type { Listener } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import type { Route, VirtualHost } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import type { RouteConfiguration } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import type { HttpFilter } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  EnvoyFilter_PatchContext as Context,
  type EnvoyFilter,
  type EnvoyFilter_EnvoyConfigObjectMatch as ObjectMatch,
  type EnvoyFilter_EnvoyConfigObjectPatch as ObjectPatch,
  EnvoyFilter_Patch_Operation as Operation,
} from "@flotilla/proto/networking/v1alpha3/envoy_filter_pb";
import { readPatchValue } from "@flotilla/proto/patch-values";

export { ApplyTo, Context, Operation };

interface Values {
  readonly [ApplyTo.LISTENER]: Listener;
  readonly [ApplyTo.FILTER_CHAIN]: FilterChain;
  readonly [ApplyTo.NETWORK_FILTER]: Filter;
  readonly [ApplyTo.HTTP_FILTER]: HttpFilter;
  readonly [ApplyTo.ROUTE_CONFIGURATION]: RouteConfiguration;
  readonly [ApplyTo.VIRTUAL_HOST]: VirtualHost;
  readonly [ApplyTo.HTTP_ROUTE]: Route;
  readonly [ApplyTo.CLUSTER]: Cluster;
  readonly [ApplyTo.EXTENSION_CONFIG]: TypedExtensionConfig;
  readonly [ApplyTo.BOOTSTRAP]: Bootstrap;
  readonly [ApplyTo.LISTENER_FILTER]: ListenerFilter;
}

export interface Patch<Value extends Message = Message> {
  /** Of the object, the place in it and the content: equal texts mean equal patches. */
  readonly id: string;
  /** `EnvoyFilter/namespace/name` */
  readonly object: string;
  /** Among the object's `configPatches`. */
  readonly index: number;
  readonly applyTo: ApplyTo;
  readonly operation: Operation;
  readonly match: ObjectMatch | undefined;
  /** Never changed nor shared with a resource. Undefined for what removes. */
  readonly value: Value | undefined;
}

/** A fault in a patch, or a reason that prevents its use on a resource. */
export interface PatchProblem {
  readonly object: string;
  readonly index: number;
  /** Within the patch. */
  readonly path: string;
  readonly reason: string;
}

/** Called for each patch that took effect on a resource, and, with a reason, for each that could not be applied to it. */
export type NoteOutcome = (patch: Patch, problem?: string) => void;

/** Those that apply to one kind of thing, in order. */
export function patchesTo<To extends keyof Values>(patches: readonly Patch[], to: To): readonly Patch<Values[To]>[] {
  return patches.filter(({ applyTo }) => applyTo === to) as unknown as readonly Patch<Values[To]>[];
}

/** A patch holds for everything generated in its context; `ANY` is every context. */
export function isInContext({ match }: Patch, context: Context): boolean {
  const wanted = match?.context ?? Context.ANY;
  return wanted === Context.ANY || wanted === context;
}

export interface ReadPatches {
  readonly patches: readonly Patch[];
  readonly problems: readonly PatchProblem[];
}

/** The patches of one object; those that cannot be read are left out. @param hash of a text, short */
export function readPatches(object: string, spec: EnvoyFilter, hash: (text: string) => string): ReadPatches {
  const patches: Patch[] = [];
  const problems: PatchProblem[] = [];
  spec.configPatches.forEach((one, index) => {
    const read = readPatch(one);
    const wrong = "fault" in read ? read.fault : read.doubt;
    if (wrong !== undefined) problems.push({ object, index, ...wrong });
    if ("fault" in read) return;
    const { applyTo, match, patch } = one;
    const text = JSON.stringify({ applyTo, match, patch });
    const operation = supportedOperation(applyTo, patch?.operation ?? Operation.INVALID);
    patches.push({
      id: `${object}#${index}@${hash(text)}`,
      object,
      index,
      applyTo,
      operation,
      match,
      value: read.value,
    });
  });
  return { patches, problems };
}

interface Fault {
  readonly path: string;
  readonly reason: string;
}

type ReadValue = { readonly value: Message | undefined; readonly doubt?: Fault } | { readonly fault: Fault };

function readPatch({ applyTo, patch }: ObjectPatch): ReadValue {
  const operation = patch?.operation ?? Operation.INVALID;
  if (operation === Operation.INVALID) return { fault: { path: "patch.operation", reason: "is missing" } };
  if (operation === Operation.REMOVE) return { value: undefined };
  if (operation === Operation.MERGE_AND_REPLACE_LIST && ordered.has(applyTo) && applyTo !== ApplyTo.HTTP_ROUTE)
    return { fault: { path: "patch.operation", reason: "MERGE_AND_REPLACE_LIST does not act on filters, MERGE does" } };
  const path = "patch.value";
  const json = patch?.value;
  if (json === undefined) return { fault: { path, reason: "is missing" } };
  const read = readPatchValue(applyTo, json);
  if (read === undefined) return { fault: { path: "applyTo", reason: "names nothing that can be patched" } };
  if ("fault" in read) return { fault: { path, reason: read.fault } };
  return { value: read.value, ...(read.doubt !== undefined && { doubt: { path, reason: read.doubt } }) };
}

const inserts: ReadonlySet<Operation> = new Set([
  Operation.INSERT_AFTER,
  Operation.INSERT_BEFORE,
  Operation.INSERT_FIRST,
]);
const ordered: ReadonlySet<ApplyTo> = new Set([
  ApplyTo.HTTP_FILTER,
  ApplyTo.HTTP_ROUTE,
  ApplyTo.LISTENER_FILTER,
  ApplyTo.NETWORK_FILTER,
]);

/** Where no order counts, whatever is inserted is added. */
function supportedOperation(applyTo: ApplyTo, operation: Operation): Operation {
  return inserts.has(operation) && !ordered.has(applyTo) ? Operation.ADD : operation;
}
