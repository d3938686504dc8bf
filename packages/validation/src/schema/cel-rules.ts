/** The CEL rules of a schema, evaluated over a value that has the schema's structure. */
import { isObject } from "@flotilla/model";
import { Environment } from "@marcbachmann/cel-js";
import { parseUrl, type UrlParts } from "./go-url.ts";
import { childPath, fieldSchema, type Rule, type Schema } from "./schema.ts";
import type { Finding } from "./structural.ts";

type Program = (context: { readonly self: unknown }) => unknown;

/** Keeps each rule's program: compiling costs more than evaluating, and most rules are never needed. */
export class CelRules {
  #environment: Environment | undefined;
  readonly #programs = new Map<string, Program>();
  readonly #withRules = new WeakMap<Schema, boolean>();

  validate(schema: Schema, value: unknown): readonly Finding[] {
    return this.#validate(schema, value, "");
  }

  #validate(schema: Schema, value: unknown, path: string): readonly Finding[] {
    if (value === null || value === undefined || !this.#hasRules(schema)) return [];
    const rules = schema["x-kubernetes-validations"] ?? [];
    const self = rules.length === 0 ? undefined : celValue(schema, value);
    // A rule that compares with the object's last version does not apply to a version alone.
    const own = rules
      .filter(({ rule }) => !/\boldSelf\b/.test(rule))
      .flatMap((rule) => this.#evaluate(rule, self, value, path));
    return [...own, ...this.#validateParts(schema, value, path)];
  }

  #validateParts(schema: Schema, value: unknown, path: string): readonly Finding[] {
    const { items } = schema;
    if (Array.isArray(value)) {
      return items === undefined
        ? []
        : value.flatMap((item, index) => this.#validate(items, item, `${path}[${index}]`));
    }
    if (!isObject(value)) return [];
    const isMap = typeof schema.additionalProperties === "object";
    return Object.entries(value).flatMap(([name, part]) => {
      const own = fieldSchema(schema, name);
      return own === undefined ? [] : this.#validate(own, part, isMap ? `${path}[${name}]` : childPath(path, name));
    });
  }

  #evaluate(rule: Rule, self: unknown, value: unknown, path: string): readonly Finding[] {
    const message = rule.message ?? `failed rule: ${rule.rule}`;
    try {
      if (this.#program(rule.rule)({ self }) === true) return [];
    } catch (error) {
      const typeName = Array.isArray(value) ? "array" : typeof value === "number" ? "integer" : typeof value;
      return [
        { field: path, reason: `Invalid value: "${typeName}": ${failureText(error)} evaluating rule: ${message}` },
      ];
    }
    const shown = typeof value === "object" ? "" : `${JSON.stringify(value)}: `;
    return [{ field: path, reason: `Invalid value: ${shown}${message}` }];
  }

  #program(rule: string): Program {
    const known = this.#programs.get(rule);
    if (known !== undefined) return known;
    this.#environment ??= createCelEnvironment();
    const program = this.#environment.parse(rule) as Program;
    this.#programs.set(rule, program);
    return program;
  }

  /** True where there is a rule anywhere below: most of a schema has none, and need not be walked. */
  #hasRules(schema: Schema): boolean {
    const known = this.#withRules.get(schema);
    if (known !== undefined) return known;
    const { properties = {}, items, additionalProperties } = schema;
    const parts = [...Object.values(properties), ...(items === undefined ? [] : [items])];
    if (typeof additionalProperties === "object") parts.push(additionalProperties);
    const found = schema["x-kubernetes-validations"] !== undefined || parts.some((part) => this.#hasRules(part));
    this.#withRules.set(schema, found);
    return found;
  }
}

/** CEL distinguishes integers from doubles by their type, JSON by nothing: the schema decides. */
function celValue(schema: Schema | undefined, value: unknown): unknown {
  if (typeof value === "number") {
    const isInteger =
      schema?.type === "integer" || schema?.["x-kubernetes-int-or-string"] === true || schema?.type === undefined;
    return isInteger && Number.isInteger(value) ? BigInt(value) : value;
  }
  if (Array.isArray(value)) return value.map((item) => celValue(schema?.items, item));
  if (!isObject(value)) return value;
  const parts = Object.entries(value).filter(([, part]) => part !== null && part !== undefined);
  return new Map(parts.map(([name, part]) => [name, celValue(schema && fieldSchema(schema, name), part)]));
}

/** The words of the API server's CEL library for the failures that rules run into. */
function failureText(error: unknown): string {
  if (error instanceof RuleFailure) return error.message;
  const { code, summary, message, cause } = error as {
    code?: string;
    summary?: string;
    message?: string;
    cause?: unknown;
  };
  if (cause instanceof RuleFailure) return cause.message;
  const text = summary ?? message ?? String(error);
  if (code === "no_such_key") return text.replace(/^No such key/, "no such key");
  if (code === "int_conversion_error") return "type conversion error from 'string' to 'int'";
  if (code === "invalid_duration") return "type conversion error from 'string' to 'google.protobuf.Duration'";
  return text;
}

/** Result of `url(text)`; a class, because CEL distinguishes types by it. */
class CelUrl {
  readonly parts: UrlParts;

  constructor(parts: UrlParts) {
    this.parts = parts;
  }
}

/**
 * CEL as the API server speaks it: the standard library, and of the Kubernetes extensions those that CRDs use. A rule that
 * could not be evaluated, in the API server's words.
 */
class RuleFailure extends Error {
  override readonly name = "RuleFailure";
}

function createCelEnvironment(): Environment {
  return new Environment({ homogeneousAggregateLiterals: false })
    .registerVariable("self", "dyn")
    .registerType("kubernetes.URL", CelUrl)
    .registerFunction("isURL(string): bool", (text: string) => !("failure" in parseUrl(text)))
    .registerFunction("url(string): kubernetes.URL", (text: string) => {
      const parsed = parseUrl(text);
      if (!("failure" in parsed)) return new CelUrl(parsed);
      throw new RuleFailure(`URL parse error during conversion from string: ${parsed.failure}`);
    })
    .registerFunction("kubernetes.URL.getScheme(): string", ({ parts }: CelUrl) => parts.scheme)
    .registerFunction("kubernetes.URL.getHost(): string", ({ parts }: CelUrl) => parts.host)
    .registerFunction("kubernetes.URL.getHostname(): string", ({ parts }: CelUrl) => parts.hostname)
    .registerFunction("kubernetes.URL.getPort(): string", ({ parts }: CelUrl) => parts.port)
    .registerFunction("kubernetes.URL.getEscapedPath(): string", ({ parts }: CelUrl) => parts.path);
}
