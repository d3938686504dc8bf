/** Objects as the API takes them. */
import { noEffectReason } from "@flotilla/kinds";
import { type Config, isObject, type KubeObject } from "@flotilla/model";
import { configOf } from "@flotilla/registry/config";
import { hasErrors, type Problem, problemText } from "@flotilla/validation";
import { ApiError } from "./api-error.ts";
import { hasBoundedNames, metadataProblems } from "./metadata.ts";
import type { ResourcePath } from "./resource-path.ts";

export type Validate = (object: KubeObject) => readonly Problem[];

export interface Admitted {
  readonly config: Config;
  readonly warnings: readonly string[];
}

/** The object of a request, checked as the webhook checks it. @throws ApiError 400, 422 with all causes */
export function admit(body: unknown, path: ResourcePath, validate: Validate): Admitted {
  const object = placed(body, path);
  const ofMetadata = metadataProblems(object);
  // The rules of kinds look at every name, which takes long where there are thousands: such an object is refused as it is.
  const problems = hasBoundedNames(object) ? [...ofMetadata, ...validate(object)] : ofMetadata;
  if (hasErrors(problems)) {
    const causes = problems.filter(({ severity }) => severity === "error");
    const what = `${path.kind.kind} ${JSON.stringify(object.metadata.name)} is invalid`;
    throw new ApiError(
      422,
      "Invalid",
      `${what}: ${causes.map(problemText).join("; ")}`,
      causes.map(({ field, reason }) => ({ field, message: reason })),
    );
  }
  const config = configOf(object);
  if (config === undefined) throw new ApiError(400, "BadRequest", `${path.kind.kind} is no configuration`);
  const noEffect = noEffectReason(config.key.kind, config);
  const { kind, namespace, name } = config.key;
  const own = noEffect === undefined ? [] : [`${kind} ${namespace}/${name} ${noEffect}`];
  return { config, warnings: [...own, ...problems.map(problemText)] };
}

/** Values from the path are filled in where the object lacks them; the object must not contradict them. */
function placed(body: unknown, { kind, apiVersion, namespace, name }: ResourcePath): KubeObject {
  if (!isObject(body)) throw new ApiError(400, "BadRequest", "the body is no object");
  const { apiVersion: stated = apiVersion, kind: statedKind = kind.kind, metadata = {} } = body;
  if (stated !== apiVersion || statedKind !== kind.kind)
    throw new ApiError(
      400,
      "BadRequest",
      `the body is a ${String(stated)} ${String(statedKind)}, the path means ${apiVersion} ${kind.kind}`,
    );
  if (!isObject(metadata)) throw new ApiError(400, "BadRequest", "metadata is no object");
  const own = {
    namespace: kind.namespaced ? (metadata["namespace"] ?? namespace) : "",
    name: metadata["name"] ?? name,
  };
  if (kind.namespaced && own.namespace !== namespace)
    throw new ApiError(
      400,
      "BadRequest",
      `metadata.namespace ${JSON.stringify(own.namespace)} is not that of the path, ${JSON.stringify(namespace)}`,
    );
  if (name !== undefined && own.name !== name)
    throw new ApiError(
      400,
      "BadRequest",
      `metadata.name ${JSON.stringify(own.name)} is not that of the path, ${JSON.stringify(name)}`,
    );
  const { namespace: _, labels, annotations, ...rest } = metadata;
  return {
    ...body,
    apiVersion,
    kind: kind.kind,
    metadata: {
      ...rest,
      name: own.name as string,
      ...(kind.namespaced && { namespace: own.namespace as string }),
      ...(labels != null && { labels: labels as Record<string, string> }),
      ...(annotations != null && { annotations: annotations as Record<string, string> }),
    },
  };
}
