/** Compares the answers to one request, sent once for each value of Envoy's random number, with the evaluator's prediction. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { until } from "@flotilla/runtime";
import type { Trace, TracedDestination } from "@flotilla/traffic";
import type { Answer } from "../client.ts";
import { choiceHeader } from "./pinned-choice.ts";
import { idHeader, type RecordingBackend } from "./recording-backend.ts";

interface Copies {
  readonly cluster: string;
  /** Percentage of the requests that are mirrored. */
  readonly share: number;
}

/** `d0` of `outbound|80||d0.shop.svc.cluster.local`. */
function serviceOf(cluster: string): string {
  return /\|([^|.]+)[^|]*$/.exec(cluster)?.[1] ?? cluster;
}

/** Copies that the evaluator predicts. */
function copiesOf({ hops }: Trace): readonly Copies[] {
  return hops.flatMap(({ facts }) =>
    facts.flatMap((fact) => {
      const [, share, cluster = ""] = /^A copy of ([\d.]+) % of the requests goes to (\S+)\.$/.exec(fact) ?? [];
      return share === undefined ? [] : [{ share: Number(share), cluster }];
    }),
  );
}

export interface AskedSplit {
  readonly trace: Trace;
  /** Sum of the weights. */
  readonly sum: number;
  readonly base: number;
  readonly backends: readonly RecordingBackend[];
  /** Names the request in messages. */
  readonly what: string;
  /** Sends the request with additional headers. */
  readonly ask: (headers: Readonly<Record<string, string>>) => Promise<Answer>;
}

/** A request that was answered. */
export interface Answered {
  readonly id: string;
  /** Name of the back end that answered. */
  readonly by: string;
}

/** The answered requests; `expectNoMoreCopies` takes them later. */
export async function expectSplit(asked: AskedSplit): Promise<readonly Answered[]> {
  const { trace, sum, base, backends, what, ask } = asked;
  const answered: Answered[] = [];
  for (let number = 0; number < sum; number++) {
    const id = randomUUID();
    const { status, reply, body } = await ask({ [choiceHeader]: String(base + number), [idHeader]: id });
    assert.deepEqual([status, reply !== undefined], [200, true], `${what} (${body})`);
    const by = reply?.version ?? "";
    answered.push({ id, by });
    const destination = trace.destinations.find(({ cluster }) => serviceOf(cluster) === by);
    assert.ok(destination !== undefined, `${by} answered ${what}`);
    expectRequest(destination, reply?.path ?? "", reply?.headers ?? {}, what);
  }
  const counted = (of: TracedDestination) => answered.filter(({ by }) => by === serviceOf(of.cluster)).length;
  const expected = (of: TracedDestination) => Math.round((of.share * sum) / 100);
  assert.deepEqual(trace.destinations.map(counted), trace.destinations.map(expected), what);
  for (const one of answered)
    for (const backend of backends) {
      const { least } = copiesAt(trace, backend);
      const have = () => copiesAmong(backend, one).length >= least;
      await until(have, { withinMs: 10_000, what: `${least} copies at ${backend.name} of ${what}` });
    }
  return answered;
}

/** Checks copies once all of them have had time to arrive; returns their number. */
export function expectNoMoreCopies(
  trace: Trace,
  answered: readonly Answered[],
  backends: readonly RecordingBackend[],
): number {
  const paths = new Set(trace.destinations.map(({ request }) => request.Path));
  let count = 0;
  for (const one of answered)
    for (const backend of backends) {
      const { least, most } = copiesAt(trace, backend);
      const found = copiesAmong(backend, one);
      assert.ok(found.length >= least && found.length <= most, `${found.length} copies at ${backend.name}`);
      for (const path of found) assert.ok(paths.has(path), `a copy with the path ${path}`);
      count += found.length;
    }
  return count;
}

function expectRequest(
  { request }: TracedDestination,
  path: string,
  headers: Readonly<Record<string, unknown>>,
  what: string,
): void {
  assert.deepEqual(
    [path, headers["host"], headers["x-to"]],
    [request.Path, request.HostHeader, request.Headers["x-to"]],
    what,
  );
}

/** Paths of the copies; the back end that answered also recorded the request itself. */
function copiesAmong(backend: RecordingBackend, { id, by }: Answered): readonly string[] {
  const reached = backend.pathsOf(id);
  return backend.name === by ? reached.slice(1) : reached;
}

function copiesAt(trace: Trace, { name }: RecordingBackend): { readonly least: number; readonly most: number } {
  const own = copiesOf(trace).filter(({ cluster }) => serviceOf(cluster) === name);
  return { least: own.filter(({ share }) => share === 100).length, most: own.length };
}
