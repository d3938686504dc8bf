/** The kinds of names that istiod has. */
export const kinds = ["environment", "flags", "pages", "metrics", "messages"] as const;

export type NamesByKind<Names> = Readonly<Record<(typeof kinds)[number], Names>>;
