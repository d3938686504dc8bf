/**
 * Validation of large objects in a thread: rules take 0.4 to 3 µs a byte in one step, and a body of megabytes would hold up everything else that
 * the process answers. The first large object starts the thread; one that is not needed for a minute ends.
 */
import { Worker } from "node:worker_threads";
import { isObject, ownValue } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import type { JsonObject } from "../schema/schema.ts";
import { type GatewayRole, type ServedKinds, usualNames } from "../semantic/shared/served-kinds.ts";

/** Objects of more JSON, in bytes or characters, are validated aside: those of less take less than 100 ms. */
export const maxInlineLength = 32_768;
/** Texts that may wait for the thread, together, in bytes or characters. */
const maxWaitingLength = 64 * 1024 * 1024;
/** The thread is ended at an object that takes longer. */
const defaultTimeLimitMs = 60_000;
const idleMs = 60_000;
/** Of one object; the rest is counted. */
const maxReported = 1_000;
const maxThreadMemoryMb = 256;

export interface LargeObject {
  /** JSON that holds the object. */
  readonly json: string | Uint8Array;
  /** Where in it the object is: the names of the fields that lead there. */
  readonly at?: readonly string[];
  /** As it was parsed, to decide if the mesh serves it, which the thread cannot. */
  readonly object: JsonObject;
}

export interface ThreadOptions {
  readonly served?: ServedKinds;
  /** Values of EnvoyFilters are held against Envoy's types. */
  readonly patchValues?: boolean;
  readonly timeLimitMs?: number;
}

/** The message to the thread: the text, and answers that it cannot ask for. */
export interface ThreadTask {
  readonly json: string | Uint8Array;
  readonly at: readonly string[];
  readonly role: GatewayRole | undefined;
  readonly isServedIngress: boolean;
  readonly patchValues: boolean;
}

/** One object at a time, in the order in which they were asked for. */
export class ValidationThread implements AsyncDisposable {
  readonly #options: ThreadOptions;
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: ThreadOptions = {}) {
    this.#options = options;
  }

  /** Characters of the objects that wait or are being validated. */
  get waitingLength(): number {
    return this.#waiting;
  }

  /** Never rejects: an object that cannot be validated is refused with the reason. The first thousand problems, and how many more there are. */
  async validate({ json, at = [], object }: LargeObject): Promise<readonly Problem[]> {
    if (this.#waiting + json.length > maxWaitingLength)
      return refusal("cannot be validated now: other large objects wait already, try again later");
    const { served = usualNames, patchValues = false } = this.#options;
    const task = { json, at, ...servedAs(object, served), patchValues };
    this.#waiting += json.length;
    const result = this.#last.then(() => this.#run(task));
    this.#last = result;
    try {
      return await result;
    } finally {
      this.#waiting -= json.length;
    }
  }

  async #run(task: ThreadTask): Promise<readonly Problem[]> {
    clearTimeout(this.#idle);
    const { timeLimitMs = defaultTimeLimitMs } = this.#options;
    const worker = this.#worker ?? startThread();
    this.#worker = worker;
    const { promise, resolve } = Promise.withResolvers<readonly Problem[] | string>();
    const onError = (error: Error): void => resolve(`cannot be validated: ${error.message}`);
    const timer = setTimeout(() => resolve(`cannot be validated within ${timeLimitMs / 1_000} s`), timeLimitMs);
    const onExit = (): void => resolve("cannot be validated: the process ends");
    worker.once("message", resolve).once("error", onError).once("exit", onExit);
    worker.postMessage(task);
    const found = await promise;
    clearTimeout(timer);
    worker.off("message", resolve).off("error", onError).off("exit", onExit);
    if (typeof found === "string") {
      await this[Symbol.asyncDispose]();
      return refusal(found);
    }
    this.#idle = setTimeout(() => void this[Symbol.asyncDispose](), idleMs).unref();
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}

function startThread(): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: maxThreadMemoryMb };
  const options = { name: "validation", env: {}, execArgv: [], resourceLimits };
  const worker = new Worker(new URL("../../bin/validation-thread.ts", import.meta.url), options);
  // The timer of an object keeps the process running, an idle thread does not.
  worker.unref();
  return worker;
}

function refusal(reason: string): readonly Problem[] {
  return [{ field: "", reason: `the object ${reason}`, severity: "error" }];
}

/** Only the main thread has the list of kinds that the mesh serves. */
function servedAs(
  { metadata, spec }: JsonObject,
  { gatewayRole, isServedIngress }: ServedKinds,
): Pick<ThreadTask, "role" | "isServedIngress"> {
  const textOf = (of: unknown, name: string): string | undefined => {
    const value = isObject(of) ? ownValue(of, name) : undefined;
    return typeof value === "string" ? value : undefined;
  };
  const annotations = isObject(metadata) ? ownValue(metadata, "annotations") : undefined;
  const ingress = {
    annotation: textOf(annotations, "kubernetes.io/ingress.class"),
    className: textOf(spec, "ingressClassName"),
  };
  return { role: gatewayRole(textOf(spec, "gatewayClassName") ?? ""), isServedIngress: isServedIngress(ingress) };
}

/** The first of them, errors first, with a last one that counts the rest. */
export function shortened(problems: readonly Problem[]): readonly Problem[] {
  if (problems.length <= maxReported + 1) return problems;
  const [errors, warnings] = [
    problems.filter(({ severity }) => severity === "error"),
    problems.filter(({ severity }) => severity === "warning"),
  ];
  const kept = [...errors, ...warnings].slice(0, maxReported);
  const severity = errors.length > maxReported ? "error" : "warning";
  return [...kept, { field: "", reason: `${problems.length - maxReported} more problems are not listed`, severity }];
}
