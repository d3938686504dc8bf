/** Whether a text holds the name as a word of its own. */
export function mentions(text: string, name: string): boolean {
  const isPart = (char: string | undefined) => char !== undefined && /[\w|~/-]/.test(char);
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    if (!isPart(text[at - 1]) && !isPart(text[at + name.length])) return true;
  }
  return false;
}
