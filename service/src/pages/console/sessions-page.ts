/** The sessions of the person: where they are signed in, and how to end it. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { badge, hiddenField, message, table, time } from './components.ts'
import { supportTexts } from './texts/support.ts'
import { type ConsoleView, shell } from './view.ts'

type Session = {
  readonly id: string
  readonly createdAt: Date
  readonly lastUsedAt: Date
  readonly device: string
  readonly ip: string
  readonly isCurrent: boolean
  readonly expiresAt: Date
}

type SupportShown = {
  readonly id: string
  readonly name: string
  readonly createdAt: string
  readonly expiresAt: string | null
}

type Sessions = {
  readonly sessions: readonly Session[]
  /** Open sessions of staff of the operator. */
  readonly support: readonly SupportShown[]
  readonly mayEnd: boolean
  /** Says what the last form did. */
  readonly confirmation?: string
}

export function sessionsPage(view: ConsoleView, { sessions, confirmation, support, mayEnd }: Sessions): string {
  const { t, root } = view
  const hasOthers = sessions.some(({ isCurrent }) => !isCurrent)
  return shell(view, {
    title: t.sessions,
    wide: true,
    main: html`${confirmation !== undefined && message('good', confirmation)}
      <div class="heading">
        <h1>${t.sessions}</h1>
        ${
          hasOthers &&
          html`<form method="post" action="${root}sessions/end-others">
            <button type="submit">${t.endOthers}</button>
          </form>`
        }
      </div>
      <p class="lead">${t.sessionsText}</p>
      ${table({
        caption: t.sessions,
        columns: [[t.device, 'head'], t.address, t.signedInAt, t.lastUsed, t.endsAt, [t.actions, 'actions']],
        rows: sessions.map((session) => row(view, session)),
      })}
      ${support.length > 0 && supportTable(view, support, mayEnd)}`,
  })
}

function supportTable(view: ConsoleView, support: readonly SupportShown[], mayEnd: boolean): Html {
  const s = supportTexts[view.language]
  const end = ({ id, name }: SupportShown) =>
    html`<form method="post" action="${view.root}service-accounts/${id}/revoke">
      <button type="submit" class="small danger">${s.endOne}<span class="away"> ${name}</span></button>
    </form>`
  return html`<h2>${s.sessions}</h2>
    <p>${s.sessionsText}</p>
    ${table({
      caption: s.sessions,
      columns: [[s.staff, 'head'], s.begun, s.ends, ...(mayEnd ? [[s.actions, 'actions'] as const] : [])],
      rows: support.map((session) => [
        html`<span class="name">${session.name}</span>`,
        time(view, new Date(session.createdAt)),
        session.expiresAt === null ? '' : time(view, new Date(session.expiresAt)),
        ...(mayEnd ? [end(session)] : []),
      ]),
    })}`
}

function row(view: ConsoleView, { id, createdAt, lastUsedAt, device, ip, isCurrent, expiresAt }: Session) {
  const { t, root } = view
  const about = fill(t.ofDevice, { device, ip })
  return [
    html`<span class="name">${device}</span> ${isCurrent && badge('good', t.thisSession)}`,
    html`<span class="address free">${ip}</span>`,
    time(view, createdAt),
    time(view, lastUsedAt),
    time(view, expiresAt),
    isCurrent
      ? html`<form method="post" action="${root}sign-out">
          <button type="submit" class="small">${t.signOut}<span class="away"> ${about}</span></button>
        </form>`
      : html`<form method="post" action="${root}sessions/end">
          ${hiddenField('id', id)}
          <button type="submit" class="small danger">${t.endSession}<span class="away"> ${about}</span></button>
        </form>`,
  ]
}
