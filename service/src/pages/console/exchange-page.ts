/** Exchange: the rates with the form of a quote, and the page of one quote, which becomes the page of its conversion. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { choices, empty, field, hiddenField, message, table, time } from './components.ts'
import type { CustomerLink } from './customer-link.ts'
import { facts, filters, money, moneyText, select, strip } from './lists.ts'
import { grouped } from './money.ts'
import { linkOf, type Problems, type Values } from './payments-request.ts'
import { exchangeTexts } from './texts/exchange.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

export const quoteFields = ['sellCurrency', 'buyCurrency', 'amount', 'side', 'kind', 'customerId'] as const

type Rate = {
  readonly currency: string
  readonly rate: string
  readonly midRate: string
  readonly marginBasisPoints: number
}
type Rates = {
  readonly base: string
  readonly source: string
  readonly asOf: Date
  readonly rates: readonly Rate[]
}
type Exchange = {
  /** Absent: the source has no current rates, or the filter was refused. */
  readonly rates?: Rates | undefined
  readonly base: string | undefined
  /** Currencies that can be chosen. */
  readonly currencies: readonly string[]
  /** Values of the form of a quote as typed. */
  readonly values: Values
  readonly problems: Problems
  readonly may: { readonly write: boolean; readonly transactions: boolean }
}

export function exchangePage(view: ConsoleView, exchange: Exchange): string {
  const x = exchangeTexts[view.language]
  const { problems, may } = exchange
  const conversions = linkOf(`${view.root}transactions`, { category: 'Conversion' })
  return shell(view, {
    title: view.t.exchange,
    wide: true,
    problems,
    main: html`<div class="heading">
        <h1>${view.t.exchange}</h1>
        ${may.transactions && html`<a class="button" href="${conversions}">${x.conversions}</a>`}
      </div>
      <p class="lead">${x.lead}</p>
      ${may.write ? html`<div class="beside">${quoteForm(view, exchange)} ${ratesPart(view, exchange)}</div>` : ratesPart(view, exchange)}`,
  })
}

function quoteForm(view: ConsoleView, { values, problems, currencies }: Exchange): Html {
  const x = exchangeTexts[view.language]
  const p = paymentTexts[view.language]
  const currency = (name: 'sellCurrency' | 'buyCurrency', label: string) =>
    select({
      ...{ id: name, name, label, value: values[name], error: problems[name] },
      options: currencies.map((each) => [each, each] as const),
    })
  const choice = (
    name: 'side' | 'kind',
    legend: string,
    words: Readonly<Record<string, string>>,
    helps: Readonly<Record<string, string>>,
  ) =>
    choices({
      ...{ id: name, name, legend, chosen: values[name], error: problems[name] },
      options: Object.entries(words).map(([value, label]) => ({ value, label, help: helps[value] ?? '' })),
    })
  return html`<section class="card" aria-labelledby="quote-title">
    <h2 id="quote-title">${x.newQuote}</h2>
    <form method="post" action="${view.root}exchange">
      ${currency('sellCurrency', x.sell)} ${currency('buyCurrency', x.buy)}
      ${field({
        ...{ id: 'amount', name: 'amount', label: p.amount, value: values['amount'] ?? '', error: problems['amount'] },
        help: p.payoutAmountHelp,
        more: html`inputmode="decimal" autocomplete="off" maxlength="20"`,
      })}
      ${choice('side', x.side, x.sides, x.sideHelp)} ${choice('kind', x.kind, x.kinds, x.kindHelp)}
      ${field({
        ...{ id: 'customerId', name: 'customerId', help: x.customerHelp, error: problems['customerId'] },
        ...{ value: values['customerId'] ?? '', optional: true },
        label: fill(p.optional, { label: p.customer }),
        more: html`autocomplete="off" maxlength="36"`,
      })}
      <button type="submit" class="primary">${x.getQuote}</button>
    </form>
  </section>`
}

function ratesPart(view: ConsoleView, exchange: Exchange): Html {
  const x = exchangeTexts[view.language]
  const { rates, base, currencies, problems } = exchange
  const options = currencies.map((each) => [each, each] as const)
  const form = filters(view, {
    path: `${view.root}exchange`,
    main: [select({ id: 'base', name: 'base', label: x.base, value: base ?? 'EUR', options, error: problems['base'] })],
    active: base !== undefined,
  })
  return html`<section aria-labelledby="rates-title">
    <h2 id="rates-title">${x.rates}</h2>
    ${
      rates !== undefined
        ? html`<p>${x.ratesText}</p>
            ${form} ${rateTable(view, rates)}
            <p class="more soft">${fill(x.asOf, { source: rates.source })} ${time(view, rates.asOf, 'seconds')}</p>`
        : problems['base'] === undefined
          ? empty({ title: x.noRates, text: x.noRatesText })
          : form
    }
  </section>`
}

function rateTable(view: ConsoleView, { base, rates }: Rates): Html {
  const x = exchangeTexts[view.language]
  return table({
    caption: x.rates,
    columns: [
      [x.pair, 'head'],
      [x.rate, 'number'],
      [x.midRate, 'number'],
      [x.margin, 'number'],
    ],
    rows: rates.map(({ currency, rate, midRate, marginBasisPoints }) => [
      `${base}/${currency}`,
      grouped(view.language, rate),
      grouped(view.language, midRate),
      percent(view, marginBasisPoints),
    ]),
  })
}

/** 10,000 basis points are the whole. */
const percent = ({ language }: ConsoleView, basisPoints: number): string =>
  new Intl.NumberFormat(language, { style: 'percent', minimumFractionDigits: 2 }).format(
    `${basisPoints}e-4` as Intl.StringNumericLiteral,
  )

type Amount = { readonly amount: string; readonly currency: string }

type Quote = {
  readonly status: 'Open' | 'Accepted' | 'Expired'
  readonly sold: Amount
  readonly bought: Amount
  readonly rate: string
  readonly midRate: string
  readonly margin: Amount & { readonly basisPoints: number }
  readonly fee: Amount
  readonly createdAt: Date
  readonly expiresAt: Date
  /** Whole seconds until it expires, by the clock of the service. */
  readonly secondsLeft: number
  /** Money that is available in the sold currency. Absent: the person may not read balances. */
  readonly available?: Amount | undefined
  readonly customer?: CustomerLink | undefined
  readonly transaction?: { readonly reference: string; readonly href?: string | undefined } | undefined
  /** Link to the form of a quote with the values of this one. */
  readonly againHref: string
  /** Path of the form that exchanges. */
  readonly convertHref: string
  readonly mayWrite: boolean
  /** The reason for which a conversion would be refused now. */
  readonly refusal: 'balance_limit_exceeded' | 'customer_not_verified' | undefined
  readonly idempotencyKey: string
  /** True if the form was just sent. */
  readonly isNew: boolean
  readonly problems: Problems
}

export function quotePage(view: ConsoleView, quote: Quote): string {
  const x = exchangeTexts[view.language]
  const { status, isNew, problems } = quote
  const title = { Open: x.checkTitle, Accepted: x.exchangedTitle, Expired: x.expiredTitle }[status]
  return shell(view, {
    title,
    problems,
    main: html`${isNew && status === 'Accepted' && message('good', x.exchanged)}
      <h1>${title}</h1>
      ${status === 'Open' && html`<p class="lead">${x.checkText}</p>`}
      ${status === 'Expired' && html`<p class="lead">${x.expiredText}</p>`}
      ${quote.refusal && message('warning', x.refusal[quote.refusal])} ${amounts(view, quote)} ${details(view, quote)}
      ${status === 'Open' ? holds(view, quote) : afterwards(view, quote)}`,
  })
}

function amounts(view: ConsoleView, { status, sold, bought, rate }: Quote): Html {
  const x = exchangeTexts[view.language]
  const isDone = status === 'Accepted'
  const rateText = fill(x.rateText, {
    sold: sold.currency,
    rate: grouped(view.language, rate),
    bought: bought.currency,
  })
  return strip([
    [isDone ? x.sold : x.sell, money(view, sold.amount, sold.currency, 'main')],
    [isDone ? x.bought : x.buy, money(view, bought.amount, bought.currency, 'main')],
    [x.rate, rateText],
  ])
}

function details(view: ConsoleView, quote: Quote): Html {
  const x = exchangeTexts[view.language]
  const p = paymentTexts[view.language]
  const { status, fee, margin, midRate, available, customer, transaction } = quote
  const linked = (text: string, href: string | undefined) =>
    href === undefined ? text : html`<a href="${href}">${text}</a>`
  return facts([
    [x.usedBy, transaction && linked(transaction.reference, transaction.href)],
    [p.fee, money(view, fee.amount, fee.currency)],
    [x.midRate, grouped(view.language, midRate)],
    [x.margin, `${percent(view, margin.basisPoints)} (${moneyText(view, margin.amount, margin.currency)})`],
    [p.customer, customer && linked(customer.name, customer.href)],
    [x.usedAt, time(view, quote.createdAt, 'seconds')],
    [
      available === undefined ? '' : fill(x.available, { currency: available.currency }),
      status === 'Open' && available !== undefined ? money(view, available.amount, available.currency) : undefined,
    ],
  ])
}

/** Says until when the quote holds and what comes then, beside the button that exchanges. */
function holds(view: ConsoleView, quote: Quote): Html {
  const x = exchangeTexts[view.language]
  const { sold, expiresAt, secondsLeft, againHref, convertHref, mayWrite, refusal, idempotencyKey } = quote
  const label = fill(x.exchange, { amount: moneyText(view, sold.amount, sold.currency) })
  return html`<p class="more">
      <strong>${x.holdsUntil} ${time(view, expiresAt, 'seconds')}</strong>
      <span class="badge warning" role="timer" data-seconds="${secondsLeft}" data-left="${x.left}" data-over="${x.over}"
        >${fill(x.left, { time: `${secondsLeft} s` })}</span
      >
    </p>
    <p class="more">${x.holdsText}</p>
    ${
      mayWrite &&
      html`<form method="post" action="${convertHref}" class="buttons">
        ${hiddenField('idempotencyKey', idempotencyKey)}
        ${refusal === undefined && html`<button type="submit" class="primary">${label}</button>`}
        <a class="button" href="${againHref}">${paymentTexts[view.language].change}</a>
      </form>`
    }`
}

function afterwards(view: ConsoleView, { transaction, againHref, mayWrite }: Quote): Html {
  const x = exchangeTexts[view.language]
  const p = paymentTexts[view.language]
  const look = transaction === undefined ? 'button primary' : 'button'
  return html`<p class="buttons">
    ${transaction?.href !== undefined && html`<a class="button primary" href="${transaction.href}">${p.toTransaction}</a>`}
    ${mayWrite && html`<a class="${look}" href="${againHref}">${x.newQuote}</a>`}
  </p>`
}
