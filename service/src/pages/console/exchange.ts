/** Exchange: rates, a quote, and conversions. */
import { decimalText, rawNumber, type ResponseOf } from '@partner-payments/wire'
import { ifFound, type PublicAnswer, type PublicRequest, Refusal } from '../../kernel/api/index.ts'
import { currencies, newId } from '../../kernel/index.ts'
import { html, type Html } from '../html.ts'
import {
  amountCharsMax,
  hiddenField,
  inputs,
  type Options,
  type FieldProblems,
  type FieldValues,
} from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { filterForm } from '../kit/lists.ts'
import { emptyState, facts, formatGrouped, message, money, moneyText, summaryStrip, table, time } from '../kit/parts.ts'
import {
  readId,
  pathWithQuery,
  page,
  readExactAmount,
  readForm,
  readQuery,
  seeOther,
  pageStatus,
  uuidChars,
  readValues,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import { type CustomerLink, readCustomerLinks } from './customer-link.ts'
import {
  callOf,
  type Frame,
  type Person,
  refusalProblems,
  type Routes,
  placeRoutes,
  textsWithRefusals,
} from './request.ts'
import { texts } from './texts/index.ts'
import { transactionHref } from './transactions.ts'

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

type ExchangeView = {
  /** Absent: the source has no current rates, or the base was refused. */
  readonly rates?: Rates | undefined
  readonly base: string | undefined
  /** Currencies that can be chosen. */
  readonly currencies: readonly string[]
  /** Values of the quote form as typed. */
  readonly values: FieldValues
  readonly problems: FieldProblems
  readonly may: { readonly write: boolean; readonly transactions: boolean }
}

export function exchangePage(view: ConsoleView, exchange: ExchangeView): string {
  const x = texts[view.language].exchange
  const { problems, may } = exchange
  const conversions = pathWithQuery(`${view.root}transactions`, { category: 'Conversion' })
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

const currencyOptions = (codes: readonly string[]): Options => codes.map((code) => [code, code])

function quoteForm(view: ConsoleView, exchange: ExchangeView): Html {
  const x = texts[view.language].exchange
  const p = texts[view.language].payments
  const options = currencyOptions(exchange.currencies)
  const choicesOf = (words: Readonly<Record<string, string>>, helps: Readonly<Record<string, string>>) =>
    Object.entries(words).map(([value, label]) => ({ value, label, help: helps[value] ?? '' }))
  return html`<section class="card" aria-labelledby="quote-title">
    <h2 id="quote-title">${x.newQuote}</h2>
    <form method="post" action="${view.root}exchange">
      ${inputs(view, exchange, [
        { name: 'sellCurrency', label: x.sell, options },
        { name: 'buyCurrency', label: x.buy, options },
        { name: 'amount', label: p.amount, help: p.payoutAmountHelp, keys: 'decimal', charsMax: amountCharsMax },
        { name: 'side', label: x.side, choices: choicesOf(x.sides, x.sideHelp) },
        { name: 'kind', label: x.kind, choices: choicesOf(x.kinds, x.kindHelp) },
        { name: 'customerId', label: p.customer, help: x.customerHelp, charsMax: uuidChars, optional: true },
      ])}
      <button type="submit" class="primary">${x.getQuote}</button>
    </form>
  </section>`
}

function ratesPart(view: ConsoleView, { rates, base, currencies, problems }: ExchangeView): Html {
  const x = texts[view.language].exchange
  const typed = { values: base === undefined ? {} : { base }, problems }
  const form = filterForm(view, typed, {
    path: 'exchange',
    filters: [{ name: 'base', label: x.base, value: 'EUR', options: currencyOptions(currencies) }],
  })
  return html`<section aria-labelledby="rates-title">
    <h2 id="rates-title">${x.rates}</h2>
    ${
      rates !== undefined
        ? html`<p>${x.ratesText}</p>
            ${form} ${rateTable(view, rates)}
            <p class="more soft">
              ${fill(x.asOf, { source: rates.source === 'sandbox' ? view.t.sandbox : rates.source.toUpperCase() })}
              ${time(view, rates.asOf, 'seconds')}
            </p>`
        : problems['base'] === undefined
          ? emptyState({ title: x.noRates, text: x.noRatesText })
          : form
    }
  </section>`
}

function rateTable(view: ConsoleView, { base, rates }: Rates): Html {
  const x = texts[view.language].exchange
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
      formatGrouped(view.language, rate),
      formatGrouped(view.language, midRate),
      percent(view, marginBasisPoints),
    ]),
  })
}

/** Formats basis points (1/10,000) as a percentage. */
const percent = ({ language }: ConsoleView, basisPoints: number): string =>
  new Intl.NumberFormat(language, { style: 'percent', minimumFractionDigits: 2 }).format(
    `${basisPoints}e-4` as Intl.StringNumericLiteral,
  )

type Amount = { readonly amount: string; readonly currency: string }

type QuoteView = {
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
  /** Link to the quote form, filled with the values of this quote. */
  readonly againHref: string
  /** Path of the form that accepts the quote. */
  readonly convertHref: string
  readonly mayWrite: boolean
  /** The reason why a conversion would be refused now. */
  readonly refusal: 'balance_limit_exceeded' | 'customer_not_verified' | undefined
  readonly idempotencyKey: string
  /** True if the person has just sent the form. */
  readonly isNew: boolean
  readonly problems: FieldProblems
}

export function quotePage(view: ConsoleView, quote: QuoteView): string {
  const x = texts[view.language].exchange
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
      ${status === 'Open' ? quoteExpiry(view, quote) : nextSteps(view, quote)}`,
  })
}

function amounts(view: ConsoleView, { status, sold, bought, rate }: QuoteView): Html {
  const x = texts[view.language].exchange
  const isDone = status === 'Accepted'
  const rateText = fill(x.rateText, {
    sold: sold.currency,
    rate: formatGrouped(view.language, rate),
    bought: bought.currency,
  })
  return summaryStrip([
    [isDone ? x.sold : x.sell, money(view, sold.amount, sold.currency, 'main')],
    [isDone ? x.bought : x.buy, money(view, bought.amount, bought.currency, 'main')],
    [x.rate, rateText],
  ])
}

function details(view: ConsoleView, quote: QuoteView): Html {
  const x = texts[view.language].exchange
  const p = texts[view.language].payments
  const { status, fee, margin, midRate, available, customer, transaction } = quote
  const linked = (text: string, href: string | undefined) =>
    href === undefined ? text : html`<a href="${href}">${text}</a>`
  return facts([
    [x.usedBy, transaction && linked(transaction.reference, transaction.href)],
    [p.fee, money(view, fee.amount, fee.currency)],
    [x.midRate, formatGrouped(view.language, midRate)],
    [x.margin, `${percent(view, margin.basisPoints)} (${moneyText(view, margin.amount, margin.currency)})`],
    [p.customer, customer && linked(customer.name, customer.href)],
    [x.usedAt, time(view, quote.createdAt, 'seconds')],
    [
      available === undefined ? '' : fill(x.available, { currency: available.currency }),
      status === 'Open' && available !== undefined ? money(view, available.amount, available.currency) : undefined,
    ],
  ])
}

/** Renders the expiry of the quote with a countdown, and the button that accepts the quote. */
function quoteExpiry(view: ConsoleView, quote: QuoteView): Html {
  const x = texts[view.language].exchange
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
        <a class="button" href="${againHref}">${texts[view.language].payments.change}</a>
      </form>`
    }`
}

function nextSteps(view: ConsoleView, { transaction, againHref, mayWrite }: QuoteView): Html {
  const x = texts[view.language].exchange
  const p = texts[view.language].payments
  const look = transaction === undefined ? 'button primary' : 'button'
  return html`<p class="buttons">
    ${transaction?.href !== undefined && html`<a class="button primary" href="${transaction.href}">${p.toTransaction}</a>`}
    ${mayWrite && html`<a class="${look}" href="${againHref}">${x.newQuote}</a>`}
  </p>`
}

type QuoteAnswer = ResponseOf<'getFxQuote'>

const refusalTexts = (person: Person) => textsWithRefusals(person, 'exchange')

/** Reads the rates of a base currency. Returns none if the source has no current rates, or if the base was refused. */
async function readRates({ operate }: Frame, request: PublicRequest, person: Person, base: string | undefined) {
  try {
    const query = base === undefined ? '' : `base=${encodeURIComponent(base)}`
    const found = await operate('getFxRates', { ...callOf(person, request), query })
    const rates = found.rates.map((each) => ({
      ...each,
      rate: decimalText(each.rate),
      midRate: decimalText(each.midRate),
    }))
    return { rates: { ...found, asOf: new Date(found.asOf), rates }, problems: {} }
  } catch (error) {
    if (error instanceof Refusal && error.code === 'fx_rates_unavailable') return { problems: {} }
    const { currencyUnknown } = texts[person.view.language].exchange
    return { problems: refusalProblems(refusalTexts(person), error, ['base'], { base: currencyUnknown }) }
  }
}

async function show(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  typed: FieldValues,
  typedProblems: FieldProblems = {},
): Promise<PublicAnswer> {
  const { view, caller } = person
  const { base } = readQuery(request, ['base'])
  const { rates, problems: baseProblems } = await readRates(frame, request, person, base)
  const problems = { ...baseProblems, ...typedProblems }
  const offered =
    rates === undefined ? Object.keys(currencies) : [rates.base, ...rates.rates.map(({ currency }) => currency)]
  const [sellCurrency = '', buyCurrency = ''] = offered
  const shown = {
    rates,
    base,
    problems,
    currencies: offered.toSorted(),
    values: { sellCurrency, buyCurrency, side: 'sell', kind: 'firm', ...typed },
    may: {
      write: caller.permissions.includes('fx:write'),
      transactions: caller.permissions.includes('transactions:read'),
    },
  }
  return page(request, pageStatus(problems), exchangePage(view, shown))
}

/** Returns the error texts of a refused quote by field. The sold and the bought amount share one field. */
function quoteProblems(person: Person, error: unknown, { sellCurrency, buyCurrency }: FieldValues): FieldProblems {
  const { sameCurrency, currencyUnknown, customerUnknown } = texts[person.view.language].exchange
  const { sellAmount, buyAmount, ...problems } = refusalProblems(
    refusalTexts(person),
    error,
    [...quoteFields, 'sellAmount', 'buyAmount'],
    {
      sellCurrency: currencyUnknown,
      buyCurrency: sellCurrency === buyCurrency ? sameCurrency : currencyUnknown,
      customerId: customerUnknown,
    },
  )
  const amount = sellAmount ?? buyAmount
  return amount === undefined ? problems : { ...problems, amount }
}

async function createQuote(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const x = texts[person.view.language].exchange
  const given = readForm(request)
  const values = readValues(given, quoteFields)
  const { amount: amountText = '', side, ...rest } = values
  const amount = readExactAmount(amountText)
  if (amount === undefined || amount === 'ambiguous')
    return show(frame, request, person, values, {
      amount: amount === undefined ? x.amountWrong : x.amountAmbiguous,
    })
  const body = { ...rest, [side === 'buy' ? 'buyAmount' : 'sellAmount']: rawNumber(amount) }
  try {
    // Without a key: a quote moves no money, and a form that is changed after Back must create another quote.
    const { id } = await frame.operate('createFxQuote', { ...callOf(person, request), body })
    return seeOther(pathWithQuery(`exchange/${id}`, { side: side === 'buy' ? side : undefined }))
  } catch (error) {
    return show(frame, request, person, values, quoteProblems(person, error, values))
  }
}

/** Reads the money that the quote can use in the sold currency: the customer's or the partner's. */
async function readAvailable({ operate }: Frame, request: PublicRequest, person: Person, quote: QuoteAnswer) {
  const { sellCurrency, customerId } = quote
  if (!person.caller.permissions.includes('accounts:read')) return undefined
  const call = callOf(person, request)
  const { data } = await operate('listAccounts', call)
  const balance = data.find(({ currency }) => currency === sellCurrency)
  if (balance === undefined) return { amount: '0', currency: sellCurrency }
  // A pooled balance is not split by customer, so a quote can use all of it.
  if (balance.own === undefined) return { amount: decimalText(balance.available), currency: sellCurrency }
  if (customerId === undefined) return { amount: decimalText(balance.own.available), currency: sellCurrency }
  const parts = await ifFound(operate('listCustomerBalances', { ...call, params: { id: customerId } }))
  const part = parts?.data.find(({ currency }) => currency === sellCurrency)
  return part && { amount: decimalText(part.available), currency: sellCurrency }
}

/**
 * Links to the quote form with the same values. `side` is in the address, because a quote does not store which amount
 * was entered.
 */
function quoteFormHref({ view }: Person, side: 'buy' | 'sell', quote: QuoteAnswer): string {
  const { sellCurrency, buyCurrency, kind, customerId } = quote
  const amount = decimalText(side === 'buy' ? quote.buyAmount : quote.sellAmount)
  return pathWithQuery(`${view.root}exchange`, { sellCurrency, buyCurrency, amount, side, kind, customerId })
}

async function showQuote(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  problems: FieldProblems = {},
): Promise<PublicAnswer> {
  const { view, caller } = person
  const id = readId(request)
  const quote = await frame.operate('getFxQuote', { ...callOf(person, request), params: { quoteId: id } })
  const { status, customerId, acceptedBy, margin, fee } = quote
  const [available, customers] = await Promise.all([
    status === 'Open' ? readAvailable(frame, request, person, quote) : undefined,
    readCustomerLinks(frame, request, person, [customerId]),
  ])
  const expiresAt = new Date(quote.expiresAt)
  const { done, side: givenSide } = readQuery(request, ['done', 'side'])
  const side = givenSide === 'buy' ? 'buy' : 'sell'
  const shown = {
    status,
    available,
    expiresAt,
    problems,
    sold: { amount: decimalText(quote.sellAmount), currency: quote.sellCurrency },
    bought: { amount: decimalText(quote.buyAmount), currency: quote.buyCurrency },
    rate: decimalText(quote.rate),
    midRate: decimalText(quote.midRate),
    margin: { ...margin, amount: decimalText(margin.amount) },
    fee: { ...fee, amount: decimalText(fee.amount) },
    createdAt: new Date(quote.createdAt),
    secondsLeft: Math.max(0, Math.ceil((expiresAt.getTime() - frame.clock.now().getTime()) / 1000)),
    customer: customerId === undefined ? undefined : customers.get(customerId),
    transaction:
      acceptedBy === undefined
        ? undefined
        : {
            reference: acceptedBy,
            href: caller.permissions.includes('transactions:read') ? transactionHref(view, acceptedBy) : undefined,
          },
    againHref: quoteFormHref(person, side, quote),
    convertHref: pathWithQuery(`${view.root}exchange/${id}/conversion`, { side }),
    mayWrite: caller.permissions.includes('fx:write'),
    refusal: quote.conversionRefusal,
    idempotencyKey: newId(),
    isNew: done === 'exchanged',
  }
  const code = pageStatus(problems)
  return page(request, code, quotePage(view, shown))
}

async function convert(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const quoteId = readId(request)
  const idempotencyKey = readForm(request)('idempotencyKey') || newId()
  try {
    await frame.operate('createFxConversion', { ...callOf(person, request), body: { quoteId, idempotencyKey } })
  } catch (error) {
    return showQuote(frame, request, person, refusalProblems(refusalTexts(person), error, []))
  }
  return seeOther(`../${quoteId}?done=exchanged`)
}

export const exchangeRoutes: Routes = (frame) => {
  const route = placeRoutes(frame, frame.withMoney, 'exchange')
  return [
    route('GET', '', 'fx:read', (_frame, request, person) =>
      show(frame, request, person, readQuery(request, quoteFields)),
    ),
    route('POST', '', 'fx:write', createQuote),
    route('GET', '/{id}', 'fx:read', showQuote),
    route('POST', '/{id}/conversion', 'fx:write', convert),
  ]
}
