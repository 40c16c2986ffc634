/** The page on which an Admin cancels a recovery, by the link of a mail. */
import { html } from '../html.ts'
import { fill } from '../language.ts'
import type { CancellableRecovery } from '../../people/users/index.ts'
import { hiddenField, time } from './components.ts'
import { type ConsoleView, shell } from './view.ts'

export function cancelRecoveryPage(view: ConsoleView, shown: CancellableRecovery & { readonly token: string }): string {
  const { t, root } = view
  const { token, begunByName: by, fullName: person, email, partnerName: partner, reason, dueAt } = shown
  return shell(view, {
    title: t.cancelRecovery,
    card: true,
    main: html`<h1>${t.cancelRecovery}</h1>
      <p class="lead">${fill(t.cancelRecoveryText, { by, person, partner })}</p>
      <dl class="facts">
        <div>
          <dt>${t.name}</dt>
          <dd>${person}</dd>
        </div>
        <div>
          <dt>${t.email}</dt>
          <dd>${email}</dd>
        </div>
        <div>
          <dt>${t.cancelRecoveryReason}</dt>
          <dd>${reason}</dd>
        </div>
        ${
          dueAt !== null &&
          html`<div>
            <dt>${t.cancelRecoveryDue}</dt>
            <dd>${time(view, dueAt)}</dd>
          </div>`
        }
      </dl>
      <form method="post" action="${root}recover/cancel">
        ${hiddenField('token', token)}
        <button type="submit" class="primary danger">${t.cancelRecoverySubmit}</button>
      </form>`,
  })
}
