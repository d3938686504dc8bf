/** Truth values in labels, annotations and settings, as Go reads them; source: strconv.ParseBool. */
const truths: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "TRUE", "true", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "FALSE", "false", "False"].map((text) => [text, false] as const),
]);

/** Undefined for other texts. */
export function parseBoolean(text: string): boolean | undefined {
  return truths.get(text);
}
