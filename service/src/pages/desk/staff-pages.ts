/** The people of staff, impersonations, and results that are shown once. */
import { html, type Html } from '../html.ts'
import { asking, field, openDialog, select } from '../kit/forms.ts'
import { badge, call, freeText, message, table, time } from '../kit/parts.ts'
import { texts } from '../console/texts/index.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { staffTexts } from './staff-texts.ts'
import { deskTexts } from './texts.ts'

const roles = ['support', 'compliance', 'finance', 'admin'] as const
export type DeskRole = (typeof roles)[number]

export type DeskPerson = {
  readonly id: string
  readonly fullName: string
  readonly email: string
  readonly role: DeskRole
  readonly createdAt: Date
  readonly factors: readonly ('passkey' | 'password' | 'sso')[]
  readonly isSelf: boolean
}

type StaffShown = {
  readonly people: readonly DeskPerson[]
  /** Only admins change staff. */
  readonly isAdmin: boolean
  readonly waits: boolean
  readonly error?: string | undefined
  /** Values of a refused form. */
  readonly typed: (name: string) => string
}

const roleOptions = (view: ConsoleView) => roles.map((role) => [role, deskTexts[view.language][role]] as const)

export function staffPage(view: ConsoleView, { people, isAdmin, waits, error, typed }: StaffShown): string {
  const d = staffTexts[view.language]
  return shell(view, {
    title: d.staff,
    wide: true,
    problems: { form: error },
    main: html`<h1>${d.staff}</h1>
      ${waits && message('neutral', d.waits)}
      <p class="lead">${d.staffText}</p>
      ${table({
        caption: d.staff,
        columns: [
          [d.person, 'head'],
          d.role,
          d.factors,
          d.since,
          ...(isAdmin ? [[d.actions, 'actions'] as const] : []),
        ],
        rows: people.map((person) => [
          html`<span class="name">${freeText(person.fullName)}</span> ${person.isSelf && badge('neutral', d.you)}
            <span class="soft">${freeText(person.email)}</span>`,
          deskTexts[view.language][person.role],
          person.factors.length === 0 ? d.noFactor : person.factors.map((factor) => d[factor]).join(', '),
          time(view, person.createdAt, 'date'),
          ...(isAdmin ? [actions(view, person)] : []),
        ]),
      })}
      ${isAdmin && people.map((person) => dialogs(view, person))} ${isAdmin && invite(view, typed)}
      ${impersonate(view, typed)}`,
  })
}

function actions(view: ConsoleView, { id, fullName }: DeskPerson): Html {
  const d = staffTexts[view.language]
  return html`<div class="actions">
    ${openDialog({ id: `role-${id}`, label: d.changeRole, about: fullName })}
    ${openDialog({ id: `sessions-${id}`, label: d.endSessions, about: fullName })}
    ${openDialog({ id: `remove-${id}`, label: d.remove, about: fullName, tone: 'danger' })}
  </div>`
}

function dialogs(view: ConsoleView, { id, fullName, role }: DeskPerson): Html {
  const d = staffTexts[view.language]
  const form = (name: string, title: string, body: Html, look = 'danger') =>
    asking({
      ...{ id: `${name}-${id}`, title: `${title}: ${fullName}`, action: `${view.root}staff/${id}/${name}` },
      about: html`${body}
      ${field({ id: `${name}-note-${id}`, name: 'note', label: d.note, more: html`maxlength="500"` })}`,
      ...{ submit: title, look, cancel: d.back },
    })
  const roleField = select({
    ...{ id: `role-field-${id}`, name: 'role', label: d.role, value: role, options: roleOptions(view) },
  })
  return html`${form('role', d.changeRole, roleField, 'primary')}
  ${form('sessions', d.endSessions, html`<p>${d.endSessionsText}</p>`)}
  ${form('remove', d.remove, html`<p>${d.removeText}</p>`)}`
}

function invite(view: ConsoleView, typed: StaffShown['typed']): Html {
  const d = staffTexts[view.language]
  return html`<h2>${d.invite}</h2>
    <p>${d.inviteText}</p>
    <form method="post" action="${view.root}staff/invite">
      ${field({ id: 'name', name: 'name', label: d.name, value: typed('name'), more: html`maxlength="140"` })}
      ${field({ id: 'email', name: 'email', label: d.email, type: 'email', value: typed('email') })}
      ${select({ id: 'role', name: 'role', label: d.role, value: typed('role') || 'support', options: roleOptions(view) })}
      <button type="submit" class="primary">${d.invite}</button>
    </form>`
}

function impersonate(view: ConsoleView, typed: StaffShown['typed']): Html {
  const d = staffTexts[view.language]
  const minutes = html`inputmode="numeric" maxlength="2"`
  return html`<h2>${d.impersonate}</h2>
    <p>${d.impersonateText}</p>
    <form method="post" action="${view.root}staff/impersonate">
      ${field({ id: 'partner', name: 'partner', label: d.partner, value: typed('partner'), more: html`maxlength="36"` })}
      ${field({ id: 'minutes', name: 'minutes', label: d.minutes, value: typed('minutes') || '15', more: minutes })}
      ${field({ id: 'reason', name: 'note', label: d.reason, value: typed('note'), more: html`maxlength="500"` })}
      <button type="submit">${d.open}</button>
    </form>`
}

/** Hands the person over to the console, which may be on another host. */
function toConsole({ language }: ConsoleView, url: string): Html {
  const s = texts[language].support
  return html`<p>${s.toConsoleText}</p>
    <p><a class="button primary" href="${url}" rel="noreferrer">${s.toConsole}</a></p>`
}

type ResultShown = { readonly result: unknown; readonly back: string }

/** A result that is kept nowhere: a link of an invitation, a credential. */
export function resultPage(view: ConsoleView, { result, back }: ResultShown): string {
  const d = staffTexts[view.language]
  const { consoleUrl } = Object(result) as { readonly consoleUrl?: string }
  return shell(view, {
    title: d.result,
    main: html`<h1>${d.result}</h1>
      <p class="message warning">${d.once}</p>
      ${consoleUrl !== undefined && toConsole(view, consoleUrl)}
      ${call(view, JSON.stringify(result, null, 2), d.result)}
      <p><a class="button" href="${view.root}${back}">${d.back}</a></p>`,
  })
}
