/** The search across partners. Every role of staff may search. The operator's audit log records what each search found. */
import type { PublicRoute } from '../../kernel/api/index.ts'
import type { CaseKind, CaseRow } from '../../cases/index.ts'
import {
  amountText,
  currencies,
  type Currency,
  dayMs,
  isCurrency,
  isUuid,
  type Minor,
  type RowKey,
  type Money,
} from '../../kernel/index.ts'
import type { StoredPayee } from '../../parties/beneficiaries/index.ts'
import type { Deposit } from '../../deposits/index.ts'
import { instructionIdOf, type Payouts } from '../../payouts/index.ts'
import { isCalendarDay } from '../../reports/safeguarding/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type BankFile, isIban } from '../../rails/index.ts'
import { account, emptyState, freeText, identifier, message, money, payoutBadge, time, wordFor } from '../kit/parts.ts'
import { field, hiddenField } from '../kit/forms.ts'
import { page, readForm, currencySigns } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { kindName } from './kinds.ts'
import { customerHref, partnerReference, payeeHref, paymentHref, titledTable } from './parties.ts'
import { deskTexts } from './texts.ts'
import { type DeskDeps, type DeskFrame, staffRoute } from './request.ts'

type FindDeps = Pick<
  DeskDeps,
  | 'db'
  | 'access'
  | 'accounts'
  | 'bankFiles'
  | 'beneficiaries'
  | 'cases'
  | 'customers'
  | 'deposits'
  | 'payouts'
  | 'transactions'
>

/** Maximum length of the search text, longer than an IBAN, a reference or the name of a partner. */
const textCharsMax = 140
/** Maximum rows of each kind. A search with more matches is too broad. */
const rowsMax = 50
/** Number of partners searched in parallel, limited so that connections stay free for other requests. */
const partnersAtOnce = 4
/** Maximum partners that a search reads, which takes a few seconds. */
const partnersMax = 1000

type SearchQuery =
  | { readonly by: 'text'; readonly text: string }
  | {
      readonly by: 'money'
      readonly money: Money
      /** Start and end of a day in UTC. Both null for any day. */
      readonly from: Date | null
      readonly before: Date | null
    }

const moneyForm = /^([\d.,'’]*\d) ([A-Z]{3,4})(?: (\d{4}-\d\d-\d\d))?$/

/** Replaces a currency sign with its code after the amount, and a day such as `24.11.2026` with `2026-11-24`. */
const normalizeMoney = (text: string): string =>
  text
    .replace(/^([€£$]) ?([\d.,'’]+)/, '$2 $1')
    .replace(/(?<=\d) ?([€£$])/, (_all, sign: string) => ` ${currencySigns[sign] ?? ''}`)
    .replace(
      / (\d{1,2})\.(\d{1,2})\.(\d{4})$/,
      (_all, day: string, month: string, year: string) => ` ${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`,
    )

/**
 * Parses an amount in English or German format: `1,250.00`, `1.250,00`, `1250`. The last separator is the decimal
 * separator if no more digits follow than the currency has decimals. Other separators group three digits. Undefined for
 * other forms.
 */
function readMinor(text: string, currency: Currency): Minor | undefined {
  const { digits } = currencies[currency]
  const last = Math.max(text.lastIndexOf('.'), text.lastIndexOf(','))
  const behind = text.length - last - 1
  // In `1,000 EUR` the comma groups digits, because the euro has two decimals.
  const isDecimal = last !== -1 && behind <= digits && !text.slice(0, last).includes(text[last] ?? '')
  const [whole, fraction] = isDecimal ? [text.slice(0, last), text.slice(last + 1)] : [text, '']
  if (!/^\d{1,12}$|^\d{1,3}([.,'’])\d{3}(?:\1\d{3}){0,2}$/.test(whole)) return undefined
  return BigInt(`${whole.replaceAll(/\D/g, '')}${fraction.padEnd(digits, '0')}`)
}

/**
 * Parses the search text: money such as `12.50 EUR`, `12,50 €` or `12.50 EUR 2026-11-24`, or any other text. An amount
 * with more decimals than its currency is searched as text. Undefined if the text is empty or too long.
 */
export function readSearch(typed: string): SearchQuery | undefined {
  const text = typed.trim().replaceAll(/\s+/g, ' ')
  if (text === '' || text.length > textCharsMax || text.includes('\0')) return undefined
  // Digits may be grouped with spaces.
  const joined = text.toUpperCase().replaceAll(/(?<=\d) (?=\d{3}(?:\D|$))/g, '')
  const [matched, figures = '', code = '', day] = moneyForm.exec(normalizeMoney(joined)) ?? []
  if (matched === undefined || !isCurrency(code)) return { by: 'text', text }
  if (day !== undefined && !isCalendarDay(day)) return { by: 'text', text }
  const amount = readMinor(figures, code)
  if (amount === undefined) return { by: 'text', text }
  const from = day === undefined ? null : new Date(`${day}T00:00:00Z`)
  const before = from && new Date(from.getTime() + dayMs)
  return { by: 'money', money: { currency: code, amount }, from, before }
}

type NamedPartner = { readonly partnerId: string; readonly partnerName: string }
type PayoutMatch = NamedPartner & {
  readonly id: string
  /** The remittance text of the partner, or the reference of the transaction. */
  readonly reference: string
  readonly endToEndId: string
  readonly status: string
  readonly money: Money
  readonly createdAt: Date
  /** The oldest open case about the payout. Null if none is open. */
  readonly caseId: string | null
}
type CustomerMatch = NamedPartner & {
  readonly id: string
  /** The IBAN that matched the customer. Null if an id or a name matched. */
  readonly iban: string | null
  /** When the matched IBAN was closed. Null if it is open or was not searched. */
  readonly closedAt: Date | null
}
type PayeeMatch = NamedPartner & Pick<StoredPayee, 'id' | 'customerId' | 'createdAt' | 'removedAt'>
type DepositMatch = NamedPartner & {
  readonly id: string
  readonly reference: string
  readonly status: string
  readonly money: Money
  readonly createdAt: Date
  /** The customer who is paid. Null if the partner is paid. */
  readonly customerId: string | null
}
type CaseMatch = NamedPartner & { readonly id: string; readonly kind: CaseKind; readonly openedAt: Date }
export type SearchResult = {
  readonly deposits: readonly DepositMatch[]
  readonly cases: readonly CaseMatch[]
  readonly files: readonly BankFile[]
  readonly partners: readonly NamedPartner[]
  readonly payouts: readonly PayoutMatch[]
  readonly customers: readonly CustomerMatch[]
  readonly payees: readonly PayeeMatch[]
  /** True if more rows match than are shown. */
  readonly hasMore: boolean
  /** The number of partners searched. Null if all were. */
  readonly searched: number | null
}

type PayoutRecord = Awaited<ReturnType<Payouts['find']>>[number]
type PayeeRecord = Pick<StoredPayee, 'id' | 'customerId' | 'createdAt'> & Partial<Pick<StoredPayee, 'removedAt'>>
type PartnerMatches = {
  readonly payouts: readonly PayoutRecord[]
  readonly customerIds: readonly string[]
  readonly payees: readonly PayeeRecord[]
  readonly deposits: readonly Deposit[]
  readonly case?: CaseRow | undefined
}

/**
 * Searches the first `searchedMax` partners by id, and returns at most 50 rows of each kind. Each partner is read by
 * its own indexes, so that a sharded database queries one shard at a time. The IBANs of all partners share an index.
 */
export async function search(deps: FindDeps, question: SearchQuery, searchedMax = partnersMax): Promise<SearchResult> {
  const { db, access } = deps
  const all = (await access.partnerNames(db)).map(({ partnerId, name: partnerName }) => ({ partnerId, partnerName }))
  const partners = question.by === 'text' ? matchPartners(all, question.text) : []
  const payouts: (NamedPartner & { readonly hit: PayoutRecord })[] = []
  const customers: CustomerMatch[] = question.by === 'text' ? await findAccountHolders(deps, all, question.text) : []
  const payees: PayeeMatch[] = []
  const deposits: DepositMatch[] = []
  const cases: CaseMatch[] = []
  const files = question.by === 'text' ? await deps.bankFiles.named(db, question.text, rowsMax + 1) : []
  const isFull = () => [payouts, customers, payees, deposits].some(({ length }) => length > rowsMax)
  const searched = all.slice(0, searchedMax)
  for (let at = 0; at < searched.length && !isFull(); at += partnersAtOnce) {
    const some = searched.slice(at, at + partnersAtOnce)
    const found = await Promise.all(some.map(({ partnerId }) => searchPartner(deps, partnerId, question)))
    found.forEach(({ payouts: hits, customerIds, payees: named, deposits: paid, case: found }, index) => {
      const owner = some[index]
      if (owner === undefined) return
      payouts.push(...hits.map((hit) => ({ ...owner, hit })))
      customers.push(...customerIds.map((id) => ({ ...owner, id, iban: null, closedAt: null })))
      payees.push(...named.map((payee) => toPayee(owner, payee)))
      deposits.push(...paid.map((deposit) => toDeposit(owner, deposit)))
      if (found !== undefined) cases.push({ ...owner, id: found.id, kind: found.kind, openedAt: found.openedAt })
    })
  }
  const shown: PayoutMatch[] = []
  for (const each of payouts.slice(0, rowsMax)) shown.push(await toPayoutMatch(deps, each))
  return {
    partners: partners.slice(0, rowsMax),
    payouts: shown,
    customers: customers.slice(0, rowsMax),
    payees: payees.slice(0, rowsMax),
    deposits: deposits.slice(0, rowsMax),
    files: files.slice(0, rowsMax),
    cases,
    hasMore: isFull() || [partners, deposits, files].some(({ length }) => length > rowsMax),
    searched: searched.length < all.length ? searched.length : null,
  }
}

const matchPartners = (all: readonly NamedPartner[], text: string): readonly NamedPartner[] => {
  const wanted = text.toLowerCase()
  return all.filter(({ partnerId, partnerName }) => partnerId === wanted || partnerName.toLowerCase().includes(wanted))
}

async function findAccountHolders(
  { db, accounts }: FindDeps,
  all: readonly NamedPartner[],
  text: string,
): Promise<CustomerMatch[]> {
  const iban = readIban(text)
  if (iban === undefined) return []
  return (await accounts.holdersOf(db, iban)).map(({ partnerId, customerId: id, closedAt }) => {
    const partnerName = all.find((each) => each.partnerId === partnerId)?.partnerName ?? ''
    return { partnerId, partnerName, id, iban, closedAt }
  })
}

const anyPayout = { reference: null, money: null, from: null, before: null }

async function searchPartner(deps: FindDeps, partnerId: string, question: SearchQuery): Promise<PartnerMatches> {
  const { db, beneficiaries, payouts, customers, deposits, cases } = deps
  const rows = rowsMax + 1
  if (question.by === 'money') {
    const { money, from, before } = question
    const found = await payouts.find(partnerId, { ...anyPayout, money, from, before }, rows)
    return {
      payouts: found,
      customerIds: [],
      payees: [],
      deposits: await findDeposits(deps, partnerId, depositQuery(question)),
    }
  }
  const { text } = question
  const byId = await payouts.find(partnerId, { id: text }, rows)
  const byReference = await payouts.find(partnerId, { ...anyPayout, reference: text }, rows)
  // Payees that match the IBAN or the id. The search also returns their payouts.
  const paid = await findPayees(beneficiaries, partnerId, text, rows)
  const payeeIds = isUuid(text) ? [text.toLowerCase()] : paid.map(({ id }) => id)
  const iban = readIban(text)
  const byPayee: PayoutRecord[] = []
  for (const beneficiaryId of payeeIds.slice(0, payeesFollowed))
    byPayee.push(...(await payouts.find(partnerId, { ...anyPayout, beneficiaryId }, rows)))
  const found = new Map([...byId, ...byReference, ...byPayee].map((hit) => [hit.payout.id, hit]))
  const named = nameForm.test(text) ? await beneficiaries.named(partnerId, text, rows) : []
  const known = [...(await beneficiaries.byAlias(db, partnerId, text, rows)), ...paid, ...named]
  return {
    payouts: [...found.values()],
    customerIds: await findCustomers(customers, db, partnerId, text),
    payees: [...new Map(known.map((payee) => [payee.id, payee])).values()],
    deposits:
      iban === undefined
        ? await deposits.byReferences(db, partnerId, [text])
        : await findDeposits(deps, partnerId, { account: iban }),
    case: isUuid(text) ? await cases.byId(db, partnerId, text.toLowerCase()) : undefined,
  }
}

/**
 * Maximum payees with one IBAN whose payouts are read. A partner may have one for each customer who pays the account.
 */
const payeesFollowed = 20

async function findPayees(
  beneficiaries: FindDeps['beneficiaries'],
  partnerId: string,
  text: string,
  rows: number,
): Promise<readonly StoredPayee[]> {
  if (isUuid(text)) return beneficiaries.withIds(partnerId, [text])
  const iban = readIban(text)
  return iban === undefined ? [] : beneficiaries.withAccount(partnerId, iban, rows)
}

/** Parses an IBAN. Undefined if the text is not an IBAN. */
function readIban(text: string): string | undefined {
  const iban = text.replaceAll(' ', '').toUpperCase()
  return isIban(iban) ? iban : undefined
}

type TransactionQuery = Parameters<FindDeps['transactions']['list']>[1]

/** Returns the query for deposits of an amount, on one day or any day. */
function depositQuery({
  money: { currency, amount },
  from,
  before,
}: Extract<SearchQuery, { readonly by: 'money' }>): TransactionQuery {
  const text = amountText(amount, currency)
  return {
    ...{ currency, amountMin: text, amountMax: text },
    ...(from !== null && before !== null && { createdFrom: from.toISOString(), createdTo: before.toISOString() }),
  }
}

/** Reads the newest deposits that match a query of the transaction list. `account`: the payer's account. */
async function findDeposits(
  { db, deposits, transactions }: FindDeps,
  partnerId: string,
  query: TransactionQuery,
): Promise<readonly Deposit[]> {
  const { data } = await transactions.list(partnerId, { ...query, category: 'Deposit', limit: String(rowsMax) })
  return deposits.byReferences(
    db,
    partnerId,
    data.map(({ row }) => row.reference),
  )
}

const toDeposit = (
  owner: NamedPartner,
  { id, reference, status, currency, amount, createdAt, customerId }: Deposit,
): DepositMatch => ({ ...owner, id, reference, status, money: { currency, amount }, createdAt, customerId })

const toPayee = (owner: NamedPartner, { id, customerId, createdAt, removedAt = null }: PayeeRecord): PayeeMatch => ({
  ...{ ...owner, id, customerId, createdAt, removedAt },
})

/** Finds customers by id, the partner's identifier, the whole email address, or the beginning of words of the name. */
async function findCustomers(
  customers: FindDeps['customers'],
  tx: Tx,
  partnerId: string,
  text: string,
): Promise<readonly string[]> {
  const id = await customers.resolveId(tx, partnerId, text)
  if (id !== undefined) return [id]
  const own = await customers.findIds(partnerId, { partnerCustomerIdentifier: text }, rowsMax + 1)
  const query = text.includes('@') ? { email: text } : nameForm.test(text) ? { namePrefix: text } : undefined
  if (query === undefined) return own
  return [...new Set([...own, ...(await customers.findIds(partnerId, query, rowsMax + 1))])]
}
/** Matches a name: at least three letters and no digits. Any other text is treated as a reference. */
const nameForm = /^(?=(?:.*\p{L}){3})[^\p{N}]+$/u

async function toPayoutMatch(
  { db, cases }: FindDeps,
  { partnerId, partnerName, hit: { payout } }: NamedPartner & { readonly hit: PayoutRecord },
): Promise<PayoutMatch> {
  const { id, status, currency, amount, createdAt } = payout
  const about = [id, instructionIdOf(payout), payout.endToEndId, payout.reference]
  const reference = payout.remittance ?? payout.reference
  const [open] = await cases.openAbout(db, partnerId, about)
  const endToEndId = payout.partnerEndToEndId ?? payout.endToEndId
  const money = { currency, amount }
  return { partnerId, partnerName, id, reference, endToEndId, status, money, createdAt, caseId: open?.id ?? null }
}

/** State of the search page. `found`: absent before the first search. */
type SearchState = { readonly typed: string; readonly isRefused?: boolean; readonly found?: SearchResult }

export function findPage(view: ConsoleView, { typed, isRefused = false, found }: SearchState): string {
  const d = deskTexts[view.language].find
  const error = isRefused ? { error: d.refused } : {}
  return shell(view, {
    title: d.title,
    wide: true,
    problems: { q: isRefused ? d.refused : undefined },
    main: html`<h1>${d.title}</h1>
      <p class="lead">${d.text}</p>
      <form method="post" action="${view.root}find">
        ${field({
          ...{ id: 'q', name: 'q', label: d.label, help: d.help, value: typed, ...error },
          more: html` maxlength="${textCharsMax}" autocomplete="off" spellcheck="false"`,
        })}
        <div class="buttons"><button type="submit">${d.find}</button></div>
      </form>
      ${found && results(view, found)}`,
  })
}

function results(view: ConsoleView, found: SearchResult): Html {
  const d = deskTexts[view.language].find
  const { payouts, customers, payees, partners, deposits, cases, files, hasMore, searched } = found
  const partly = searched !== null && message('warning', fill(d.partly, { count: String(searched) }))
  if ([payouts, customers, payees, partners, deposits, cases, files].every(({ length }) => length === 0))
    return html`${partly} ${emptyState({ title: d.none, text: d.noneText })}`
  return html`${partly} ${hasMore && message('warning', d.more)} ${payoutsTable(view, payouts)}
  ${depositsTable(view, deposits)} ${filesTable(view, files)} ${casesTable(view, cases)}
  ${customersTable(view, customers)} ${payeesTable(view, payees)} ${partnersTable(view, partners)}`
}

const customerLink = (view: ConsoleView, partnerId: string, id: string): Html =>
  html`<a href="${view.root}${customerHref(partnerId, id)}">${deskTexts[view.language].parties.customer}</a>`

function payoutsTable(view: ConsoleView, payouts: SearchResult['payouts']): Html | undefined {
  const d = deskTexts[view.language].find
  return titledTable({
    caption: d.payouts,
    columns: [
      [d.reference, 'head'],
      d.partner,
      d.status,
      [d.amount, 'number'],
      d.created,
      d.endToEndId,
      d.payout,
      d.case,
    ],
    rows: payouts.map((each) => [
      html`<a href="${view.root}payouts/${each.partnerId}/${each.id}">${freeText(each.reference)}</a>`,
      partnerReference(view, each.partnerId, each.partnerName),
      payoutBadge(view, each.status),
      money(view, amountText(each.money.amount, each.money.currency), each.money.currency),
      time(view, each.createdAt),
      identifier(view, each.endToEndId, d.endToEndId),
      identifier(view, each.id, d.payout),
      each.caseId === null ? '' : html`<a href="${view.root}cases/${each.partnerId}/${each.caseId}">${d.openCase}</a>`,
    ]),
  })
}

function depositsTable(view: ConsoleView, deposits: SearchResult['deposits']): Html | undefined {
  const d = deskTexts[view.language].find
  return titledTable({
    caption: d.deposits,
    columns: [[d.reference, 'head'], d.partner, d.status, [d.amount, 'number'], d.created, d.customer, d.deposit],
    rows: deposits.map(({ id, partnerId, partnerName, reference, status, money: sum, createdAt, customerId }) => [
      html`<a href="${view.root}${paymentHref(partnerId, reference)}">${freeText(reference)}</a>`,
      partnerReference(view, partnerId, partnerName),
      wordFor(deskTexts[view.language].depositStatuses, status),
      money(view, amountText(sum.amount, sum.currency), sum.currency),
      time(view, createdAt),
      customerId === null ? '–' : customerLink(view, partnerId, customerId),
      identifier(view, id, d.deposit),
    ]),
  })
}

function filesTable(view: ConsoleView, files: SearchResult['files']): Html | undefined {
  const d = deskTexts[view.language].find
  return titledTable({
    caption: d.files,
    columns: [[d.file, 'head'], d.messageId, d.connector, d.status, d.created],
    rows: files.map(({ id, name, messageId, connector, state, at }) => [
      html`<a href="${view.root}files/${id}">${freeText(name)}</a>`,
      messageId === null ? '–' : freeText(messageId),
      freeText(connector),
      wordFor(deskTexts[view.language].files, state),
      time(view, at),
    ]),
  })
}

function casesTable(view: ConsoleView, cases: SearchResult['cases']): Html | undefined {
  const d = deskTexts[view.language].find
  return titledTable({
    caption: d.cases,
    columns: [[d.case, 'head'], d.partner, d.created],
    rows: cases.map(({ id, partnerId, partnerName, kind, openedAt }) => [
      html`<a href="${view.root}cases/${partnerId}/${id}">${kindName(view, kind)}</a>`,
      partnerReference(view, partnerId, partnerName),
      time(view, openedAt),
    ]),
  })
}

function customersTable(view: ConsoleView, customers: SearchResult['customers']): Html | undefined {
  const d = deskTexts[view.language].find
  return titledTable({
    caption: d.customers,
    columns: [[d.customer, 'head'], d.partner, d.partnerId, d.iban],
    rows: customers.map(({ id, partnerId, partnerName, iban, closedAt }) => [
      html`${customerLink(view, partnerId, id)} ${identifier(view, id, d.customer)}`,
      partnerReference(view, partnerId, partnerName),
      identifier(view, partnerId, d.partnerId),
      iban === null
        ? ''
        : html`${account(view, iban)} ${closedAt !== null && html`${d.closed} ${time(view, closedAt)}`}`,
    ]),
  })
}

function payeesTable(view: ConsoleView, payees: SearchResult['payees']): Html | undefined {
  const d = deskTexts[view.language].find
  return titledTable({
    caption: d.payees,
    columns: [[d.payee, 'head'], d.partner, d.customer, d.created, [d.payouts, 'actions']],
    rows: payees.map(({ id, partnerId, partnerName, customerId, createdAt, removedAt }) => [
      html`<a href="${view.root}${payeeHref(partnerId, id)}">${deskTexts[view.language].parties.payee}</a>
        ${identifier(view, id, d.payee)} ${removedAt !== null && html`${d.removed} ${time(view, removedAt)}`}`,
      partnerReference(view, partnerId, partnerName),
      customerId === null ? '–' : customerLink(view, partnerId, customerId),
      time(view, createdAt),
      html`<form method="post" action="${view.root}find" class="actions">
        ${hiddenField('q', id)}<button type="submit" class="small">${d.payeePayouts}</button>
      </form>`,
    ]),
  })
}

function partnersTable(view: ConsoleView, partners: SearchResult['partners']): Html | undefined {
  const d = deskTexts[view.language].find
  return titledTable({
    caption: d.partners,
    columns: [[d.partner, 'head'], d.partnerId],
    rows: partners.map(({ partnerId, partnerName }) => [
      partnerReference(view, partnerId, partnerName),
      identifier(view, partnerId, d.partnerId),
    ]),
  })
}

export function findRoutes(frame: DeskFrame): readonly PublicRoute[] {
  return [
    staffRoute(frame, 'find', 'GET', '/find', (request, { view }) => page(request, 200, findPage(view, { typed: '' }))),
    // The text may be an IBAN. In a URL it would stay in the logs of proxies and in the history of the browser.
    staffRoute(frame, 'find', 'POST', '/find', async (request, { signed, view }) => {
      const typed = readForm(request)('q')
      const question = readSearch(typed)
      if (question === undefined) return page(request, 400, findPage(view, { typed, isRefused: true }))
      const found = await search(frame, question)
      const idOf = ({ partnerId, id }: RowKey) => `${partnerId}/${id}`
      await frame.staff.recordSearch(signed, {
        by: question.by,
        payouts: found.payouts.map(idOf),
        customers: found.customers.map(idOf),
        payees: found.payees.map(idOf),
        deposits: found.deposits.map(idOf),
      })
      return page(request, 200, findPage(view, { typed, found }))
    }),
  ]
}
