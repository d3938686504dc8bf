/** The places of the injected containers among the others. */

import { names } from "../annotations.ts";
import { annotate, type Container, initName, type Pod, proxyName, type Texts, validationName } from "../pod.ts";

/**
 * As a sidecar, the proxy comes last, or first where applications wait for it. As a native sidecar it precedes all other init containers,
 * so that these are part of the mesh, and only the containers that set up the capture of traffic precede it. Else the capture comes last,
 * since nothing could answer before the proxy runs; a validation of it always comes first. The containers of older templates that allow
 * core dumps stand next to the capture.
 */
export function orderContainers(pod: Pod, { holdApplication }: { readonly holdApplication: boolean }): Pod {
  const { containers = [], initContainers } = pod.spec;
  const ordered = move(containers, proxyName, holdApplication ? "first" : "last");
  if (initContainers === undefined) return { ...pod, spec: { ...pod.spec, containers: ordered } };
  const isNative = initContainers.some(({ name }) => name === proxyName);
  const places = isNative ? nativeOrder : order;
  const init = places.reduce((list, [name, place]) => move(list, name, place), initContainers);
  return { ...pod, spec: { ...pod.spec, containers: ordered, initContainers: init } };
}

type Place = readonly [name: string, place: "first" | "last"];

const coreDumpName = "enable-core-dump";
const nativeOrder: readonly Place[] = [
  [coreDumpName, "first"],
  [proxyName, "first"],
  [validationName, "first"],
  [initName, "first"],
];
const order: readonly Place[] = [
  [validationName, "first"],
  [initName, "last"],
  [coreDumpName, "last"],
];

function move(list: readonly Container[], name: string, place: Place[1]): readonly Container[] {
  const own = list.filter((container) => container.name === name);
  const others = list.filter((container) => container.name !== name);
  return place === "first" ? [...own, ...others] : [...others, ...own];
}

/** The note of what was injected, which a later injection and `status` commands read. */
export function noteStatus(pod: Pod, template: Pod, revision: string, injectedAnnotations: Texts): Pod {
  const { containers, initContainers, volumes, imagePullSecrets } = template.spec;
  const namesOf = (list: readonly { readonly name: string }[] | undefined): readonly string[] | null =>
    list === undefined || list.length === 0 ? null : list.map(({ name }) => name);
  const status = {
    initContainers: namesOf(initContainers),
    containers: namesOf(containers),
    volumes: namesOf(volumes),
    imagePullSecrets: namesOf(imagePullSecrets),
    revision,
  };
  return annotate(pod, { [names.status]: JSON.stringify(status), ...injectedAnnotations });
}
