/** CEL as the API server speaks it: the standard library, and of the Kubernetes extensions those that CRDs use. */
import { Environment } from "@marcbachmann/cel-js";
import { parseUrl, type UrlParts } from "./go-url.ts";

/** What `url(text)` gives; a class, because CEL tells types by it. */
class CelUrl {
  readonly parts: UrlParts;

  constructor(parts: UrlParts) {
    this.parts = parts;
  }
}

/** A rule that could not be evaluated, in the API server's words. */
export class RuleFailure extends Error {
  override readonly name = "RuleFailure";
}

export function createCelEnvironment(): Environment {
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
