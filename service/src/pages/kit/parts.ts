/** Parts of pages: messages, badges, times, money, identifiers, facts, steps, tables. `console/design.ts` shows each in its states. */
import { type Decimal, decimalText } from '@partner-payments/wire'
import { describeDevice } from '../../people/sign-in/index.ts'
import { parseDomesticAccount } from '../../rails/index.ts'
import { html, type Html } from '../html.ts'
import type { ConsoleView } from './frame.ts'

export type Tone = 'good' | 'warning' | 'bad' | 'neutral'

/** Renders a status as a word in a shape. The colour repeats the meaning. */
export const badge = (tone: Tone, text: string): Html => html`<span class="badge ${tone}">${text}</span>`

/** Renders a message about the form that was sent. Screen readers announce it. */
export const message = (tone: Tone, text: string): Html => html`<p class="message ${tone}" role="status">${text}</p>`

export const wordFor = (words: Readonly<Record<string, string>>, value: string): string => words[value] ?? value

const tones: Readonly<Record<string, 'good' | 'warning' | 'bad'>> = {
  Completed: 'good',
  PendingApproval: 'warning',
  Expired: 'warning',
  Failed: 'bad',
  Returned: 'bad',
  Unsuccessful: 'bad',
}

export const nameCheckTones = { Match: 'good', CloseMatch: 'warning', NoMatch: 'bad', NotPossible: 'neutral' } as const
export const verificationTones = { Complete: 'good', Incomplete: 'warning', Invalid: 'bad' } as const

export const transactionBadge = ({ t }: ConsoleView, status: string): Html =>
  badge(tones[status] ?? 'neutral', wordFor(t.transactionStatus, status))

export const payoutBadge = ({ t }: ConsoleView, status: string): Html =>
  badge(tones[status] ?? 'neutral', wordFor(t.payoutStatus, status))

/** Renders a copy button, which the script shows if the browser can copy. `what` names the text for screen readers. */
export const copyButton = ({ t }: ConsoleView, text: string, what: string): Html =>
  html`<button type="button" class="small" data-copy="${text}" data-copied="${t.copied}" hidden>
    <span>${t.copy}</span><span class="away"> ${what}</span>
  </button>`

/** A time: a date, or the text of an API response. */
type Time = Date | string

/** Renders a time in the zone of the reader, with UTC in its title. `seconds`: for a deadline within minutes. */
export function time(
  { language, locale = language, zone }: ConsoleView,
  given: Time,
  form: 'date' | 'time' | 'seconds' = 'time',
): Html {
  const at = new Date(given)
  const show = (timeZone: string, withTime: boolean) =>
    new Intl.DateTimeFormat(locale, {
      dateStyle: 'medium',
      ...(withTime ? { timeStyle: form === 'seconds' ? 'medium' : 'short' } : {}),
      timeZone,
    }).format(at)
  const utc = `${show('UTC', true)} UTC`
  const text = form === 'date' ? show('UTC', false) : utc
  return zone === undefined
    ? html`<time datetime="${at.toISOString()}" title="${utc}" data-local="${form}">${text}</time>`
    : html`<time datetime="${at.toISOString()}" title="${utc}">${show(zone, form !== 'date')}</time>`
}

/** Formats a time in the zone of the reader, for use in a sentence. */
export const timeText = ({ language, locale = language, zone }: ConsoleView, at: Time): string => {
  const form = { dateStyle: 'medium', timeStyle: 'short', timeZone: zone ?? 'UTC' } as const
  const text = new Intl.DateTimeFormat(locale, form).format(new Date(at))
  return zone === undefined ? `${text} UTC` : text
}

/** Formats a calendar day, `YYYY-MM-DD`, in the language of the reader. */
export const dayText = ({ language, locale = language }: ConsoleView, day: string): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(`${day}T00:00:00Z`))

/** Renders a calendar day, which is the same in every zone. */
export const calendarDay = (view: ConsoleView, day: string): Html =>
  html`<time datetime="${day}">${dayText(view, day)}</time>`

export function formatGrouped(language: string, amount: string): string {
  const decimals = amount.split('.')[1]?.length ?? 0
  return new Intl.NumberFormat(language, { minimumFractionDigits: decimals }).format(
    amount as Intl.StringNumericLiteral,
  )
}

/** An amount: a text, or a number of an API response. */
type Amount = string | Decimal

const groupedAmount = ({ language }: ConsoleView, amount: Amount): string =>
  formatGrouped(language, typeof amount === 'string' ? amount : decimalText(amount))

/** Renders an exact amount with its currency. */
export const money = (view: ConsoleView, amount: Amount, currency: string, look = ''): Html =>
  html`<span class="money ${look}">${groupedAmount(view, amount)} <abbr>${currency}</abbr></span>`

export const moneyText = (view: ConsoleView, amount: Amount, currency: string): string =>
  `${groupedAmount(view, amount)} ${currency}`

const groupChars = 4

const shortChars = 16

/** Formats an IBAN in groups of four, a domestic account as its country does, and a wallet address unchanged. */
export function formatAccount(account: string): string {
  const domestic = parseDomesticAccount(account)
  if (domestic !== undefined) return accountText(domestic)
  return /^[A-Za-z]{2}\d\d/.test(account) ? account.replaceAll(' ', '').replaceAll(/(.{4})(?=.)/g, '$1 ') : account
}

type AccountFields = {
  readonly iban?: string
  readonly sortCode?: string
  readonly routingNumber?: string
  readonly accountNumber?: string
  readonly walletAddress?: string
}

/** Formats the account of a payee or of a party. */
export const accountText = ({ iban, sortCode, routingNumber, accountNumber, walletAddress }: AccountFields): string =>
  iban ??
  walletAddress ??
  [sortCode?.replaceAll(/(\d\d)(?=\d)/g, '$1-') ?? routingNumber, accountNumber].filter(Boolean).join(' ')

/** Renders a text of any length in a cell. An empty cell has no line on a narrow page. */
export const freeText = (text: string | undefined): Html | string =>
  text === undefined || text === '' ? '' : html`<span class="free">${text}</span>`

/** Returns the partner's own reference of a payment, or else the reference of the service. */
export const referenceText = ({
  userReference,
  reference,
}: {
  readonly userReference?: string | undefined
  readonly reference: string
}): string => userReference ?? reference

/** Renders the reference in a list, with the reference of the service in its title. */
export const referenceCell = (payment: Parameters<typeof referenceText>[0]): Html =>
  html`<span class="free" ${serviceReference(payment) !== undefined && html` title="${payment.reference}"`}
    >${referenceText(payment)}</span
  >`

/** Returns the reference of the service if the partner gave its own. */
export const serviceReference = (payment: Parameters<typeof referenceText>[0]): string | undefined =>
  referenceText(payment) === payment.reference ? undefined : payment.reference

/** Renders the name of a session's browser, with its user agent in the title. */
export function browserName({ t }: ConsoleView, userAgent: string): Html {
  return html`<span title="${userAgent}">${describeDevice(userAgent, t.deviceWords)}</span>`
}

export type Link = { readonly text: string; readonly href?: string | undefined }

/** Renders one text or link in each line. Undefined: the list is empty. */
export const links = (items: readonly Link[]): Html | undefined =>
  items.length === 0
    ? undefined
    : html`<span class="lines">
        ${items.map(({ text, href }) =>
          href === undefined
            ? html`<span class="free">${text}</span>`
            : html`<a class="free" href="${href}">${text}</a>`,
        )}
      </span>`

/** Renders an identifier with a copy button. A long one is shortened, with the whole text in its title. */
export function identifier(view: ConsoleView, text: string, what: string): Html {
  const shown = text.length > shortChars ? `${text.slice(0, 2 * groupChars)}…${text.slice(-groupChars)}` : text
  return html`<span class="copied"><code title="${text}">${shown}</code> ${copyButton(view, text, what)}</span>`
}

/** Renders a text with a copy button. The text is not shortened, because the person compares it elsewhere. */
export const copyableText = (view: ConsoleView, text: string, what: string): Html =>
  html`<span class="copied"><code class="account">${text}</code> ${copyButton(view, text, what)}</span>`

/** Renders an IBAN or a wallet address with a button that copies it without spaces. */
export const account = (view: ConsoleView, text: string): Html =>
  html`<span class="copied">
    <code class="account">${formatAccount(text)}</code> ${copyButton(view, text, view.t.accountCopied)}
  </span>`

/** Renders labels with their values. An absent value has no line. */
export function facts(items: readonly (readonly [label: string, value: Html | string | undefined])[]): Html {
  const lines = items.flatMap(([label, value]) =>
    value === undefined
      ? []
      : [
          html`<div>
            <dt>${label}</dt>
            <dd>${value}</dd>
          </div>`,
        ],
  )
  return html`<dl class="facts">${lines}</dl>`
}

/** Renders the title of a page with buttons at its right. */
export const heading = (title: string, buttons: Html | false | undefined): Html =>
  html`<div class="heading">
    <h1>${title}</h1>
    ${buttons}
  </div>`

/** Renders a link that looks like a button. */
export const linkButton = (href: string, text: string, look = ''): Html =>
  html`<a class="button${look !== '' && ` ${look}`}" href="${href}">${text}</a>`

/** Renders a part of a page under its own heading. */
export const section = (id: string, title: string, body: Html): Html =>
  html`<section aria-labelledby="${id}-title">
    <h2 id="${id}-title">${title}</h2>
    ${body}
  </section>`

/** Renders the most important facts at the top of a page: sum, status, parties, time. */
export const summaryStrip = (items: readonly (readonly [label: string, value: Html | string])[]): Html =>
  html`<dl class="strip">
    ${items.map(
      ([label, value]) =>
        html`<div>
          <dt>${label}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`

export type Step = {
  readonly title: string
  readonly at: Date
  /** Absent: the actor was not recorded. */
  readonly by?: string | undefined
  readonly detail?: string | undefined
}

export const steps = (view: ConsoleView, items: readonly Step[]): Html =>
  html`<ol class="steps">
    ${items.map(
      ({ title, at, by, detail }) =>
        html`<li>
          <p><strong>${title}</strong>${by !== undefined && html` <span class="soft">${by}</span>`}</p>
          ${detail !== undefined && html`<p>${detail}</p>`}
          <p class="soft">${time(view, at)}</p>
        </li>`,
    )}
  </ol>`

/** Renders the API response in a collapsed section. */
export const rawJson = ({ t }: ConsoleView, value: unknown): Html =>
  html`<details class="raw">
    <summary>${t.rawJson}</summary>
    <pre tabindex="0"><code>${JSON.stringify(value, null, 2)}</code></pre>
  </details>`

/** A label, or a label with a kind: `number` is right-aligned, `actions` has no visible heading, `head` names the row. */
type Column = string | readonly [label: string, kind: 'head' | 'number' | 'actions']

export type Table = {
  readonly caption: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly (Html | string)[])[]
}

/**
 * Renders a table, which becomes a list of cards on a narrow page and scrolls if it is too wide. The roles keep it a table for screen readers
 * when the style sheet turns it into cards.
 */
export function table({ caption, columns, rows }: Table): Html {
  const named = columns.map((column) => (typeof column === 'string' ? ([column] as const) : column))
  const heads = named.map(([label, kind]) =>
    kind === 'actions'
      ? html`<th scope="col" role="columnheader"><span class="away">${label}</span></th>`
      : html`<th scope="col" role="columnheader" class="${kind ?? ''}">${label}</th>`,
  )
  const cellOf = (part: Html | string, at: number): Html => {
    const [label = '', kind] = named[at] ?? []
    return kind === 'head'
      ? html`<th scope="row" role="rowheader">${part}</th>`
      : html`<td role="cell" class="${kind ?? ''}" data-label="${label}">${part}</td>`
  }
  return html`<div class="table">
    <table role="table">
      <caption class="away">
        ${caption}
      </caption>
      <thead role="rowgroup">
        <tr role="row">
          ${heads}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          (row) =>
            html`<tr role="row">
              ${row.map(cellOf)}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`
}

type Empty = { readonly title: string; readonly text: string; readonly more?: Html }

/** Renders the text of an empty list, which says what will appear here. */
export const emptyState = ({ title, text, more }: Empty): Html =>
  html`<div class="empty">
    <p class="empty-title">${title}</p>
    <p>${text}</p>
    ${more}
  </div>`

const [liveStart, liveEnd] = ['<!--live-->', '<!--/live-->']

/**
 * Marks a part that changes while the page is open. `console.js` polls it every few seconds, without extending the session, until `isMoving` is
 * false in an answer. Forms stay outside, because the part is replaced.
 */
export const liveRegion = (isMoving: boolean, part: Html): Html => ({
  html: `${liveStart}<div data-live="${isMoving ? 'on' : ''}">${part.html}</div>${liveEnd}`,
})

/** Extracts the live parts of a page, in their order. */
export const liveRegions = (page: string): string =>
  page
    .split(liveStart)
    .slice(1)
    .map((rest) => rest.slice(0, rest.indexOf(liveEnd)))
    .join('')

/** Renders a text that is copied as a whole, with a copy button. */
export const copyBlock = (view: ConsoleView, text: string, what: string): Html =>
  html`<div class="call" role="group" aria-label="${what}">
    <pre tabindex="0"><code>${text}</code></pre>
    ${copyButton(view, text, what)}
  </div>`

/** Renders an API call with a copy button. */
export const apiCall = (view: ConsoleView, text: string, what: string): Html =>
  html`<div class="call" role="group" aria-label="${what}">
    <pre><code>${text}</code></pre>
    ${copyButton(view, text, what)}
  </div>`
