/**
 * Traces of changes, off unless a collector is named: OTLP over HTTP in JSON, as every OpenTelemetry collector takes it. A trace is known
 * by a name that all services have (publisher, start and revision of a change), so that nothing travels with the change: ids are
 * hashes of the name, and every service decides alike whether a trace is sampled.
 */
import { hash, randomUUID } from "node:crypto";
import type { Logger } from "../logger.ts";
import { decimal, url } from "../settings/kinds.ts";
import type { SettingsOf } from "../settings/settings.ts";
import { delay, Wakeup } from "../wait.ts";

/** Names of OpenTelemetry's own settings. */
export const tracingSettings = {
  traceEndpoint: url({
    env: "OTEL_EXPORTER_OTLP_ENDPOINT",
    default: undefined,
    schemes: ["http", "https"],
    sentence: "OpenTelemetry collector that gets traces of changes, by OTLP over HTTP (port 4318); none if not set.",
  }),
  traceShare: decimal({
    env: "OTEL_TRACES_SAMPLER_ARG",
    default: 1,
    min: 0,
    max: 1,
    sentence: "Share of changes whose traces are sent, the same ones by every service.",
  }),
} as const;

/** A part of a trace with its begin and end in milliseconds since 1970. */
export interface Span {
  /** The name of the trace, the same in every service. */
  readonly trace: string;
  readonly name: string;
  /** The first span of a trace, which the others are children of. */
  readonly isRoot?: boolean;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
}

/** Takes spans; never waits and never throws. */
export interface Tracer {
  record(span: Span): void;
}

export interface TracerOptions extends SettingsOf<typeof tracingSettings> {
  readonly service: string;
  readonly version: string;
  readonly log: Logger;
}

/** Spans that wait; more are dropped and counted in the log. */
const mostWaiting = 4_096;
const mostInBatch = 512;
const gatherMs = 500;
const answerMs = 10_000;

/** A tracer and the loop that sends; undefined without an endpoint. */
export function createTracer(options: TracerOptions): (Tracer & { run(stop: AbortSignal): Promise<void> }) | undefined {
  const { traceEndpoint, traceShare, log } = options;
  if (traceEndpoint === undefined) return undefined;
  // Replicas in containers have one process id.
  const exporter = { ...options, instance: randomUUID() };
  const address = new URL("v1/traces", traceEndpoint.endsWith("/") ? traceEndpoint : `${traceEndpoint}/`).href;
  const waiting: Span[] = [];
  const added = new Wakeup();
  let [dropped, isFailing] = [0, false];
  const send = async (): Promise<void> => {
    const batch = waiting.splice(0, mostInBatch);
    if (batch.length === 0) return;
    const failure = await post(address, bodyOf(batch, exporter));
    if (failure !== undefined) dropped += batch.length;
    if (failure !== undefined && !isFailing)
      log.warn("traces cannot be sent", { endpoint: traceEndpoint, reason: failure });
    if (failure === undefined && isFailing) log.info("traces are sent again", { dropped });
    isFailing = failure !== undefined;
  };
  return {
    record: (span) => {
      if (!isSampled(span.trace, traceShare)) return;
      if (waiting.length >= mostWaiting) dropped++;
      else waiting.push(span);
      added.wake();
    },
    run: async (stop) => {
      while (!stop.aborted) {
        await added.wait(stop);
        await delay(gatherMs, stop);
        while (waiting.length > 0 && !stop.aborted) await send();
      }
      // The remaining spans get one attempt.
      await send();
    },
  };
}

/** The reason of a failure. */
async function post(address: string, body: string): Promise<string | undefined> {
  try {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(address, { method: "POST", headers, body, signal: AbortSignal.timeout(answerMs) });
    await answer.arrayBuffer();
    return answer.ok ? undefined : `${address} answers ${answer.status}`;
  } catch (error) {
    const { cause, message } = error as Error;
    return cause instanceof Error ? cause.message : message;
  }
}

function digestOf(text: string): string {
  return hash("sha256", text, "hex");
}

/** By the trace alone, so that all of its spans are sent or none. */
function isSampled(trace: string, share: number): boolean {
  return share >= 1 || Number.parseInt(digestOf(trace).slice(0, 8), 16) / 2 ** 32 < share;
}

interface Exporter extends Pick<TracerOptions, "service" | "version"> {
  /** Different in each process. */
  readonly instance: string;
}

/** An ExportTraceServiceRequest in OTLP's JSON. */
function bodyOf(spans: readonly Span[], { service, version, instance }: Exporter): string {
  const attributes = {
    "service.name": `flotilla-${service}`,
    "service.version": version,
    "service.instance.id": instance,
  };
  const scopeSpans = [{ scope: { name: "flotilla", version }, spans: spans.map((span) => otlpSpan(span, instance)) }];
  return JSON.stringify({ resourceSpans: [{ resource: { attributes: otlpAttributes(attributes) }, scopeSpans }] });
}

const internalKind = 1;

function otlpSpan({ trace, name, isRoot = false, startMs, endMs, attributes }: Span, instance: string) {
  const digest = digestOf(trace);
  const root = digest.slice(32, 48);
  return {
    traceId: digest.slice(0, 32),
    spanId: isRoot ? root : digestOf(`${trace} ${instance} ${name}`).slice(0, 16),
    ...(!isRoot && { parentSpanId: root }),
    ...{ name, kind: internalKind, startTimeUnixNano: nanoseconds(startMs), endTimeUnixNano: nanoseconds(endMs) },
    attributes: otlpAttributes(attributes),
  };
}

/** 64-bit integers are texts in JSON. */
function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n);
}

function otlpAttributes(values: Readonly<Record<string, string | number>>) {
  return Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === "string" ? { stringValue: value } : { intValue: String(Math.round(value)) },
  }));
}
