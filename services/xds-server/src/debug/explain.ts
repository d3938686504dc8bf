/**
 * `/debug/explain`: why a proxy has a resource as it is. The objects it was made from and when each changed last, the change of the fleet
 * since which it is as it is, and the difference that this change made.
 */
import { appliedText, causeText, type Difference, jsonDifferences, ownValue } from "@flotilla/model";
import { bytesToJson, shownType, typeUrl as urls } from "@flotilla/proto";
import type { HttpReply } from "@flotilla/runtime";
import type { Resource } from "@flotilla/xds";
import type { StreamRecord } from "../serve/stream-record.ts";
import type { ChangeLedger } from "./change-ledger.ts";
import { type DebugPage, plain } from "./page.ts";
import { aboutProxy, type ProxyPageSources } from "./proxy-pages.ts";
import type { ResourceChange, ResourceHistory } from "./resource-history.ts";
import { withoutSecrets } from "./without-secrets.ts";

export interface ExplainSources extends Pick<ProxyPageSources, "core" | "streams" | "fleet"> {
  readonly ledger: ChangeLedger;
  readonly history: ResourceHistory;
  /** Place in the fleet's sequence that everything shown reflects. */
  readonly position: () => number;
}

/** An object that went into a resource. */
interface Origin {
  /** `Kind/namespace/name`, or what it is instead. */
  readonly object: string;
  /** The fleet's change that brought it; absent for what is there from the start, such as settings. */
  readonly position?: number;
  readonly at?: string;
  /** The source of that change. */
  readonly by?: string;
  /** Where it comes from, if its source reports it: a file and line, a cluster. */
  readonly source?: string;
}

interface Explanation {
  readonly proxy: string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly position: number;
  readonly since: { readonly position: number; readonly at: string } | string;
  readonly change?: {
    readonly causedBy: readonly string[];
    readonly versionBefore?: string;
    readonly differences: readonly Difference[];
  };
  readonly madeFrom: readonly Origin[];
  readonly delivery: Readonly<Record<string, unknown>>;
}

/** More are seldom read; a resource that is new differs in everything. */
const maxDifferences = 200;

export function explainPage(sources: ExplainSources): DebugPage {
  return {
    path: "explain",
    help: "the causes of a resource: ?proxyID=name.namespace&type=cds|lds|rds|srds|eds|…&name=",
    scope: "namespace",
    answer: (question) => {
      const [type, name] = [question.query.get("type"), question.query.get("name")];
      if (type === null || name === null)
        return plain(400, "explain needs proxyID, type (cds, lds, rds, eds or a type URL) and name");
      const url = ownValue(shortTypes, type) ?? type;
      if (!url.includes("/")) return plain(400, `type ${JSON.stringify(type)} is no type URL and none of ${typeWords}`);
      return aboutProxy(sources, question, (stream) => explain(sources, stream, url, name));
    },
  };
}

/** Usual names of types → type URLs. */
export const shortTypes: Readonly<Record<string, string>> = {
  cds: urls.cluster,
  lds: urls.listener,
  rds: urls.route,
  srds: urls.scopedRoute,
  eds: urls.endpoint,
  sds: urls.secret,
  ecds: urls.extensionConfig,
  nds: urls.nameTable,
  pcds: urls.proxyConfig,
  ...urls,
};

const typeWords = Object.keys(shortTypes)
  .filter((word) => word.endsWith("ds"))
  .join(", ");

function explain(sources: ExplainSources, stream: StreamRecord, type: string, name: string): HttpReply {
  const { core, history, position } = sources;
  const subject = core.subjectOf(stream.proxy);
  const resource = core.resource(subject, type, name);
  if (resource === undefined)
    return plain(404, `${stream.proxy.id} gets no ${shownType(type)} named ${JSON.stringify(name)}`);
  const madeFrom = originsOf(sources, core.explain(subject, type, name));
  const change = history.changeTo(type, resource);
  const explanation: Explanation = {
    proxy: stream.proxy.id,
    type,
    name,
    version: resource.version,
    position: position(),
    since:
      change === undefined
        ? "it has not changed since the proxy connected, or for longer than is remembered"
        : { position: change.position, at: new Date(change.atMs).toISOString() },
    ...(change && {
      change: {
        causedBy: causesOf(sources, madeFrom, change),
        ...(change.before && { versionBefore: change.before.version }),
        differences: differencesOf(change.before, resource),
      },
    }),
    madeFrom,
    delivery: deliveryOf(stream, type, name),
  };
  return { json: explanation };
}

function originsOf({ core, ledger }: ExplainSources, inputs: readonly string[]): readonly Origin[] {
  const byObject = new Map<string, Origin>();
  for (const { input, object, source } of inputs.flatMap((input) => core.objectsOf(input))) {
    const last = ledger.of(input);
    const known = byObject.get(object);
    if (known !== undefined && (known.position ?? 0) >= (last?.position ?? 0)) continue;
    byObject.set(object, {
      object,
      ...(last && { position: last.position, at: new Date(last.atMs).toISOString(), by: causeText(last.cause) }),
      ...(source !== undefined && { source }),
    });
  }
  return [...byObject.values()].sort((a, b) => (b.position ?? 0) - (a.position ?? 0));
}

/**
 * The latest of the objects that changed between the old content and the new one. With none of those there, one that
 * was removed meanwhile has caused it.
 */
function causesOf(
  { ledger }: ExplainSources,
  madeFrom: readonly Origin[],
  { from, position }: ResourceChange,
): readonly string[] {
  const positions = madeFrom.flatMap(({ position: at }) =>
    at !== undefined && at > from && at <= position ? [at] : [],
  );
  if (positions.length === 0) {
    return ledger.removed(from, position).map((input) => `${input.replace(/^config\//, "")} (removed)`);
  }
  const latest = Math.max(...positions);
  return madeFrom.filter(({ position: at }) => at === latest).map(({ object }) => object);
}

function differencesOf(before: Resource | undefined, after: Resource): readonly Difference[] {
  const json = ({ typeUrl, bytes }: Resource) => withoutSecrets(bytesToJson(typeUrl, bytes));
  return before === undefined ? [] : jsonDifferences(json(before), json(after)).slice(0, maxDifferences);
}

function deliveryOf(stream: StreamRecord, type: string, name: string): Readonly<Record<string, unknown>> {
  const record = stream.types().get(type);
  // Some types are made for every name: that there is one does not mean that the proxy subscribes to it.
  if (record === undefined || (record.subscribed !== "*" && !record.names().has(name))) return { asked: false };
  const { sent, acknowledged, rejection, isDue } = record;
  const at = (receipt: typeof sent) =>
    receipt && {
      position: receipt.position,
      at: new Date(receipt.atMs).toISOString(),
      nonce: receipt.nonce,
      ...(receipt.applied && { cause: appliedText(receipt.applied) }),
    };
  return {
    asked: true,
    due: isDue,
    ...(sent && { sent: at(sent) }),
    ...(acknowledged && { acknowledged: at(acknowledged) }),
    ...(rejection && { refused: rejection.message }),
  };
}
