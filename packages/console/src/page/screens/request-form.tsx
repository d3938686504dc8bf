/** The form of a request whose way is asked for; what was submitted is in the address. */
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "../parts/reading.tsx";
import { protocols, type RequestField, requestFields } from "../state/asked-request.ts";
import { router } from "../state/browser.ts";

const typingMs = 150;

/** Fields are filled from the address, and put into it when the form is submitted. */
export function RequestForm(): VNode {
  const { query } = router.place.value;
  const present = requestFields.map((name) => query.get(name) ?? "").join("\n");
  const submit = (event: Event): void => {
    event.preventDefault();
    const values = new FormData(event.currentTarget as HTMLFormElement);
    const changes = requestFields.map((name) => [name, String(values.get(name) ?? "").trim()] as const);
    router.change(Object.fromEntries(changes.map(([name, value]) => [name, usual.get(name) === value ? "" : value])));
  };
  return (
    <form key={present} class="request" onSubmit={submit} aria-label="Request">
      <ProxyField value={query.get("from") ?? ""} />
      <Choice name="protocol" label="Protocol" value={query.get("protocol") ?? "http"} choices={protocols} />
      <Field name="method" label="Method" value={query.get("method") ?? "GET"} />
      <Field
        name="host"
        label="Host"
        value={query.get("host") ?? ""}
        isRequired
        placeholder="reviews or reviews.shop"
      />
      <Field name="port" label="Port" value={query.get("port") ?? ""} placeholder="80" pattern="[0-9]{1,5}" />
      <Field name="path" label="Path" value={query.get("path") ?? "/"} pattern="/.*" />
      <Field
        name="address"
        label="IP address of the host"
        value={query.get("address") ?? ""}
        placeholder="as it resolves"
      />
      <Lines
        name="headers"
        label="Headers, one a line"
        value={query.get("headers") ?? ""}
        placeholder="x-canary: yes"
      />
      <Lines
        name="claims"
        label="Claims of a valid token, as JSON"
        value={query.get("claims") ?? ""}
        placeholder={'{"iss":"https://issuer.example","sub":"me"}'}
      />
      <div class="submit">
        <button type="submit" class="main">
          Show the way
        </button>
      </div>
    </form>
  );
}

/** Left out of the address. */
const usual: ReadonlyMap<RequestField, string> = new Map([
  ["protocol", "http"],
  ["method", "GET"],
  ["path", "/"],
]);

interface FieldProps {
  readonly name: RequestField;
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly pattern?: string;
  readonly isRequired?: boolean;
}

function Field({ name, label, value, placeholder, pattern, isRequired = false }: FieldProps): VNode {
  return (
    <label class={`field ${name}`}>
      <span>{label}</span>
      <input
        name={name}
        type="text"
        defaultValue={value}
        placeholder={placeholder}
        pattern={pattern}
        required={isRequired}
        autocomplete="off"
        spellcheck={false}
      />
    </label>
  );
}

function Lines({ name, label, value, placeholder }: FieldProps): VNode {
  return (
    <label class={`field ${name}`}>
      <span>{label}</span>
      <textarea name={name} rows={2} defaultValue={value} placeholder={placeholder} spellcheck={false} />
    </label>
  );
}

function Choice({ name, label, value, choices }: FieldProps & { readonly choices: readonly string[] }): VNode {
  return (
    <label class={`field ${name}`}>
      <span>{label}</span>
      <select name={name} defaultValue={value}>
        {choices.map((one) => (
          <option key={one} value={one} selected={one === value}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Proposes proxies by what is typed. */
function ProxyField({ value }: { readonly value: string }): VNode {
  const [typed, setTyped] = useState(value);
  const [searched, setSearched] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSearched(typed), typingMs);
    return () => clearTimeout(timer);
  }, [typed]);
  const { value: page } = useAnswer("GET /api/v1/proxies", {
    query: { search: searched.trim(), sort: "proxy", limit: 50 },
    topics: ["fleet"],
  });
  return (
    <label class="field from">
      <span>From the proxy</span>
      <input
        name="from"
        type="text"
        data-search
        list="request-proxies"
        defaultValue={value}
        placeholder="name.namespace"
        required
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <datalist id="request-proxies">
        {(page?.rows ?? []).map(({ proxy, type }) => (
          <option key={proxy} value={proxy}>
            {type}
          </option>
        ))}
      </datalist>
    </label>
  );
}
