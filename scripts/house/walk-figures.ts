/** The figures of docs/architecture/walk.md, which walk.integration.test.ts compares with what runs. */

export interface WalkFigures {
  readonly title: string;
  readonly files: number;
  /** The highest that is named. */
  readonly returns: number;
}

/** Of each section that begins with `N files, N to N returns.`. */
export function walkFigures(page: string): readonly WalkFigures[] {
  const sections = page.matchAll(/^## (.+)\n\n(\d+) files, (?:\d+ to )?(\d+) returns\./gm);
  return [...sections].map(([, title = "", files, returns]) => ({
    title,
    files: Number(files),
    returns: Number(returns),
  }));
}
