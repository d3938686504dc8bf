/**
 * Follows one server over ADS as long as it takes: in delta form where the server supports it, else as state of the world, which servers of
 * this protocol have always supported. A server that accepts a delta stream and sends nothing on it counts as one that does not support it.
 */
import { isObject } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { type Node, NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import type { ClientRequest, Form } from "@flotilla/xds";
import {
  type ClientOptions,
  type ClientResponse,
  type ClientTransport,
  type NameReader,
  XdsClient,
} from "@flotilla/xds/client";
import { resourceName } from "./read-resource.ts";

interface McpClientOptions extends Pick<ClientOptions, "onUpdate"> {
  readonly transport: ClientTransport;
  readonly node: Node;
  readonly typeUrls: readonly string[];
  readonly random: () => number;
  /** Names that are not taken, and why. State of the world: the response holds everything there is of its type. */
  readonly refusals: (response: ClientResponse, form: Form) => ReadonlyMap<string, string>;
  /** Validates large objects of a response before `refusals` is called with it. */
  readonly prepare?: (response: ClientResponse) => Promise<void> | undefined;
  /** Undefined: connected. */
  readonly onConnection: (failure: string | undefined) => void;
  /** How long a delta stream may stay without an answer. */
  readonly deltaPatienceMs?: number;
}

const unimplemented = 12;
const backoffFromMs = 500;
const backoffToMs = 30_000;

interface McpNode {
  readonly namespace: string;
  readonly instance: string;
  readonly revision: string;
  readonly version: string;
}

/** Servers recognize by GENERATOR that configuration is asked for, and by the id who asks. */
export function mcpNode({ namespace, instance, revision, version }: McpNode): Node {
  const metadata = { GENERATOR: "api", NAMESPACE: namespace, ISTIO_REVISION: revision, ISTIO_VERSION: version };
  return create(NodeSchema, {
    id: `sidecar~127.0.0.1~${instance}.${namespace}~${namespace}.svc.cluster.local`,
    metadata,
  });
}

/** Runs until `stop` fires. */
export async function followServer(options: McpClientOptions, stop: AbortSignal): Promise<void> {
  const form = (await followAs("delta", options, stop)) === "speaks no delta" ? "sotw" : "delta";
  if (!stop.aborted) await followAs(form, options, stop);
}

async function followAs(
  form: Form,
  options: McpClientOptions,
  stop: AbortSignal,
): Promise<"stopped" | "speaks no delta"> {
  const {
    transport,
    node,
    random,
    refusals,
    prepare,
    onConnection,
    onUpdate,
    typeUrls,
    deltaPatienceMs = 3_000,
  } = options;
  const giveUp = new AbortController();
  let isAnswered = false;
  let patience: NodeJS.Timeout | undefined;
  const client: XdsClient = new XdsClient({
    ...{ transport, node, form },
    // The server speaks the form, however long its objects take to be validated.
    prepare: (response) => {
      isAnswered = true;
      clearTimeout(patience);
      return prepare?.(response);
    },
    refusals: (response) => refusals(response, form),
    keepBytes: false,
    nameOf,
    holdAnswerMs: answerHolder(),
    backoffMs: (failures) => Math.min(backoffFromMs * 2 ** failures, backoffToMs) * (0.5 + random() / 2),
    onUpdate: (update) => {
      isAnswered = true;
      clearTimeout(patience);
      onConnection(undefined);
      onUpdate?.(update);
    },
    onConnection: (event, error) => {
      clearTimeout(patience);
      const mayGiveUp = form === "delta" && !isAnswered;
      if (event === "opened") {
        if (mayGiveUp) patience = setTimeout(() => giveUp.abort(), deltaPatienceMs);
        return;
      }
      if (mayGiveUp && isObject(error) && error["code"] === unimplemented) return giveUp.abort();
      onConnection(failureText(error));
    },
  });
  for (const typeUrl of typeUrls) client.subscribe(typeUrl);
  await client.run(AbortSignal.any([stop, giveUp.signal]));
  clearTimeout(patience);
  return stop.aborted ? "stopped" : "speaks no delta";
}

/** The mesh's own configuration is the bare message, and there is one. */
const nameOf: NameReader = (bytes, typeUrl) => (typeUrl.endsWith(".MeshConfig") ? "" : resourceName(bytes));

function failureText(error: unknown): string {
  if (error === undefined) return "the server ended the stream";
  return error instanceof Error ? error.message : String(error);
}

const firstMs = 1_000;
const maxMs = 60_000;

/**
 * Refusals of the same thing again and again wait longer each time: some servers take a refusal for a question. How long to
 * wait before an answer is sent.
 */
export function answerHolder(): (answer: ClientRequest) => number {
  const refusals = new Map<string, { readonly message: string; readonly waitMs: number }>();
  return ({ typeUrl, error }) => {
    if (error === undefined) {
      refusals.delete(typeUrl);
      return 0;
    }
    const before = refusals.get(typeUrl);
    const waitMs = before?.message === error.message ? Math.min(Math.max(before.waitMs * 2, firstMs), maxMs) : 0;
    refusals.set(typeUrl, { message: error.message, waitMs });
    return waitMs;
  };
}
