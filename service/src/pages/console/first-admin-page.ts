/** The page of the first Admin of a partner. */
import { html } from '../html.ts'
import { fill } from '../language.ts'
import { field, hiddenField } from './components.ts'
import { firstAdminTexts } from './texts/first-admin.ts'
import { type ConsoleView, shell } from './view.ts'

type FirstAdmin = {
  readonly token: string
  readonly partnerName: string
  readonly fullName?: string
  readonly email?: string
  readonly errors?: Readonly<Record<string, string>>
}

export function firstAdminPage(
  view: ConsoleView,
  { token, partnerName, fullName, email, errors = {} }: FirstAdmin,
): string {
  const t = firstAdminTexts[view.language]
  return shell(view, {
    title: fill(t.title, { partner: partnerName }),
    problems: errors,
    card: true,
    main: html`<h1>${fill(t.title, { partner: partnerName })}</h1>
      <p class="lead">${t.lead}</p>
      <form method="post" action="${view.root}first-admin">
        ${hiddenField('token', token)}
        ${field({
          id: 'fullName',
          name: 'fullName',
          label: view.t.fullName,
          error: errors['fullName'],
          more: html`autocomplete="name" maxlength="140"`,
          ...(fullName === undefined ? {} : { value: fullName }),
        })}
        ${field({
          id: 'email',
          name: 'email',
          type: 'email',
          label: view.t.email,
          error: errors['email'],
          more: html`autocomplete="username" maxlength="254"`,
          ...(email === undefined ? {} : { value: email }),
        })}
        <div class="buttons"><button type="submit" class="primary">${view.t.continue}</button></div>
      </form>`,
  })
}
