/** The checkboxes with which a person chooses permissions. */
import { type Permission, tags } from '@partner-payments/wire'
import { html, type Html } from '../html.ts'
import { choiceCard, fieldGroup } from '../kit/forms.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { texts } from './texts/index.ts'

type PermissionChoice = {
  readonly held: readonly Permission[]
  readonly chosen: readonly string[]
  readonly error: string | undefined
}

/** Renders two checkboxes for each group. A person can grant only their own permissions. */
export function permissionFields(view: ConsoleView, { held, chosen, error }: PermissionChoice): Html {
  const s = texts[view.language].serviceAccounts
  const offered = tags.flatMap((tag) =>
    (['read', 'write'] as const)
      .map((access) => ({ tag, access, permission: `${tag}:${access}` as const }))
      .filter(({ permission }) => held.includes(permission)),
  )
  // The first checkbox has the id that the error summary links to.
  const idOf = (permission: string) =>
    permission === offered[0]?.permission ? 'permissions' : `permissions-${permission.replace(':', '-')}`
  return fieldGroup({
    id: 'permissions',
    legend: s.permissions,
    help: `${s.permissionsHelp} ${s.approvesNothing}`,
    error,
    body: html`<div class="grid">
      ${[...Map.groupBy(offered, ({ tag }) => tag)].map(
        ([tag, group]) =>
          html`<fieldset class="field">
            <legend>${s.groups[tag]}</legend>
            ${group.map(({ access, permission }) =>
              choiceCard({
                type: 'checkbox',
                id: idOf(permission),
                name: 'permissions',
                value: permission,
                label: access === 'read' ? s.reads : s.writes,
                isChosen: chosen.includes(permission),
              }),
            )}
          </fieldset>`,
      )}
    </div>`,
  })
}
