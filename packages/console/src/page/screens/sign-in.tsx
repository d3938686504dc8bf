/** Asks for a token. It goes to the server in the body of a request, and is kept neither in the page nor in the address. */
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signedOutBecause, signIn } from "../state/browser.ts";

/** Shown to everybody without a session. */
export function SignIn(): VNode {
  const field = useRef<HTMLInputElement>(null);
  const [refusal, setRefusal] = useState("");
  const [isAsking, setIsAsking] = useState(false);
  useEffect(() => {
    document.title = "Sign in · Flotilla";
    field.current?.focus();
  }, []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const input = field.current;
    const token = input?.value.trim() ?? "";
    if (input === null || token === "") return;
    setIsAsking(true);
    const problem = await signIn(token);
    setIsAsking(false);
    if (problem === undefined) return;
    input.value = "";
    input.focus();
    setRefusal(problem.message);
  };
  return (
    <main class="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <h1>Flotilla</h1>
        <p>{signedOutBecause.value || "Sign in with a token of the mesh."}</p>
        <label for="token">Token</label>
        <input
          id="token"
          ref={field}
          type="password"
          required
          autocomplete="off"
          aria-describedby="token-hint token-refusal"
        />
        <p id="token-hint" class="muted">
          <code>flotilla token</code> prints one.
        </p>
        <p id="token-refusal" role="alert" class="refusal">
          {refusal}
        </p>
        <button type="submit" class="main" disabled={isAsking}>
          Sign in
        </button>
      </form>
    </main>
  );
}
