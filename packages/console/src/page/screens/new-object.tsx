/** A new object, from a beginning of its kind. */
import type { VNode } from "preact";
import type { KindRow } from "../../contract/index.ts";
import { Answered, Empty, useAnswer } from "../parts/reading.tsx";
import { mayWrite, router } from "../state/browser.ts";
import { ObjectEditor } from "./object-editor.tsx";

/** `/objects/new`; `kind` chooses what the text begins with. */
export function NewObjectScreen(): VNode {
  const shown = useAnswer("GET /api/v1/kinds", { topics: [] });
  const chosen = router.place.value.query.get("kind");
  return (
    <>
      <nav class="trail" aria-label="Place">
        <a href="/objects">Objects</a>
      </nav>
      <h1>New object</h1>
      {mayWrite.value ? (
        <Answered shown={shown} what="the kinds">
          {({ kinds }) => {
            const kind = kinds.find(({ name }) => name === chosen) ?? kinds[0];
            return (
              <>
                <label class="facet">
                  <span>kind</span>
                  <select
                    aria-label="kind"
                    value={kind?.name ?? ""}
                    onChange={({ currentTarget }) => router.change({ kind: currentTarget.value }, true)}
                  >
                    {kinds.map(({ name }) => (
                      <option key={name} value={name}>
                        {name}
                      </option>
                    ))}
                  </select>
                </label>
                {kind !== undefined && <ObjectEditor key={kind.name} start={beginning(kind)} />}
              </>
            );
          }}
        </Answered>
      ) : (
        <Empty>Your token may read only.</Empty>
      )}
    </>
  );
}

/** The first lines of every object of a kind; `name` is left to be typed. */
function beginning({ apiVersion, kind, isNamespaced }: KindRow): string {
  return `apiVersion: ${apiVersion}
kind: ${kind}
metadata:
  name: 
${isNamespaced ? "  namespace: default\n" : ""}spec:
`;
}
