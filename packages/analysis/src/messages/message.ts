/** The form of a message: what a finding of analysis is made of. */

export type Level = "Error" | "Warning" | "Info";

export interface Message {
  /** Stable: codes are never used again for another meaning. Those that begin with IST mean what istioctl means by them. */
  readonly code: string;
  readonly level: Level;
  /** The text of a finding; names in braces are replaced by its values. */
  readonly template: string;
  /** Why it matters and what to do about it. */
  readonly description: string;
}

/** The names in braces within a template. */
export type ValueNames<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ValueNames<Rest>
  : never;

/** Levels from the least to the most severe. */
const levels: readonly Level[] = ["Info", "Warning", "Error"];

/** True where a level is at or above a threshold. */
export function reaches(level: Level, threshold: Level): boolean {
  return levels.indexOf(level) >= levels.indexOf(threshold);
}
