/** The guest links of a partner, and the page that a guest opens from the mail. */
import type { ResponseOf } from '@partner-payments/wire'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { listPage, type Listed } from './list-page.ts'
import { badge, call, field, hiddenField, time, type Tone } from './components.ts'
import { facts, optionsOf, select } from './lists.ts'
import { guestTexts } from './texts/guests.ts'
import { type ConsoleView, shell } from './view.ts'

export type GuestRow = Pick<
  ResponseOf<'createGuestLink'>,
  'guestLinkId' | 'email' | 'fullName' | 'access' | 'status' | 'madeByFullName'
> & { readonly expiresAt: Date; readonly lastUsedAt: Date | null }

type Guests = Listed<GuestRow> & {
  readonly mayWrite: boolean
  readonly idempotencyKey: string
  /** Texts that were typed in a form that was refused. */
  readonly typed: Readonly<Partial<Record<'email' | 'fullName' | 'access' | 'expiresInHours', string>>>
  readonly done?: 'sent' | 'revoked' | undefined
}

const createCall = `POST /v1/users/guest-links
{ "email": "joan@example.com", "fullName": "Joan Clarke", "access": "read", "expiresInHours": 24 }`

const tones: Readonly<Record<GuestRow['status'], Tone>> = {
  ...{ Pending: 'neutral', Open: 'good', Expired: 'neutral', Revoked: 'bad', Ended: 'neutral' },
}

export function guestsPage(view: ConsoleView, guests: Guests): string {
  const g = guestTexts[view.language]
  const { rows, mayWrite, done } = guests
  return listPage(view, guests, {
    title: g.title,
    path: 'webhooks/guests',
    lead: g.lead,
    done: done && g[done],
    columns: [
      [g.guest, 'head'],
      g.access,
      g.status,
      g.madeBy,
      g.expires,
      g.lastUsed,
      ...(mayWrite ? [[g.actions, 'actions'] as const] : []),
    ],
    cells: rows.map((row) => [
      html`<span class="name">${row.fullName}</span> <span class="soft">${row.email}</span>`,
      g.accesses[row.access],
      badge(tones[row.status], g.statuses[row.status]),
      html`<span class="free">${row.madeByFullName}</span>`,
      time(view, row.expiresAt),
      row.lastUsedAt === null ? g.never : time(view, row.lastUsedAt),
      ...(mayWrite ? [revocation(view, row)] : []),
    ]),
    none: { title: g.empty, text: g.emptyText, more: call(view, createCall, g.call) },
    after: html`${mayWrite && newLink(view, guests)}
      <p class="foot"><a href="${view.root}webhooks">${g.back}</a></p>`,
  })
}

function revocation(view: ConsoleView, { guestLinkId, status, fullName }: GuestRow): Html | string {
  if (status !== 'Pending' && status !== 'Open') return ''
  return html`<form method="post" action="${view.root}webhooks/guests/revoke">
    ${hiddenField('id', guestLinkId)}
    <button type="submit" class="small danger">
      ${guestTexts[view.language].revoke}<span class="away"> ${fullName}</span>
    </button>
  </form>`
}

function newLink(view: ConsoleView, { typed, problems, idempotencyKey }: Guests): Html {
  const g = guestTexts[view.language]
  return html`<section aria-labelledby="new-title">
    <h2 id="new-title">${g.newLink}</h2>
    <form class="card" method="post" action="${view.root}webhooks/guests">
      ${hiddenField('idempotencyKey', idempotencyKey)}
      ${field({
        ...{ id: 'fullName', name: 'fullName', label: g.name, value: typed.fullName ?? '' },
        ...{ error: problems['fullName'], more: html`autocomplete="off" maxlength="140"` },
      })}
      ${field({
        ...{ id: 'email', name: 'email', label: g.email, type: 'email', value: typed.email ?? '' },
        ...{ error: problems['email'], more: html`autocomplete="off" maxlength="254"` },
      })}
      ${select({
        ...{ id: 'access', name: 'access', label: g.access, value: typed.access ?? 'read' },
        ...{ options: optionsOf(g.accesses), error: problems['access'] },
      })}
      <p class="help">${g.accessHelp}</p>
      ${field({
        ...{ id: 'expiresInHours', name: 'expiresInHours', label: g.hours, help: g.hoursHelp },
        ...{ value: typed.expiresInHours ?? '24', error: problems['expiresInHours'] },
        more: html`autocomplete="off" inputmode="numeric" maxlength="4"`,
      })}
      <button type="submit" class="primary">${g.send}</button>
    </form>
  </section>`
}

type Opening = {
  readonly token: string
  readonly partnerName: string
  readonly fullName: string
  readonly madeByName: string
  readonly access: GuestRow['access']
  readonly expiresAt: Date
}

/** Opens nothing: a mail scanner that follows the link must not use it up. */
export function openGuestPage(view: ConsoleView, opening: Opening): string {
  const g = guestTexts[view.language]
  const { token, partnerName, fullName: guest, madeByName: maker, access, expiresAt } = opening
  const title = fill(g.openTitle, { partner: partnerName })
  return shell(view, {
    title,
    card: true,
    main: html`<h1>${title}</h1>
      <p class="lead">${fill(g.openText, { maker, guest })}</p>
      ${facts([
        [g.openAccess, g.accesses[access]],
        [g.expires, time(view, expiresAt)],
      ])}
      <p>${g.openOnce}</p>
      <form method="post" action="${view.root}guest">
        ${hiddenField('token', token)}
        <button type="submit" class="primary">${g.open}</button>
      </form>`,
  })
}
