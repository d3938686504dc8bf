/** A command of `flotilla`: resolves to the exit code. */
export type Command = (args: readonly string[], env: NodeJS.ProcessEnv) => Promise<number>;
