/** Exchange: the rates, the form of a quote, the page of one, and the form that makes its conversion. */
import { decimalText, rawNumber, type ResponseOf } from '@partner-payments/wire'
import { type PublicAnswer, type PublicRequest, Refusal } from '../../kernel/api/index.ts'
import { currencies, newId } from '../../kernel/index.ts'
import { customerLinksOf } from './customer-link.ts'
import { exchangePage, quoteFields, quotePage } from './exchange-page.ts'
import {
  callOf,
  ifFound,
  linkOf,
  type Problems,
  problemsOf,
  readExactAmount,
  readQuery,
  routesOf,
  statusOf,
  textsWith,
  type Values,
  valuesIn,
} from './payments-request.ts'
import { type Frame, idOf, page, type Person, readForm, type Routes, seeOther } from './request.ts'
import { exchangeTexts } from './texts/exchange.ts'
import { transactionHref } from './transaction-routes.ts'

type FoundQuote = ResponseOf<'getFxQuote'>

/** Words of the refusals: those of all pages, and those of exchange. */
const refusalTexts = (person: Person) => textsWith(person, exchangeTexts)

/** The rates of a base. No rates: the source has none that are current, or the base was refused. */
async function ratesOf({ operate }: Frame, request: PublicRequest, person: Person, base: string | undefined) {
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
    const { currencyUnknown } = exchangeTexts[person.view.language]
    return { problems: problemsOf(refusalTexts(person), error, ['base'], { base: currencyUnknown }) }
  }
}

async function show(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  typed: Values,
  typedProblems: Problems = {},
): Promise<PublicAnswer> {
  const { view, caller } = person
  const { base } = readQuery(request, ['base'])
  const { rates, problems: baseProblems } = await ratesOf(frame, request, person, base)
  const problems = { ...baseProblems, ...typedProblems }
  const offered =
    rates === undefined ? Object.keys(currencies) : [rates.base, ...rates.rates.map(({ currency }) => currency)]
  const [sellCurrency = '', buyCurrency = ''] = offered
  const shown = {
    ...{ rates, base, problems },
    currencies: offered.toSorted(),
    values: { sellCurrency, buyCurrency, side: 'sell', kind: 'firm', ...typed },
    may: {
      write: caller.permissions.includes('fx:write'),
      transactions: caller.permissions.includes('transactions:read'),
    },
  }
  return page(request, statusOf(problems), exchangePage({ ...view, current: 'exchange' }, shown))
}

/** Words what the quote was refused for. An amount has one field, whichever side it is for. */
function quoteProblems(person: Person, error: unknown, { sellCurrency, buyCurrency }: Values): Problems {
  const { sameCurrency, currencyUnknown, customerUnknown } = exchangeTexts[person.view.language]
  const { sellAmount, buyAmount, ...problems } = problemsOf(
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
  const x = exchangeTexts[person.view.language]
  const given = readForm(request)
  const values = valuesIn(given, quoteFields)
  const { amount: amountText = '', side, ...rest } = values
  const amount = readExactAmount(amountText)
  if (amount === undefined || amount === 'ambiguous')
    return show(frame, request, person, values, {
      amount: amount === undefined ? x.amountWrong : x.amountAmbiguous,
    })
  const body = { ...rest, [side === 'buy' ? 'buyAmount' : 'sellAmount']: rawNumber(amount) }
  try {
    // Without a key: a quote moves nothing, and a form that is changed after Back has to make another one.
    const { id } = await frame.operate('createFxQuote', { ...callOf(person, request), body })
    return seeOther(linkOf(`exchange/${id}`, { side: side === 'buy' ? side : undefined }))
  } catch (error) {
    return show(frame, request, person, values, quoteProblems(person, error, values))
  }
}

/** The money in the sold currency that the quote can use: of its customer, or of the partner. */
async function availableOf({ operate }: Frame, request: PublicRequest, person: Person, quote: FoundQuote) {
  const { sellCurrency, customerId } = quote
  if (!person.caller.permissions.includes('accounts:read')) return undefined
  const call = callOf(person, request)
  const { data } = await operate('listAccounts', call)
  const balance = data.find(({ currency }) => currency === sellCurrency)
  if (balance === undefined) return { amount: '0', currency: sellCurrency }
  // A balance that is not segregated has no parts: a quote can use all of it.
  if (balance.own === undefined) return { amount: decimalText(balance.available), currency: sellCurrency }
  if (customerId === undefined) return { amount: decimalText(balance.own.available), currency: sellCurrency }
  const parts = await ifFound(operate('listCustomerBalances', { ...call, params: { id: customerId } }))
  const part = parts?.data.find(({ currency }) => currency === sellCurrency)
  return part && { amount: decimalText(part.available), currency: sellCurrency }
}

/** The form of a quote, filled in as it was. `side` is in the address, because a quote does not say which amount was given. */
function againHrefOf({ view }: Person, side: 'buy' | 'sell', quote: FoundQuote): string {
  const { sellCurrency, buyCurrency, kind, customerId } = quote
  const amount = decimalText(side === 'buy' ? quote.buyAmount : quote.sellAmount)
  return linkOf(`${view.root}exchange`, { sellCurrency, buyCurrency, amount, side, kind, customerId })
}

async function showQuote(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  problems: Problems = {},
): Promise<PublicAnswer> {
  const { view, caller } = person
  const id = idOf(request)
  const quote = await frame.operate('getFxQuote', { ...callOf(person, request), params: { quoteId: id } })
  const { status, customerId, acceptedBy, margin, fee } = quote
  const [available, customers] = await Promise.all([
    status === 'Open' ? availableOf(frame, request, person, quote) : undefined,
    customerLinksOf(frame, request, person, [customerId]),
  ])
  const expiresAt = new Date(quote.expiresAt)
  const { done, side: givenSide } = readQuery(request, ['done', 'side'])
  const side = givenSide === 'buy' ? 'buy' : 'sell'
  const shown = {
    ...{ status, available, expiresAt, problems },
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
    againHref: againHrefOf(person, side, quote),
    convertHref: linkOf(`${view.root}exchange/${id}/conversion`, { side }),
    mayWrite: caller.permissions.includes('fx:write'),
    refusal: quote.conversionRefusal,
    idempotencyKey: newId(),
    isNew: done === 'exchanged',
  }
  const code = statusOf(problems)
  return page(request, code, quotePage({ ...view, current: 'exchange' }, shown))
}

async function convert(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const quoteId = idOf(request)
  const idempotencyKey = readForm(request)('idempotencyKey') || newId()
  try {
    await frame.operate('createFxConversion', { ...callOf(person, request), body: { quoteId, idempotencyKey } })
  } catch (error) {
    return showQuote(frame, request, person, problemsOf(refusalTexts(person), error, []))
  }
  return seeOther(`../${quoteId}?done=exchanged`)
}

export const exchangeRoutes: Routes = (frame, _withPerson, withMoney) => {
  const route = routesOf(frame, withMoney, 'exchange')
  return [
    route('GET', '', 'fx:read', (_frame, request, person) =>
      show(frame, request, person, readQuery(request, quoteFields)),
    ),
    route('POST', '', 'fx:write', createQuote),
    route('GET', '/{id}', 'fx:read', showQuote),
    route('POST', '/{id}/conversion', 'fx:write', convert),
  ]
}
