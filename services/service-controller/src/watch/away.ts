/** Since when something that is followed cannot be followed, and why. */
export interface Away {
  readonly sinceMs: number;
  readonly reason: string;
}

/** For the list of problems. @param isComplete it was read in full at least once */
export function awayText({ sinceMs, reason }: Away, isComplete: boolean): string {
  const kept = isComplete ? "what was known is kept" : "it was never read in full";
  return `away since ${new Date(sinceMs).toISOString()}, ${kept}: ${reason}`;
}
