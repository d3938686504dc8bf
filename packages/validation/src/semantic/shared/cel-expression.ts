/** Expressions of CEL that Envoy evaluates, such as filters of access logs: their syntax alone, since what they may name depends on the proxy. */
import { type ASTNode, parse } from "@marcbachmann/cel-js";

// What is CEL but unknown to the parser: names between backticks, messages (`T{…}`), `.5`, raw bytes as `br"…"`. Such expressions are not judged.
const unknownToParser = /`|[\w)\]]\s*\{|(?:^|[^\w)\]])\.\d|\bbr["']/i;

/**
 * Why `text` is no expression, or undefined. As cel-go's parser answers, which istiod asks: `has()` takes a field selected by a dot, no other
 * place.
 */
export function celProblem(text: string): string | undefined {
  try {
    return wrongHas(parse(text).ast)
      ? "has() takes a field such as request.url_path, not an index or a name alone"
      : undefined;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return unknownToParser.test(text) ? undefined : (error.message.split("\n")[0] ?? error.message);
  }
}

function wrongHas(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(wrongHas);
  if (typeof node !== "object" || node === null || !("op" in node)) return false;
  const { op, args } = node as ASTNode;
  if (op !== "call" || args[0] !== "has") return wrongHas(args);
  const [of, ...others] = args[1];
  return others.length > 0 || (of?.op !== "." && of?.op !== ".?") || wrongHas(of);
}
