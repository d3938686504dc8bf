/** Selects the proxies that a patch is for, by their version and metadata. */
import { metadataText, ownValue, type Proxy } from "@flotilla/model";
import { RE2JS } from "re2js";

export interface ProxyCondition {
  readonly proxyVersion: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Expressions are RE2's, which match in linear time; this bounds what it takes to compile one. */
const maxExpressionLength = 1024;

/** As a question to a proxy it stands for its condition. */
export class ProxyPattern {
  readonly #condition: ProxyCondition;
  readonly #version: RE2JS | undefined;
  /** Why it matches no proxy at all. */
  readonly problem: string | undefined;

  constructor(condition: ProxyCondition) {
    this.#condition = { proxyVersion: condition.proxyVersion, metadata: { ...condition.metadata } };
    const { proxyVersion } = condition;
    if (proxyVersion === "") return;
    if (proxyVersion.length > maxExpressionLength) {
      this.problem = `has ${proxyVersion.length} characters, an expression has at most ${maxExpressionLength}`;
      return;
    }
    try {
      this.#version = RE2JS.compile(proxyVersion);
    } catch (error) {
      this.problem = `is no regular expression of RE2: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  matches({ metadata }: Proxy): boolean {
    if (this.problem !== undefined) return false;
    const version = metadataText(metadata, "ISTIO_VERSION");
    if (this.#version !== undefined && (version === "" || !this.#version.matcher(version).find())) return false;
    return Object.entries(this.#condition.metadata).every(([key, value]) => ownValue(metadata, key) === value);
  }

  toJSON(): ProxyCondition {
    return this.#condition;
  }
}
