/** Output of a command: the process's own streams, or those of a test. */
export interface Terminal {
  /** Writes a line to the standard output. */
  print(text: string): void;
  /** Writes the text as it is to the standard output. */
  write(text: string): void;
  /** Writes a line to the standard error. */
  warn(text: string): void;
}

export function processTerminal(): Terminal {
  return {
    print: (text) => void process.stdout.write(`${text}\n`),
    write: (text) => void process.stdout.write(text),
    warn: (text) => void process.stderr.write(`${text}\n`),
  };
}

/** Ends the process without a word when a reader such as `head` closes the pipe. */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(0);
      throw error;
    });
}
