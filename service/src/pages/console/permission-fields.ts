/** The boxes by which a person chooses permissions. */
import { type Permission, tags } from '@partner-payments/wire'
import { html, type Html } from '../html.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { texts } from './texts/index.ts'

type Choice = {
  readonly held: readonly Permission[]
  readonly chosen: readonly string[]
  readonly error: string | undefined
}

/** Two boxes for each group. Only what the person has can be given. */
export function permissionFields(view: ConsoleView, { held, chosen, error }: Choice): Html {
  const s = texts[view.language].serviceAccounts
  const offered = tags.flatMap((tag) =>
    (['read', 'write'] as const)
      .map((access) => ({ tag, access, permission: `${tag}:${access}` as const }))
      .filter(({ permission }) => held.includes(permission)),
  )
  // The first box has the id that the error summary links to.
  const idOf = (permission: string) =>
    permission === offered[0]?.permission ? 'permissions' : `permissions-${permission.replace(':', '-')}`
  return html`<fieldset
    class="field${error !== undefined && ' wrong'}"
    aria-describedby="permissions-help${error !== undefined && ' permissions-error'}"
  >
    <legend>${s.permissions}</legend>
    <p class="help" id="permissions-help">${s.permissionsHelp} ${s.approvesNothing}</p>
    ${error !== undefined && html`<p class="error" id="permissions-error">${error}</p>`}
    <div class="grid">
      ${[...Map.groupBy(offered, ({ tag }) => tag)].map(
        ([tag, boxes]) =>
          html`<fieldset class="field">
            <legend>${s.groups[tag]}</legend>
            ${boxes.map(({ access, permission }) => {
              const id = idOf(permission)
              return html`<div class="choice">
                <input
                  type="checkbox"
                  id="${id}"
                  name="permissions"
                  value="${permission}"
                  ${chosen.includes(permission) && html` checked`}
                />
                <label for="${id}">${access === 'read' ? s.reads : s.writes}</label>
              </div>`
            })}
          </fieldset>`,
      )}
    </div>
  </fieldset>`
}
