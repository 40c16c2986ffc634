/** The sessions of the person: where they are signed in, and how to end it. */
import { html } from '../html.ts'
import { fill } from '../language.ts'
import { badge, hiddenField, message, table, time } from './components.ts'
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

type Sessions = {
  readonly sessions: readonly Session[]
  /** Says what the last form did. */
  readonly confirmation?: string
}

export function sessionsPage(view: ConsoleView, { sessions, confirmation }: Sessions): string {
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
        columns: [
          { label: t.device, kind: 'head' },
          { label: t.address },
          { label: t.signedInAt },
          { label: t.lastUsed },
          { label: t.endsAt },
          { label: t.actions, kind: 'actions' },
        ],
        rows: sessions.map((session) => row(view, session)),
      })}`,
  })
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
