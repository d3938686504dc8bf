/** Keys that work on every screen. Pure: a key and what has the focus → what to do. */

export type KeyAction = "search" | "next-row" | "previous-row" | "leave-field" | "back" | "help";

/** The parts of a keyboard event that decide over the action. */
export interface PressedKey {
  readonly key: string;
  /** With Control, Alt or Meta: the browser's own. */
  readonly isModified: boolean;
  /** The focus is in a field that takes text. */
  readonly isTyping: boolean;
  /** A dialog is open, which has keys of its own. */
  readonly isDialogOpen: boolean;
}

const outsideFields: ReadonlyMap<string, KeyAction> = new Map([
  ["/", "search"],
  ["j", "next-row"],
  ["ArrowDown", "next-row"],
  ["k", "previous-row"],
  ["ArrowUp", "previous-row"],
  ["Escape", "back"],
  ["?", "help"],
]);

/** Undefined for keys that the page leaves to the browser, such as Enter on a link. */
export function keyAction({ key, isModified, isTyping, isDialogOpen }: PressedKey): KeyAction | undefined {
  if (isModified || isDialogOpen) return undefined;
  if (isTyping) return key === "Escape" ? "leave-field" : undefined;
  return outsideFields.get(key);
}

/** The row to focus, of `count` rows of which `present` has the focus (-1: none); undefined: no row to go to. */
export function movedRow(action: "next-row" | "previous-row", present: number, count: number): number | undefined {
  if (count === 0) return undefined;
  if (present === -1) return action === "next-row" ? 0 : count - 1;
  const next = present + (action === "next-row" ? 1 : -1);
  return next < 0 || next >= count ? undefined : next;
}

/** For the help, in order. */
export const keyHelp: readonly (readonly [keys: string, meaning: string])[] = [
  ["/", "Search"],
  ["j, ↓", "Next row"],
  ["k, ↑", "Previous row"],
  ["Enter", "Open the row"],
  ["Esc", "Leave the field; then back to the list"],
  ["Ctrl+Space", "Suggestions in the editor; ↑ and ↓ choose, Enter or Tab accepts"],
  ["?", "This help"],
];
