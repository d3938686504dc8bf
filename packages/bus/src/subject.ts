/** NATS subjects: tokens between dots, `*` for one token and `>` for the rest in filters. */

/** NATS tokens hold no dots, blanks or wildcards; Kubernetes names and hosts do. Different texts give different tokens. */
export function token(text: string): string {
  if (text === "") return "_"; // an empty token would make an illegal subject
  return text.replaceAll(/[^A-Za-z0-9-]/g, (c) => `_${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The text that `token` was made from. */
export function untoken(text: string): string {
  if (text === "_") return "";
  return text.replaceAll(/_([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

export function matchesFilter(subject: string, filter: string): boolean {
  const [parts, wanted] = [subject.split("."), filter.split(".")];
  for (const [i, want] of wanted.entries()) {
    if (want === ">") return parts.length > i;
    if (parts[i] === undefined || (want !== "*" && want !== parts[i])) return false;
  }
  return parts.length === wanted.length;
}
