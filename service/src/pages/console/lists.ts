/** The components of lists, and of the page of one thing: filters, tabs, pages, money, identifiers, facts, steps, raw JSON. */
import { readDomestic } from '../../rails/index.ts'
import { html, type Html } from '../html.ts'
import { copyButton, empty, time } from './components.ts'
import { grouped } from './money.ts'
import { paymentTexts } from './texts/payments.ts'
import type { ConsoleView } from './view.ts'

/** Value and text of each option, for a `select`. */
export type Options = readonly (readonly [value: string, text: string])[]

export const optionsOf = (words: Readonly<Record<string, string>>): Options => Object.entries(words)

type Select = {
  readonly id: string
  readonly name: string
  readonly label: string
  readonly value: string | undefined
  readonly options: Options
  /** Text of the empty choice. Absent: one of the options has to be chosen. */
  readonly any?: string
  readonly error?: string | undefined
}

export const select = ({ id, name, label, value, options, any, error }: Select): Html =>
  html`<div class="field${error !== undefined && ' wrong'}">
    <label for="${id}">${label}</label>
    ${error !== undefined && html`<p class="error" id="${id}-error">${error}</p>`}
    <select
      id="${id}"
      name="${name}"
      ${error !== undefined && html` aria-invalid="true" aria-describedby="${id}-error"`}
    >
      ${any !== undefined && html`<option value="">${any}</option>`}
      ${options.map(
        ([each, text]) => html`<option value="${each}" ${each === value && html` selected`}>${text}</option>`,
      )}
    </select>
  </div>`

type Filters = {
  /** Path of the list, which also clears the filters. */
  readonly path: string
  readonly main: readonly Html[]
  /** Filters that are needed seldom. `open`: one of them is set. */
  readonly more?: { readonly fields: readonly Html[]; readonly open: boolean }
  readonly active: boolean
}

/** A form whose fields become the query of the list. */
export function filters({ language, saved }: ConsoleView, { path, main, more, active }: Filters): Html {
  const p = paymentTexts[language]
  return html`${saved?.links}
    <form method="get" action="${path}" class="filters" aria-label="${p.filters}">
      <div class="grid">${main}</div>
      ${
        more &&
        html`<details ${more.open && html` open`}>
          <summary>${p.moreFilters}</summary>
          <div class="grid">${more.fields}</div>
        </details>`
      }
      <div class="buttons">
        <button type="submit">${p.applyFilters}</button>
        ${active && html`<a class="button plain" href="${path}">${p.clearFilters}</a>`}
      </div>
    </form>`
}

type Tabs = {
  readonly label: string
  readonly items: readonly { readonly text: string; readonly href: string; readonly current: boolean }[]
}

export const tabs = ({ label, items }: Tabs): Html =>
  html`<nav class="tabs" aria-label="${label}">
    <ul>
      ${items.map(
        ({ text, href, current }) =>
          html`<li><a href="${href}" ${current && html` aria-current="page"`}>${text}</a></li> `,
      )}
    </ul>
  </nav>`

/** Links of the pages of a list. A list has no count: it would read every row. */
export type Pages = { readonly next?: string | undefined; readonly first?: string | undefined }

export function pager({ t, language }: ConsoleView, { next, first }: Pages): Html | undefined {
  if (next === undefined && first === undefined) return undefined
  return html`<p class="more buttons">
    ${first !== undefined && html`<a class="button" href="${first}">${paymentTexts[language].firstPage}</a>`}
    ${next !== undefined && html`<a class="button" href="${next}">${t.nextPage}</a>`}
  </p>`
}

/** An exact amount with its currency. */
export const money = ({ language }: ConsoleView, amount: string, currency: string, look = ''): Html =>
  html`<span class="money ${look}">${grouped(language, amount)} <abbr>${currency}</abbr></span>`

export const moneyText = ({ language }: ConsoleView, amount: string, currency: string): string =>
  `${grouped(language, amount)} ${currency}`

const groupChars = 4
const shortChars = 16

/** Writes an IBAN in groups of four, and an account without one as people of its country do. An address of a wallet stays whole. */
export function inFours(account: string): string {
  const domestic = readDomestic(account)
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

/** The account of a payee or of a party, as a text. */
export const accountText = ({ iban, sortCode, routingNumber, accountNumber, walletAddress }: AccountFields): string =>
  iban ??
  walletAddress ??
  [sortCode?.replaceAll(/(\d\d)(?=\d)/g, '$1-') ?? routingNumber, accountNumber].filter(Boolean).join(' ')

/** A text of any length in a cell. A cell without one has no line on a narrow page. */
export const freeText = (text: string | undefined): Html | string =>
  text === undefined || text === '' ? '' : html`<span class="free">${text}</span>`

/** A payment by the text that people know: what the partner said, else the reference that the service gave. */
export const referenceText = ({
  userReference,
  reference,
}: {
  readonly userReference?: string | undefined
  readonly reference: string
}): string => userReference ?? reference

/** The reference that the service gave, if people know the payment by another text. */
export const serviceReference = (payment: Parameters<typeof referenceText>[0]): string | undefined =>
  referenceText(payment) === payment.reference ? undefined : payment.reference

export type Link = { readonly text: string; readonly href?: string | undefined }

/** One text a line; a text with a page is a link to it. Undefined: there are none. */
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

/** An identifier with a button that copies it. A long one is shortened, and whole in its title. */
export function identifier(view: ConsoleView, text: string, what: string): Html {
  const shown = text.length > shortChars ? `${text.slice(0, 2 * groupChars)}…${text.slice(-groupChars)}` : text
  return html`<span class="copied"><code title="${text}">${shown}</code> ${copyButton(view, text, what)}</span>`
}

/** A text that is copied to another system. It is shown whole, because it is compared there. */
export const whole = (view: ConsoleView, text: string, what: string): Html =>
  html`<span class="copied"><code class="account">${text}</code> ${copyButton(view, text, what)}</span>`

/** An IBAN or the address of a wallet, with a button that copies it without spaces. */
export const account = (view: ConsoleView, text: string): Html =>
  html`<span class="copied">
    <code class="account">${inFours(text)}</code> ${copyButton(view, text, paymentTexts[view.language].account)}
  </span>`

/** The facts of a thing. An absent value has no line. */
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

/** Shows at the head of a page what matters most: sum, status, parties, time. */
export const strip = (items: readonly (readonly [label: string, value: Html | string])[]): Html =>
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

/** The answer of the API, in a collapsed section. */
export const rawJson = ({ language }: ConsoleView, value: unknown): Html =>
  html`<details class="raw">
    <summary>${paymentTexts[language].rawJson}</summary>
    <pre tabindex="0"><code>${JSON.stringify(value, null, 2)}</code></pre>
  </details>`

/** An empty list says what will be here. */
export type None = Parameters<typeof empty>[0]

type List = {
  readonly table: Html
  readonly isEmpty: boolean
  readonly isFiltered: boolean
  readonly none: None
  readonly pages: Pages
}

/** A table with its pages, or what an empty list says. */
export function list(view: ConsoleView, { table, isEmpty, isFiltered, none, pages }: List): Html {
  const p = paymentTexts[view.language]
  if (!isEmpty) return html`${table} ${pager(view, pages)}`
  if (!isFiltered) return empty(none)
  return html`${empty({ title: p.nothingFound, text: p.nothingFoundText })} ${pager(view, pages)}`
}
