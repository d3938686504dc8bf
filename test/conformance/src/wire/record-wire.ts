/** Records the resources that a control plane sends to a scenario's proxies, stage by stage. */
import type { JsonObject, JsonValue } from "@flotilla/proto";
import { shortTypes, usualForm } from "@flotilla/xds/client";
import type { Capture, Expected, Scenario } from "../scenarios/scenario.ts";
import type { OpenPlane, Plane } from "./plane.ts";
import { kindOf, openStreams, type Stream } from "./run-wire.ts";

/** An istiod may read its sources late: an answer counts when this long nothing arrived and fresh streams get the same. */
const usualQuietMs = 700;
const firstAnswerMs = 20_000;
/** How long a change of a source may need until it arrives. */
const changeMs = 2_000;
const mostRounds = 10;

/** By stage; only the first one where steps cannot be made. */
export async function recordOverWire(
  scenario: Scenario,
  open: OpenPlane,
  quietMs = usualQuietMs,
): Promise<readonly Expected[]> {
  await using plane = await open(scenario);
  const recorded: Expected[] = [];
  for (const [index, stage] of scenario.stages.entries()) {
    if (index > 0) {
      if (plane.apply === undefined) break;
      plane.apply(stage.step);
      await untilChanged(() => captureAll(plane, scenario, quietMs), recorded.at(-1));
    }
    recorded.push(await untilEqual(() => captureAll(plane, scenario, quietMs)));
  }
  return recorded;
}

/** A step without an effect on any proxy is over when its time is. */
async function untilChanged(capture: () => Promise<Expected>, before: Expected | undefined): Promise<void> {
  const deadline = performance.now() + changeMs;
  while (performance.now() < deadline) if (textOf(await capture()) !== textOf(before)) return;
}

/** Two captures in a row are equal. @throws Error when they never are */
async function untilEqual(capture: () => Promise<Expected>): Promise<Expected> {
  let before = "";
  for (let round = 0; round < mostRounds; round++) {
    const captured = await capture();
    if (textOf(captured) === before) return captured;
    before = textOf(captured);
  }
  throw new Error(`${mostRounds} captures in a row differ`);
}

async function captureAll(plane: Plane, scenario: Scenario, quietMs: number): Promise<Expected> {
  const [port] = Object.entries(plane.ports);
  if (port === undefined) throw new Error("the control plane has no port");
  const one: Plane = { ...plane, ports: Object.fromEntries([port]) };
  const streams = (
    await Promise.all(
      (["sotw", "delta"] as const).map((form) =>
        openStreams(one, scenario, { forms: [form], wants: (proxy) => usualForm[kindOf(proxy)] === form }),
      ),
    )
  ).flat();
  try {
    return new Map(
      await Promise.all(streams.map(async (stream) => [stream.proxy.name, await captureOne(stream, quietMs)] as const)),
    );
  } finally {
    await Promise.all(streams.map(({ session }) => session[Symbol.asyncDispose]()));
  }
}

async function captureOne({ name, session }: Stream, quietMs: number): Promise<Capture> {
  const missing = await session.settle({ answerMs: firstAnswerMs, quietMs });
  if (missing.length > 0) throw session.lastError ?? new Error(`${name}: no answer for ${missing.join(", ")}`);
  return new Map(
    Object.keys(shortTypes).flatMap((type) => {
      const resources = session.capture().get(type);
      if (resources === undefined) return [];
      const sorted = [...resources].sort(([a], [b]) => (a < b ? -1 : 1));
      return [[type, new Map(sorted.map(([key, value]) => [key, typed(type, value)]))] as const];
    }),
  );
}

/** In the canonical order of keys. */
function typed(type: string, resource: JsonObject): JsonObject {
  return sortKeys({ ...resource, "@type": shortTypes[type] ?? "" }) as JsonObject;
}

function sortKeys(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sortKeys(item)]));
}

function textOf(expected: Expected | undefined): string {
  return JSON.stringify(
    [...(expected ?? [])].map(([proxy, capture]) => [
      proxy,
      [...capture].map(([type, resources]) => [type, [...resources]]),
    ]),
  );
}
