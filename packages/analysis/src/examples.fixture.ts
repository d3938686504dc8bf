/** Examples of messages: objects with the finding, and the same put right. They are tests, and stand in docs/messages.md. */
import { existsSync, readFileSync } from "node:fs";

export interface MessageExample {
  readonly bad: string;
  readonly good: string;
}

const directory = new URL("../examples/", import.meta.url);
const begin = "# with the finding\n";
const turn = "# fixed\n";

/** Undefined for a message that objects cannot cause. @throws Error for a file of another form */
export function exampleOf(code: string): MessageExample | undefined {
  const file = new URL(`${code}.yaml`, directory);
  if (!existsSync(file)) return undefined;
  const [head, bad, good, more] = readFileSync(file, "utf8").split(/^(?:# with the finding|# fixed)\n/m);
  if (head !== "" || bad === undefined || good === undefined || more !== undefined)
    throw new Error(`examples/${code}.yaml is not ${begin}… ${turn}…`);
  return { bad, good };
}
