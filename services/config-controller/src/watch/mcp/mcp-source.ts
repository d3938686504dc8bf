/**
 * The configuration of another control plane or registry, requested over xDS (MCP). A kind at a time: one that the server does not answer
 * holds up nothing. Received objects stay in force while the server is away; those on the fleet's stream outlive a restart, until the
 * server answers again.
 */
import { type Kind, mcpTypeUrls } from "@flotilla/kinds";
import { type ConfigChange, type ConfigKey, configKeyText } from "@flotilla/model";
import type { Node } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { delay, type Logger, Wakeup } from "@flotilla/runtime";
import { type Admission, PendingChanges, type SourceProblem } from "@flotilla/sources";
import type { Form } from "@flotilla/xds";
import type { ClientResponse, ClientTransport, ClientUpdate, ReceivedResource } from "@flotilla/xds/client";
import type { ConfigGroup, ConfigSource, SourceCondition } from "../config-source.ts";
import { followServer } from "./mcp-client.ts";
import { McpTable } from "./mcp-table.ts";
import { ReceivedKinds } from "./received-kinds.ts";

export interface McpOptions {
  /** `xds://host:port`, for people. */
  readonly name: string;
  readonly transport: ClientTransport;
  readonly node: Node;
  readonly kinds: readonly Kind[];
  /** A type besides the kinds, whose one resource goes to `onDocument`. */
  readonly document?: { readonly typeUrl: string; readonly onDocument: (bytes: Uint8Array | undefined) => void };
  readonly revision: string;
  readonly admission: Admission;
  readonly log: Logger;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly onProblems: () => void;
  /** How long the first group waits for the server; others of the mesh wait with it. */
  readonly patienceMs?: number;
  /** Once it answers kinds, how long the others may take until the first group goes without them. */
  readonly quietMs?: number;
  /** And until they count as kinds that the server does not have. */
  readonly absentMs?: number;
  /** With what the server is, from the last success or the start on, it counts for the readiness of the service. */
  readonly readiness?: ReadinessPolicy;
  /** Runs as long as the source is followed. */
  readonly accompany?: (stop: AbortSignal) => Promise<void>;
  /** How long a delta stream may stay without an answer until the server counts as one that speaks none. */
  readonly deltaPatienceMs?: number;
}

export interface McpSource extends ConfigSource {
  state(): McpState;
}

const gatherMs = 10;
const lookMs = 100;

export function mcpSource(options: McpOptions): McpSource {
  return new Mcp(options);
}

class Mcp implements McpSource {
  readonly name: string;
  readonly #options: Required<Pick<McpOptions, "patienceMs" | "quietMs" | "absentMs">> & McpOptions;
  readonly #tables: ReadonlyMap<string, McpTable>;
  readonly #typeUrlOf: ReadonlyMap<string, string>;
  readonly #kinds: ReceivedKinds;
  readonly #wakeup = new Wakeup();
  readonly #pending: PendingChanges<ConfigChange>;
  #isDocumentReceived: boolean;
  #away: McpState["away"];
  #answeredAtMs: number | undefined;

  constructor(options: McpOptions) {
    this.name = options.name;
    this.#options = { patienceMs: 5_000, quietMs: 1_000, absentMs: 10_000, ...options };
    const { kinds, name: source, revision, admission, nowMs } = options;
    this.#pending = new PendingChanges({ nameOf: ({ key }) => configKeyText(key), nowMs });
    const named = kinds.map((kind) => [mcpTypeUrls(kind)[0] ?? kind.name, kind] as const);
    this.#tables = new Map(named.map(([url, kind]) => [url, new McpTable({ kind, source, revision, admission })]));
    this.#kinds = new ReceivedKinds(this.#tables.keys());
    this.#typeUrlOf = new Map(named.map(([url, { name }]) => [name, url]));
    this.#isDocumentReceived = options.document === undefined;
    this.#away = { sinceMs: nowMs(), reason: "not connected yet" };
  }

  async *groups(stop: AbortSignal): AsyncGenerator<ConfigGroup, void, undefined> {
    const { nowMs, patienceMs } = this.#options;
    const ended = new AbortController();
    const running = AbortSignal.any([stop, ended.signal]);
    const deadlineMs = nowMs() + patienceMs;
    let failure: { readonly cause: unknown } | undefined;
    const accompanying = this.#options.accompany?.(running) ?? Promise.resolve();
    const following = Promise.all([this.#follow(running), accompanying]).catch((cause: unknown) => {
      failure = { cause };
      this.#wakeup.wake();
    });
    let isFirst = true;
    try {
      while (!stop.aborted && failure === undefined) {
        this.#passSilence();
        const isDue = isFirst
          ? this.#isSettled() || nowMs() >= deadlineMs
          : !this.#pending.isEmpty || this.#kinds.isMore;
        if (!isDue) {
          await this.#wakeup.wait(running, this.#kinds.isComplete && this.#isDocumentReceived ? undefined : lookMs);
          continue;
        }
        if (!isFirst) await delay(gatherMs, running);
        yield this.#take(isFirst);
        isFirst = false;
      }
      if (failure !== undefined && !stop.aborted) throw failure.cause;
    } finally {
      ended.abort();
      await following;
    }
  }

  problems(): readonly SourceProblem[] {
    const place = { file: "", line: 0, object: this.name };
    const away = this.#away === undefined ? [] : [{ ...place, reason: `unreachable: ${this.#away.reason}` }];
    const silent = [...this.#kinds.silent].map((url) => ({
      ...place,
      field: url,
      reason: "is not answered by the server",
    }));
    return [...away, ...silent, ...[...this.#tables.values()].flatMap((table) => table.problems)];
  }

  isIncomplete({ kind }: ConfigKey): boolean {
    return this.#kinds.isIncomplete(this.#typeUrlOf.get(kind) ?? "");
  }

  state(): McpState {
    return { isSynced: this.#kinds.isComplete, away: this.#away };
  }

  condition(): SourceCondition | undefined {
    const { readiness = { isRequired: true, maxAgeMs: undefined }, nowMs } = this.#options;
    return conditionOf(this.state(), readiness, nowMs());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Its resources are released when its groups end.
  }

  #follow(stop: AbortSignal): Promise<void> {
    const { transport, node, random, document, deltaPatienceMs } = this.#options;
    const typeUrls = [...(document === undefined ? [] : [document.typeUrl]), ...this.#tables.keys()];
    const refusals = (response: ClientResponse, form: Form) => this.#read(response, form);
    const prepare = ({ typeUrl, resources }: ClientResponse) => this.#tables.get(typeUrl)?.prepare(resources);
    const onUpdate = (update: ClientUpdate) => this.#handleUpdate(update);
    const onConnection = (failure: string | undefined) => this.#noteConnection(failure);
    const patience = deltaPatienceMs === undefined ? {} : { deltaPatienceMs };
    const handlers = { refusals, prepare, onUpdate, onConnection };
    return followServer({ transport, node, typeUrls, random, ...handlers, ...patience }, stop);
  }

  /** Takes what is good, and returns what is not: with it the server learns why. */
  #read({ typeUrl, resources }: ClientResponse, form: Form): ReadonlyMap<string, string> {
    const table = this.#tables.get(typeUrl);
    if (table === undefined) return new Map();
    if (form === "sotw") this.#emit(table.retain(new Set(resources.map(({ name }) => name))));
    const refused = new Map<string, string>();
    for (const resource of resources) {
      this.#emit(table.put(resource));
      const reason = table.refusalOf(resource.name);
      if (reason !== undefined) refused.set(resource.name, reason);
    }
    return refused;
  }

  #handleUpdate({ typeUrl, changed, removed }: ClientUpdate): void {
    const { document, nowMs, onProblems } = this.#options;
    if (typeUrl === document?.typeUrl) {
      this.#isDocumentReceived = true;
      document.onDocument(bytesOf(changed));
      return;
    }
    for (const name of removed) this.#emit(this.#tables.get(typeUrl)?.remove(name) ?? []);
    this.#answeredAtMs = nowMs();
    this.#kinds.answered(typeUrl);
    onProblems();
    this.#wakeup.wake();
  }

  #passSilence(): void {
    const { nowMs, quietMs, absentMs, log, name, document, onProblems } = this.#options;
    if (!this.#isDocumentReceived && this.#isQuietFor(quietMs, nowMs())) {
      this.#isDocumentReceived = true;
      document?.onDocument(undefined);
    }
    if (this.#kinds.isComplete || !this.#isQuietFor(absentMs, nowMs())) return;
    const silent = this.#kinds.passSilence();
    log.warn("list of kinds not available", { source: name, kinds: silent });
    onProblems();
  }

  #isQuietFor(ms: number, nowMs: number): boolean {
    return this.#away === undefined && this.#answeredAtMs !== undefined && nowMs - this.#answeredAtMs >= ms;
  }

  #isSettled(): boolean {
    return this.#kinds.isComplete || this.#isQuietFor(this.#options.quietMs, this.#options.nowMs());
  }

  #take(isFirst: boolean): ConfigGroup {
    const isComplete = isFirst || this.#kinds.isMore;
    this.#kinds.noteGroup(isComplete);
    const { changes, eventTimeMs } = this.#pending.take();
    return { changes, eventTimeMs, ...(isComplete && { isComplete }) };
  }

  #emit(changes: readonly ConfigChange[]): void {
    for (const change of changes) this.#pending.add(change);
  }

  #noteConnection(failure: string | undefined): void {
    const { log, nowMs, name, onProblems } = this.#options;
    if (failure === undefined && this.#away === undefined) return;
    if (failure === undefined) log.info("connected", { source: name });
    else if (this.#away?.reason !== failure) log.warn("away", { source: name, reason: failure });
    this.#away = failure === undefined ? undefined : { sinceMs: this.#away?.sinceMs ?? nowMs(), reason: failure };
    onProblems();
    this.#wakeup.wake();
  }
}

function bytesOf([resource]: readonly ReceivedResource[]): Uint8Array | undefined {
  return resource?.bytes;
}

interface ReadinessPolicy {
  /** The service is not ready before the source has sent all it was asked for. */
  readonly isRequired: boolean;
  /** A required source that is away for longer makes the service not ready; undefined: never. */
  readonly maxAgeMs: number | undefined;
}

/** The state of a source: synced once it has sent all it was asked for, and if it is away since when and why. */
interface McpState {
  readonly isSynced: boolean;
  readonly away: { readonly sinceMs: number; readonly reason: string } | undefined;
}

/** How the state of a source counts for the readiness of the service. Undefined: there is nothing to report. */
function conditionOf(
  { isSynced, away }: McpState,
  { isRequired, maxAgeMs }: ReadinessPolicy,
  nowMs: number,
): SourceCondition | undefined {
  if (away === undefined) return isSynced ? undefined : { detail: "has not sent everything yet", blocks: isRequired };
  const isTooOld = maxAgeMs !== undefined && nowMs - away.sinceMs > maxAgeMs;
  return { detail: `unreachable: ${away.reason}`, blocks: isRequired && (!isSynced || isTooOld) };
}
