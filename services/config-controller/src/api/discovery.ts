/** The documents by which kubectl and client libraries find out what is served. */
import type { Kind } from "@flotilla/kinds";
import { configSchemas } from "../store/config-schemas.ts";

export const verbs = ["create", "delete", "get", "list", "patch", "update", "watch"] as const;

/** Undefined: the path is none of theirs. */
export function discoveryDocument(path: string, version: string): unknown {
  if (path === "/version" || path === "/version/")
    return { major: "1", minor: "33", gitVersion: `v1.33.0+flotilla-${version}` };
  if (path === "/api" || path === "/api/") return { kind: "APIVersions", versions: ["v1"] };
  if (path === "/apis" || path === "/apis/")
    return { kind: "APIGroupList", apiVersion: "v1", groups: groups().map(groupOf) };
  if (path === "/openapi/v3")
    return {
      paths: Object.fromEntries(
        apiVersions().map((one) => [one.root, { serverRelativeURL: `/openapi/v3/${one.root}` }]),
      ),
    };
  const documented = apiVersions().find(({ root }) => path === `/openapi/v3/${root}`);
  if (documented !== undefined) return openApi(documented);
  const group = groups().find((one) => path === `/apis/${one}`);
  if (group !== undefined) return { kind: "APIGroup", apiVersion: "v1", ...groupOf(group) };
  const listed = apiVersions().find(({ root }) => path === `/${root}`);
  return (
    listed && {
      kind: "APIResourceList",
      apiVersion: "v1",
      groupVersion: listed.groupVersion,
      resources: listed.kinds.flatMap(resources),
    }
  );
}

interface ApiVersion {
  /** `api/v1`, `apis/networking.istio.io/v1`. */
  readonly root: string;
  readonly groupVersion: string;
  readonly group: string;
  readonly version: string;
  readonly kinds: readonly Kind[];
}

function apiVersions(): readonly ApiVersion[] {
  return [...new Set(configSchemas.map(({ group }) => group))].flatMap((group) =>
    versionsOf(group).map((version) => ({
      root: group === "" ? `api/${version}` : `apis/${group}/${version}`,
      groupVersion: group === "" ? version : `${group}/${version}`,
      group,
      version,
      kinds: configSchemas.filter((kind) => kind.group === group && kind.versions.includes(version)),
    })),
  );
}

function groups(): readonly string[] {
  return [...new Set(configSchemas.map(({ group }) => group))].filter((group) => group !== "");
}

function versionsOf(group: string): readonly string[] {
  return [...new Set(configSchemas.filter((kind) => kind.group === group).flatMap(({ versions }) => versions))];
}

function groupOf(name: string): Readonly<Record<string, unknown>> {
  const versions = versionsOf(name).map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions, preferredVersion: versions[0] };
}

function resources({ kind, plural, shortNames, namespaced }: Kind): readonly unknown[] {
  const names = { name: plural, singularName: kind.toLowerCase(), namespaced, kind, verbs };
  const status = { name: `${plural}/status`, singularName: "", namespaced, kind, verbs: ["get", "patch", "update"] };
  return [{ ...names, ...(shortNames.length > 0 && { shortNames }) }, status];
}

/** No schemas: only that patches are validated here, so that kubectl does not ask for them to do it itself. */
function openApi({ root, group, version, kinds }: ApiVersion): unknown {
  const paths = kinds.map(({ kind, plural, namespaced }) => {
    const place = `/${root}${namespaced ? "/namespaces/{namespace}" : ""}/${plural}/{name}`;
    const query = ["fieldValidation", "dryRun", "fieldManager", "force"].map((name) => ({
      name,
      in: "query",
      schema: { type: "string" },
    }));
    const patch = {
      "x-kubernetes-action": "patch",
      "x-kubernetes-group-version-kind": { group, version, kind },
      parameters: query,
      responses: { "200": { description: "OK" } },
    };
    return [place, { patch }];
  });
  return { openapi: "3.0.0", info: { title: "Flotilla", version }, paths: Object.fromEntries(paths) };
}
