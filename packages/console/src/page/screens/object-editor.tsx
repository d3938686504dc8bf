/** Edits an object, or makes one: each pause is checked by a dry run that shows what would change; then apply, and watch it arrive. */
import type { VNode } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { AppliedObject, ApplyAnswer } from "../../contract/index.ts";
import { formatCount } from "../format/quantities.ts";
import { Differences } from "../parts/differences.tsx";
import { useAnswer } from "../parts/reading.tsx";
import { Arrived, ObjectLink, State } from "../parts/text.tsx";
import { CauseList, YamlField } from "../parts/yaml-field.tsx";
import { fetchJson, later, router } from "../state/browser.ts";
import { createDraft, type DraftState } from "../state/draft.ts";
import { objectParts } from "../state/places.ts";
import { callEndpoint, type PathNames } from "../state/requests.ts";

interface ObjectEditorProps {
  /** The manifest that is in force, or what a new one begins with. */
  readonly start: string;
  /** Of an object that is there, and can be deleted. */
  readonly names?: PathNames;
}

/** The tab `edit` of an object; also the screen of a new one. */
export function ObjectEditor({ start, names }: ObjectEditorProps): VNode {
  // A change of the object by somebody else must not take away what was typed.
  const draft = useMemo(
    () =>
      createDraft({
        start,
        later,
        send: (body) => callEndpoint(fetchJson, "POST /api/v1/objects/apply", { body }),
      }),
    [],
  );
  const state = draft.state.value;
  const causes = state.step === "refused" ? state.problem.causes : [];
  return (
    <div class="editor">
      <YamlField label="Manifest" text={draft.text.value} causes={causes} onEdit={draft.edit} />
      <div class="actions">
        <button type="button" class="main" disabled={state.step !== "valid"} onClick={() => void draft.apply()}>
          Apply
        </button>
        <button type="button" disabled={state.step === "unchanged"} onClick={() => draft.edit(start)}>
          Undo all
        </button>
        {names !== undefined && <Delete names={names} />}
      </div>
      <div aria-live="polite">
        <Outcome state={state} />
      </div>
    </div>
  );
}

function Outcome({ state }: { readonly state: DraftState }): VNode {
  switch (state.step) {
    case "unchanged":
      return <p class="muted">Changes are checked while you type. Nothing is written before Apply.</p>;
    case "checking":
      return <p class="muted">Checking</p>;
    case "applying":
      return <p class="muted">Applying</p>;
    case "refused":
      return (
        <div class="notice bad">
          <strong>{state.problem.kind === "away" ? "Control plane unreachable" : "Refused"}</strong>
          <span>
            {state.problem.message}
            <CauseList causes={state.problem.causes} />
          </span>
        </div>
      );
    case "valid":
      return <Items answer={state.answer} title="Valid. Apply would change" />;
    default:
      return (
        <>
          <p class="notice good">Applied.</p>
          {state.answer.items.map(({ object }) => (
            <Arrival key={object} object={object} />
          ))}
          <Items answer={state.answer} title="What changed" />
        </>
      );
  }
}

function Items({ answer: { items, ignored }, title }: { readonly answer: ApplyAnswer; readonly title: string }): VNode {
  return (
    <section class="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
      </header>
      {items.map((item) => (
        <Item key={item.object} item={item} />
      ))}
      {ignored.map(({ kind, count }) => (
        <p key={kind} class="muted">
          {formatCount(count)} of the kind {kind} would be passed over: it belongs to somebody else.
        </p>
      ))}
    </section>
  );
}

function Item({ item: { object, result, warnings, differences } }: { readonly item: AppliedObject }): VNode {
  return (
    <article class="change">
      <h3>
        <State state={result} /> {object}
      </h3>
      {warnings.map((warning) => (
        <p key={warning} class="notice warn">
          {warning}
        </p>
      ))}
      {result === "configured" && <Differences differences={differences} />}
    </article>
  );
}

/** Follows an object on its way to the proxies. */
function Arrival({ object }: { readonly object: string }): VNode | null {
  const { kind = "", namespace = "", name = "" } = objectParts(object) ?? {};
  const { value } = useAnswer("GET /api/v1/objects/{kind}/{namespace}/{name}", {
    names: { kind, namespace: namespace || "-", name },
    topics: ["objects", "generation", "rejections"],
  });
  return (
    <p class="summary">
      <ObjectLink object={object} />
      {value === undefined ? (
        <span>waiting for its generation</span>
      ) : (
        <>
          <State state={value.state} />
          <Arrived live={value.live} concerned={value.concerned} />
          {value.reason !== undefined && <span class="words">{value.reason}</span>}
        </>
      )}
    </p>
  );
}

function Delete({ names }: { readonly names: PathNames }): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const remove = async (): Promise<void> => {
    const answer = await callEndpoint(fetchJson, "DELETE /api/v1/objects/{kind}/{namespace}/{name}", { names });
    dialog.current?.close();
    if (answer.ok) router.go("/objects");
  };
  return (
    <>
      <button type="button" class="danger" onClick={() => dialog.current?.showModal()}>
        Delete
      </button>
      <dialog ref={dialog} aria-label="Delete the object">
        <h2>Delete {names["name"]}?</h2>
        <p>Proxies lose the resources made from it as soon as its deletion has reached them.</p>
        <form method="dialog" class="actions">
          <button type="button" class="danger" onClick={() => void remove()}>
            Delete
          </button>
          <button type="submit">Keep</button>
        </form>
      </dialog>
    </>
  );
}
