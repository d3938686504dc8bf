/**
 * `pnpm bench:patches [SERVICES] [FILTERS]`: what EnvoyFilters cost in the pure core, on one core. Edits of a VirtualService in a mesh
 * with 200 EnvoyFilters and in the same without, alternately, with ten views of namespaces of their own: p50, p99 and CPU. Beside them
 * the edit of one EnvoyFilter, with the number of resources that differ afterwards.
 */
import { loadavg } from "node:os";
import type { KubeObject } from "@flotilla/model";
import { loadMesh } from "@flotilla/registry";
import type { Resource } from "@flotilla/xds";
import { Core } from "../src/app/core.ts";
import { createCoreSource } from "../src/app/core-source.ts";
import { applyOptionsOf } from "../src/testing/apply-options.ts";
import { BenchView } from "./bench-view.ts";
import { meshObjects, virtualServiceOf } from "./mesh-objects.ts";

const viewCount = 10;
const rounds = 40;

/** A mesh whose views are up to date after each edit, and what the edits took. */
class EditedMesh {
  readonly #source = createCoreSource(new Core());
  readonly #views: readonly BenchView[];
  #position = 1;
  #editsMs: number[] = [];
  #cpuMs = 0;

  constructor(services: number, filters: number) {
    const objects = [...meshObjects(services), ...Array.from({ length: filters }, (_, i) => envoyFilterOf(i, "first"))];
    const changes = loadMesh(objects);
    this.#source.apply(changes, applyOptionsOf(changes, 1));
    this.#views = Array.from({ length: viewCount }, (_, i) => new BenchView(this.#source, i, `n${i}`));
    for (const view of this.#views) view.readAll();
  }

  edit(object: KubeObject): void {
    const { name, namespace } = object.metadata;
    const changes = loadMesh([object]).filter(
      ({ key }) => "kind" in key && key.kind === object.kind && key.name === name && key.namespace === namespace,
    );
    const [started, cpu] = [performance.now(), process.cpuUsage()];
    this.#source.apply(changes, applyOptionsOf(changes, ++this.#position));
    for (const view of this.#views) view.readAll();
    this.#editsMs.push(performance.now() - started);
    const { user, system } = process.cpuUsage(cpu);
    this.#cpuMs += (user + system) / 1000;
  }

  /** Those of all views. */
  resources(): readonly Resource[] {
    return this.#views.flatMap((view) => view.resources());
  }

  /** Of the edits since it was asked last. */
  figures() {
    const sorted = this.#editsMs.toSorted((a, b) => a - b);
    const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(2);
    const cpu = (this.#cpuMs / sorted.length).toFixed(2);
    [this.#editsMs, this.#cpuMs] = [[], 0];
    return { edits: sorted.length, "p50, ms": at(0.5), "p99, ms": at(0.99), "CPU an edit, ms": cpu };
  }
}

/** Clusters, routes and virtual hosts of one service each; every tenth a filter of all inbound and outbound listeners. */
function envoyFilterOf(i: number, mark: string): KubeObject {
  return {
    apiVersion: "networking.istio.io/v1alpha3",
    kind: "EnvoyFilter",
    metadata: { name: `filter-${i}`, namespace: "istio-system" },
    spec: { configPatches: [i % 10 === 9 ? httpFilterPatch(i, mark) : (servicePatches(i, mark)[i % 3] ?? {})] },
  };
}

function servicePatches(i: number, mark: string) {
  const host = `svc-${i}.mesh.example`;
  const vhost = { name: `${host}:80` };
  const merge = (value: object) => ({ operation: "MERGE", value });
  return [
    { applyTo: "CLUSTER", match: { cluster: { service: host } }, patch: merge({ alt_stat_name: mark }) },
    {
      applyTo: "HTTP_ROUTE",
      match: { context: "SIDECAR_OUTBOUND", routeConfiguration: { vhost } },
      patch: merge({ decorator: { operation: mark } }),
    },
    {
      applyTo: "VIRTUAL_HOST",
      match: { context: "SIDECAR_OUTBOUND", routeConfiguration: { vhost } },
      patch: merge({ request_headers_to_remove: [mark] }),
    },
  ];
}

function httpFilterPatch(i: number, mark: string) {
  const type = "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua";
  const typedConfig = { "@type": type, default_source_code: { inline_string: `-- ${mark}` } };
  const filter = { name: "envoy.filters.network.http_connection_manager" };
  return {
    applyTo: "HTTP_FILTER",
    match: { listener: { filterChain: { filter } } },
    patch: { operation: "INSERT_FIRST", value: { name: `lua-${i}`, typed_config: typedConfig } },
  };
}

const [services = 500, filters = 200] = process.argv.slice(2).map(Number);
const [plain, patched] = [new EditedMesh(services, 0), new EditedMesh(services, filters)];
for (const phase of ["warm", "mark"]) {
  for (const mesh of [plain, patched]) mesh.figures();
  for (let round = 0; round < rounds; round++)
    for (const mesh of [plain, patched]) mesh.edit(virtualServiceOf(0, `${phase}-${round}`));
}
const [without, withFilters] = [plain.figures(), patched.figures()];
const before = patched.resources();
patched.edit(envoyFilterOf(0, "second"));
const different = patched.resources().filter((one, i) => one.version !== before[i]?.version).length;
for (let round = 0; round < rounds; round++) patched.edit(envoyFilterOf(0, `mark-${round}`));
process.stdout.write(`${services} services, ${viewCount} views, load average ${loadavg()[0]?.toFixed(1)}\n`);
console.table({
  "VirtualService edit, no EnvoyFilters": without,
  [`VirtualService edit, ${filters} EnvoyFilters`]: withFilters,
  "EnvoyFilter edit": patched.figures(),
});
process.stdout.write(`an edit of one EnvoyFilter changes ${different} of ${before.length} resources of all views\n`);
