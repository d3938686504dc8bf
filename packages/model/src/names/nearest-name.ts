/** The name that was probably meant where one is misspelt. */
import { compareText } from "../config/config.ts";

/** The known name with the fewest changes of letters; undefined where even that differs by more than a third of so many letters. */
export function nearestName(name: string, known: readonly string[], letters: number = name.length): string | undefined {
  let best: string | undefined;
  let fewest = Math.max(1, Math.floor(letters / 3)) + 1;
  for (const candidate of known) {
    if (candidate === name || Math.abs(candidate.length - name.length) >= fewest + 1) continue;
    const changes = editDistance(name, candidate, fewest);
    const isBetter = changes < fewest || (changes === fewest && best !== undefined && compareText(candidate, best) < 0);
    if (isBetter) [best, fewest] = [candidate, changes];
  }
  return best;
}

/** Insertions, removals and replacements of letters between two texts; `limit + 1` for more than that many. */
function editDistance(a: string, b: string, limit: number): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    if (Math.min(...next) > limit) return limit + 1;
    row = next;
  }
  return row[b.length] ?? limit + 1;
}
