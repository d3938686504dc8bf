/** Results of an analysis of an object. */
import { type ConfigKey, compareText, configKeyText } from "@flotilla/model";
import type { Field } from "@flotilla/validation/field";
import type { MeshObject } from "./mesh-object.ts";
import type { Level } from "./messages/message.ts";
import { type MessageName, type MessageValues, messages, messageText } from "./messages/messages.ts";

export interface Finding {
  readonly code: string;
  readonly level: Level;
  readonly object: ConfigKey;
  /** `spec.http[0].route`; "" where the object as a whole is meant. */
  readonly field: string;
  readonly message: string;
}

/** A finding at a field, or about the object as a whole. */
export function finding<Name extends MessageName>(
  name: Name,
  { key }: MeshObject,
  at: Field | undefined,
  values: MessageValues<Name>,
): Finding {
  const { code, level } = messages[name];
  return { code, level, object: key, field: at?.path ?? "", message: messageText(name, values) };
}

/** By object, field and code. */
function compareFindings(a: Finding, b: Finding): number {
  return (
    compareText(configKeyText(a.object), configKeyText(b.object)) ||
    compareText(a.field, b.field) ||
    compareText(a.code, b.code) ||
    compareText(a.message, b.message)
  );
}

/** Several analyzers may find the same at one field: it is reported once. */
export function distinct(findings: readonly Finding[]): readonly Finding[] {
  return firstBy(
    findings,
    ({ object, field, code, message }) => `${configKeyText(object)} ${field} ${code} ${message}`,
  );
}

/** For messages that have one cause in an object, wherever it shows: the first place is reported. */
export function oncePerText(findings: readonly Finding[]): readonly Finding[] {
  return firstBy(findings, ({ object, code, message }) => `${configKeyText(object)} ${code} ${message}`);
}

function firstBy(findings: readonly Finding[], textOf: (finding: Finding) => string): readonly Finding[] {
  const byText = new Map<string, Finding>();
  for (const one of [...findings].sort(compareFindings)) {
    const text = textOf(one);
    if (!byText.has(text)) byText.set(text, one);
  }
  return [...byText.values()];
}
