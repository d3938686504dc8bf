/**
 * `pnpm bench:analysis [--services N] [--rounds N]`: analysis of a mesh of 2,000 services, 4,000 pods and 3,000 objects from cold, and
 * after one change of several kinds. Prints medians and the worst of the rounds as JSON.
 */
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { assumedObjects, createAnalyzers, MeshAnalysis, type MeshObject, meshObject } from "@flotilla/analysis";
import { destinationRule, meshObjects, namespace, pod, service, virtualService } from "./mesh-objects.ts";

const { values } = parseArgs({
  options: { services: { type: "string", default: "2000" }, rounds: { type: "string", default: "9" } },
});
const [services, rounds] = [Number(values.services), Number(values.rounds)];
const validityOf = () => ({ notBeforeMs: 0, notAfterMs: Number.MAX_SAFE_INTEGER });

function seen(object: unknown): MeshObject {
  const found = meshObject(object);
  if (found === undefined) throw new Error(`no object: ${JSON.stringify(object)}`);
  return found;
}

const objects = [...assumedObjects("istio-system"), ...meshObjects(services).map(seen)];
const analyzers = createAnalyzers().filter(({ isOptional }) => isOptional !== true);
const cold = timed(() => {
  const analysis = new MeshAnalysis(createAnalyzers(), { nowMs: Date.now, validityOf });
  analysis.apply(objects.map((object) => ({ object })));
  return analysis.findings().length;
});
const analysis = new MeshAnalysis(analyzers, { nowMs: Date.now, validityOf });
analysis.apply(objects.map((object) => ({ object })));
const findings = analysis.findings().length;

/** Alternates there and back, so that each round is a change. */
const changes: Readonly<Record<string, (round: number) => readonly MeshObject[] | MeshObject["key"]>> = {
  "VirtualService edit": (round) => [seen(virtualService(7, `/v${round}`))],
  "DestinationRule edit": (round) => [seen(destinationRule(7, round + 1))],
  "Service edit": (round) => [seen(service(7, round % 2 === 0 ? 81 : 80))],
  "Service removed, or back": (round) => (round % 2 === 0 ? seen(service(9)).key : [seen(service(9))]),
  "Pod added": (round) => [seen(pod(7, 10 + round))],
  "Namespace edit": (round) => [seen(namespace(7, { "istio-injection": round % 2 === 0 ? "disabled" : "enabled" }))],
};
const oneChange = Object.fromEntries(
  Object.entries(changes).map(([name, make]) => [
    name,
    timed((round) => {
      const change = make(round);
      analysis.apply("kind" in change ? [{ removed: change }] : change.map((object) => ({ object })));
      return analysis.findings().length;
    }),
  ]),
);
process.stdout.write(
  `${JSON.stringify({ load: loadavg()[0], services, objects: objects.length, findings, coldMs: cold, oneChangeMs: oneChange }, undefined, 2)}\n`,
);

interface Figures {
  readonly median: number;
  readonly worst: number;
  /** Median of the CPU, with that of the garbage collector's threads: it does not depend on what else runs. */
  readonly cpu: number;
}

function timed(work: (round: number) => number): Figures {
  const measured = Array.from({ length: rounds }, (_, round) => {
    const [began, before] = [performance.now(), process.cpuUsage()];
    work(round);
    const { user, system } = process.cpuUsage(before);
    return { ms: performance.now() - began, cpuMs: (user + system) / 1_000 };
  });
  const sorted = (of: (one: (typeof measured)[number]) => number) => measured.map(of).sort((a, b) => a - b);
  const rounded = (ms: number | undefined) => Math.round((ms ?? 0) * 10) / 10;
  const [times, cpu] = [sorted(({ ms }) => ms), sorted(({ cpuMs }) => cpuMs)];
  const middle = Math.floor(rounds / 2);
  return { median: rounded(times[middle]), worst: rounded(times.at(-1)), cpu: rounded(cpu[middle]) };
}
