/** The search: one page with everything that fits the text. */
import { decimalText, type ResponseOf } from '@partner-payments/wire'
import { Refusal } from '../../kernel/api/index.ts'
import { html } from '../html.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { accountText, empty, inFours, type Link, links, money, referenceText, table, time } from '../kit/parts.ts'
import { linkOf, page, queryText, readTypedAmounts, seeOther, uuid } from '../kit/request.ts'
import { fill } from '../language.ts'
import { callOf, type Person, type Routes } from './request.ts'
import { texts } from './texts/index.ts'
import { partyOf } from './transaction-export.ts'

export type Found = {
  readonly kind: 'transaction' | 'payout' | 'payee' | 'customer' | 'session' | 'request'
  /** Path below the root of the pages. */
  readonly href: string
  readonly name: string
  /** Tells it from others of its name: a person, an account, an identifier. */
  readonly about?: string | undefined
  readonly amount?: string
  readonly currency?: string
  /** When a payment was created: it tells two payments of one payee apart. */
  readonly createdAt?: Date
}

type Search = {
  readonly text: string
  readonly found: readonly Found[]
  /** Lists that have all of what is shown in part. */
  readonly lists: readonly Link[]
}

export function findPage(view: ConsoleView, { text, found, lists }: Search): string {
  const t = texts[view.language].find
  return shell(view, {
    title: t.title,
    wide: true,
    main: html`<h1>${t.title}</h1>
      ${
        found.length === 0
          ? empty({ title: text === '' ? t.nothingTyped : fill(t.nothing, { text }), text: t.what })
          : table({
              caption: t.title,
              columns: [[t.found, 'head'], t.kind, texts[view.language].payments.created, [t.amount, 'number']],
              rows: found.map(({ href, name, about, kind, amount, currency, createdAt }) => [
                html`<a class="free" href="${view.root}${href}">${name}</a>
                  ${about !== undefined && html`<span class="soft free">${about}</span>`}`,
                t.kinds[kind],
                createdAt === undefined ? '' : time(view, createdAt),
                amount === undefined || currency === undefined ? '' : money(view, amount, currency),
              ]),
            })
      }
      ${lists.length > 0 && html`<div class="more">${links(lists)}</div>`}`,
  })
}

const queryCharsMax = 140

const listedMax = '10'

/** Country, check digits and account, in groups or not. */
const ibanForm = /^[a-z]{2}\s?\d\s?\d[a-z\d\s]{11,38}$/i

/** The number of an account without an IBAN, or the address of a wallet. */
const accountForm = /^(?:[\d-]{6,17}|0x[0-9a-f]{40})$/i

const serviceIdForm = /^cus_[0-9a-z]{16}$/

/** ISO 11649, in groups or not. */
const creditorReferenceForm = /^rf\s?\d\s?\d/i

/** Payments to the payees of an account that a search adds, and of the customer that has it. */
const ownersMax = 3

export const findRoutes: Routes = ({ operate }, _withPerson, withMoney) => {
  type Request = Parameters<typeof callOf>[1]
  const search = async (request: Request, person: Person, text: string): Promise<readonly Found[]> => {
    const call = callOf(person, request)
    const payments = (query: Readonly<Record<string, string>>) =>
      operate('listTransactions', { ...call, query: queryText({ limit: listedMax, ...query }) }).then(({ data }) =>
        data.map((each): Found => ({
          ...{ kind: 'transaction', href: `transactions/${encodeURIComponent(each.reference)}` },
          ...{ name: referenceText(each), about: partyOf(each)?.accountHolderName },
          ...{ amount: decimalText(each.amount), currency: each.currency, createdAt: new Date(each.createdAt) },
        })),
      )
    const customers = (query: Readonly<Record<string, string>>) =>
      operate('listCustomers', { ...call, query: queryText({ limit: listedMax, ...query }) }).then(({ data }) =>
        data.map(toCustomer),
      )
    const listPayees = async (query: Readonly<Record<string, string>>) =>
      (await operate('listBeneficiaries', { ...call, query: queryText({ limit: listedMax, ...query }) })).data
    const payees = async (query: Readonly<Record<string, string>>) => (await listPayees(query)).map(toPayee)
    const sessions = () =>
      operate('listCheckoutSessions', { ...call, query: queryText({ creditorReference: text, limit: '1' }) }).then(
        ({ data }) =>
          data.map(({ sessionId, creditorReference: name, amount, currency }): Found => ({
            ...{ kind: 'session', href: `checkout/${sessionId}`, name, amount: decimalText(amount), currency },
          })),
      )
    /** The customer that has an account here, and the payments from and to it. */
    const ofOwner = async (): Promise<readonly Found[]> => {
      const { data } = await operate('listCustomers', { ...call, query: queryText({ iban: text, limit: '1' }) })
      const paid = await Promise.all(data.map(({ guid }) => payments({ customerId: guid }).catch(noneFound)))
      return [...data.map(toCustomer), ...paid.flat()]
    }
    /** Payees with an alias, and payments to the first ones. */
    const ofAlias = async (): Promise<readonly Found[]> => {
      const named = await listPayees({ alias: text })
      const paid = await Promise.all(
        named.slice(0, ownersMax).map(({ id }) => payments({ beneficiaryId: id }).catch(noneFound)),
      )
      return [...named.map(toPayee), ...paid.flat()]
    }
    const typed = readTypedAmounts(text)
    const one = async (work: Promise<Found>): Promise<readonly Found[]> => [await work]
    const params = { id: text.toLowerCase() }
    const found = await Promise.all(
      [
        payments({ referencePrefix: text }),
        payments({ endToEndId: text }),
        payments({ userReference: text }),
        payments({ idempotencyKey: text }),
        payments({ websiteReference: text }),
        ...typed.amounts.map((amount) =>
          payments({ amount, ...(typed.currency !== undefined && { currency: typed.currency }) }),
        ),
        ofAlias(),
        ...(ibanForm.test(text)
          ? [payees({ iban: text }), payments({ account: text }), ofOwner()]
          : [payments({ payerName: text }), customers({ namePrefix: text }), payees({ namePrefix: text })]),
        ...(accountForm.test(text) ? [payments({ account: text.replaceAll('-', '') })] : []),
        ...(serviceIdForm.test(text) ? [customers({ serviceId: text })] : []),
        ...(creditorReferenceForm.test(text) ? [sessions()] : []),
        ...(text.includes('@') ? [customers({ email: text })] : []),
        customers({ partnerCustomerIdentifier: text }),
        operate('listRequests', { ...call, query: queryText({ limit: listedMax, requestId: text }) }).then(({ data }) =>
          data.map(toRequest),
        ),
        ...(uuid.test(params.id)
          ? [
              one(
                operate('getPayout', { ...call, params }).then(
                  ({ id, beneficiaryName: name, amount, currency, createdAt }) => ({
                    ...{ kind: 'payout', href: `payouts/${id}`, name },
                    ...{ amount: decimalText(amount), currency, createdAt: new Date(createdAt) },
                  }),
                ),
              ),
              one(operate('getCustomer', { ...call, params }).then(toCustomer)),
              payments({ beneficiaryId: params.id }),
              one(operate('getRequest', { ...call, params: { entryId: params.id } }).then(toRequest)),
            ]
          : []),
      ].map((work) => work.catch(noneFound)),
    )
    return [...new Map(found.flat().map((each) => [each.href, each])).values()]
  }
  return [
    {
      method: 'GET',
      path: '/console/find',
      handle: (request) =>
        withMoney(request, async (person) => {
          const text = (new URLSearchParams(request.query).get('q') ?? '').trim().slice(0, queryCharsMax)
          const found = text === '' ? [] : await search(request, person, text)
          const [only, ...more] = found
          if (only !== undefined && more.length === 0) return seeOther(only.href)
          const lists = found.some(({ kind }) => kind === 'transaction') ? listsOf(person, text) : []
          return page(request, 200, findPage({ ...person.view, found: text }, { text, found, lists }))
        }),
    },
  ]
}

/** The lists of all payments of an amount, or of an account. */
function listsOf({ view }: Person, text: string): readonly Link[] {
  const t = texts[view.language].find
  const { amounts, currency } = readTypedAmounts(text)
  const list = (query: Readonly<Record<string, string | undefined>>) => linkOf(`${view.root}transactions`, query)
  return [
    ...amounts.map((amount) => ({
      text: fill(t.allOfAmount, { amount: [amount, currency].filter(Boolean).join(' ') }),
      href: list({ amount: amount.replace(/(\.\d\d)0+$/, '$1'), currency }),
    })),
    ...(ibanForm.test(text)
      ? [{ text: fill(t.allOfAccount, { account: inFours(text.toUpperCase()) }), href: list({ account: text }) }]
      : []),
  ]
}

const toPayee = ({ id, name, alias, ...payee }: ResponseOf<'getBeneficiary'>): Found => ({
  ...{ kind: 'payee', href: `payees/${id}`, name },
  about: [alias, inFours(accountText(payee))].filter(Boolean).join(', '),
})

const toCustomer = ({ guid, email, kyc, partnerCustomerIdentifier: about }: ResponseOf<'getCustomer'>): Found => ({
  kind: 'customer',
  about,
  href: `customers/${guid}`,
  name: kyc?.legalName ?? kyc?.fullName ?? kyc?.tradingName ?? email ?? guid,
})

const toRequest = ({ id, method, operation, status }: ResponseOf<'getRequest'>): Found => ({
  ...{ kind: 'request', href: `requests/${id}`, name: `${method} ${operation}, ${status}` },
})

/** A text that an operation cannot search for, or that the person may not search for, finds nothing there. */
function noneFound(error: unknown): readonly Found[] {
  if (!(error instanceof Refusal)) throw error
  return []
}
