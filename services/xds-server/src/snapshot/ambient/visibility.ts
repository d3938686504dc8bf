/** Which ServiceEntries ztunnels and waypoints know: MeshConfig's `serviceEntryVisibility`. Kubernetes' Services are for all. */
import { matchesSelector, type Service } from "@flotilla/model";
import { ServiceEntryVisibility_Visibility as Visibility } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { query, type View } from "../view.ts";
import { namespaceTraits } from "./namespaces.ts";

/** The first policy that matches a namespace decides. */
const entryVisibility = query<Visibility, string>("service-entry-visibility", (view, namespace) => {
  const { serviceEntryVisibility } = view.mesh;
  if (serviceEntryVisibility === undefined) return Visibility.PUBLIC;
  const { labels } = view.read(namespaceTraits, namespace);
  const all = { "kubernetes.io/metadata.name": namespace, ...labels };
  const policy = serviceEntryVisibility.policies.find(({ matchingRules }) =>
    matchingRules.some(({ matcher }) => matcher.case === "namespaceSelector" && matchesSelector(matcher.value, all)),
  );
  return (policy ?? { visibility: serviceEntryVisibility.defaultVisibility }).visibility;
});

function visibilityOf(view: View, { registry, namespace }: Service): Visibility {
  return registry === "External" ? view.read(entryVisibility, namespace) : Visibility.PUBLIC;
}

/** Callers of other namespaces do not know it. */
export function namespaceOnly(view: View, service: Service): boolean {
  return visibilityOf(view, service) === Visibility.NAMESPACE;
}

export function isHidden(view: View, service: Service): boolean {
  return visibilityOf(view, service) === Visibility.NONE;
}
