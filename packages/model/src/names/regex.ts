/** Text that a regular expression takes literally, as Go's `regexp.QuoteMeta` writes it. */
export function quoteRegex(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
}
