/** An admission request for configuration, answered with what is wrong with it. */
import { kindOf, noEffectReason } from "@flotilla/kinds";
import { anyObject, anything, type KubeObject, objectOf, ownValue, recordOf, text } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import { hasErrors, type Problem, problemText, type SchemaValidator } from "@flotilla/validation";
import { maxInlineLength, shortened } from "@flotilla/validation/aside";
import type { AdmissionAnswer, AdmissionRequest } from "../admission/review.ts";
import type { WebhookMetrics } from "../metrics.ts";
import { alwaysReject } from "../watch/refusal-probe.ts";

/** The fields read of every object before its schema is selected. */
const header = objectOf(
  {
    apiVersion: text,
    kind: text,
    metadata: objectOf({}, { name: text, namespace: text, labels: recordOf(text), annotations: anyObject }),
  },
  { spec: anything },
);
const objectProblem = (object: unknown): string | undefined => anything(object) ?? header(object);

export interface ValidationOptions {
  readonly validate: SchemaValidator;
  /** Validates the object of a large review, which would hold up the answers to others. */
  readonly validateAside: (object: KubeObject, review: Uint8Array) => Promise<readonly Problem[]>;
  readonly log: Logger;
  readonly metrics: WebhookMetrics["validation"];
  /** Problems of an accepted object as part of the mesh. */
  readonly review?: (object: KubeObject) => readonly string[];
  /** True where an object is the mesh's: those of other controllers are not rejected. */
  readonly concerns?: (object: KubeObject) => boolean;
}

export function createValidationHandler({
  validate,
  validateAside,
  log,
  metrics,
  review = () => [],
  concerns = () => true,
}: ValidationOptions): (request: AdmissionRequest) => Promise<AdmissionAnswer> {
  return async (request) => {
    const { operation, kind: asked, object, namespace, name, dryRun, body } = request;
    // Deleting and connecting change no field that could be wrong.
    if (operation !== "CREATE" && operation !== "UPDATE") return { allowed: true };
    // The version does not count: all served ones mean the same.
    const row = kindOf({ apiVersion: `${asked.group}/${asked.version}`, kind: asked.kind });
    const labels = {
      group: row?.group ?? "unknown",
      version: row === undefined ? "unknown" : asked.version,
      resource: row?.plural ?? "unknown",
    };
    const refuse = (
      reason: "unsupported_operation" | "yaml_decode_error" | "unknown_kind" | "invalid_resource",
      message: string,
    ) => {
      metrics.failed.add(1, { ...labels, reason });
      log.info("object refused", { kind: asked.kind, namespace, name, message });
      return { allowed: false, message: dryRun ? `${message} (dry run)` : message };
    };
    if (row === undefined)
      return refuse("unknown_kind", `unrecognized type ${asked.group}/${asked.version} ${asked.kind}`);
    if (object === undefined)
      return refuse("yaml_decode_error", `cannot decode configuration: ${asked.kind} has no object`);
    const undecodable = objectProblem(object) ?? (kindOf(object) === row ? undefined : ` is no ${row.kind}`);
    if (undecodable !== undefined)
      return refuse("yaml_decode_error", `cannot decode configuration: the object${undecodable}`);
    // Marks a probe of a control plane, ours and others': see watch/refusal-probe.ts.
    if (ownValue(object.metadata.annotations ?? {}, alwaysReject) !== undefined)
      return refuse("invalid_resource", `configuration is invalid: annotation ${alwaysReject} found`);
    const isInline = body === undefined || body.byteLength <= maxInlineLength;
    const problems = shortened(isInline ? validate(object) : await validateAside(object, body));
    if (hasErrors(problems) && concerns(object))
      return refuse("invalid_resource", `configuration is invalid: ${describe(problems, "error")}`);
    metrics.passed.add(1, labels);
    const noEffect = noEffectReason(row.name, { labels: object.metadata.labels, spec: object["spec"] });
    const own = noEffect === undefined ? [] : [`${row.kind} ${namespace}/${name} ${noEffect}`];
    const warnings = [...own, ...problems.map(problemText), ...review(object)];
    return { allowed: true, ...(warnings.length === 0 ? {} : { warnings }) };
  };
}

function describe(problems: readonly Problem[], wanted: Problem["severity"]): string {
  return problems
    .filter(({ severity }) => severity === wanted)
    .map(problemText)
    .join("; ");
}
