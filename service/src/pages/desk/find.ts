/** Finds payouts, deposits, customers, payees, IBANs, cases, files of banks and partners by one text, across partners. Each read is by an index and bounded. */
import { type Currency, currencies, dayMs, isCurrency, isUuid, type Minor } from '../../kernel/index.ts'
import type { Payouts } from '../../payouts/index.ts'
import { instructionIdOf } from '../../payouts/index.ts'
import { isDay } from '../../reports/safeguarding/index.ts'
import { isIban } from '../../rails/index.ts'
import type { CaseRow } from '../../cases/index.ts'
import type { Beneficiary } from '../../parties/beneficiaries/index.ts'
import type { Deposit } from '../../deposits/index.ts'
import type { BankFile } from '../../rails/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { DeskDeps } from './request.ts'

/** The parts that the search reads. */
export type FindDeps = Pick<
  DeskDeps,
  'db' | 'access' | 'accounts' | 'bankFiles' | 'beneficiaries' | 'customers' | 'deposits' | 'payouts' | 'cases'
>

/** Longer than an IBAN, a reference or a name of a partner. */
export const textCharsMax = 140
/** More than a person reads: the search is too wide. */
const rowsMax = 50
/** Statements at the same time, so that a search leaves connections to others. */
const partnersAtOnce = 4
/** A search of these takes a few seconds. */
const partnersMax = 1000

export type Question =
  | { readonly by: 'text'; readonly text: string }
  | {
      readonly by: 'money'
      readonly money: { readonly currency: Currency; readonly amount: Minor }
      /** A day in UTC. Both null: any day. */
      readonly from: Date | null
      readonly before: Date | null
    }

const moneyForm = /^(\d{1,12})(?:\.(\d+))? ([A-Z]{3,4})(?: (\d{4}-\d\d-\d\d))?$/

/**
 * Reads what a person typed: money such as `12.50 EUR` or `12.50 EUR 2026-11-24`, or any other text. An amount with more digits than
 * the currency has is a text. Undefined: nothing, or too long.
 */
export function readQuestion(typed: string): Question | undefined {
  const text = typed.trim().replaceAll(/\s+/g, ' ')
  if (text === '' || text.length > textCharsMax || text.includes('\0')) return undefined
  const [matched, whole = '', fraction = '', code = '', day] = moneyForm.exec(text.toUpperCase()) ?? []
  if (matched === undefined || !isCurrency(code) || fraction.length > currencies[code].digits)
    return { by: 'text', text }
  if (day !== undefined && !isDay(day)) return { by: 'text', text }
  const amount = BigInt(`${whole}${fraction.padEnd(currencies[code].digits, '0')}`)
  const from = day === undefined ? null : new Date(`${day}T00:00:00Z`)
  const before = from && new Date(from.getTime() + dayMs)
  return { by: 'money', money: { currency: code, amount }, from, before }
}

type Owner = { readonly partnerId: string; readonly partnerName: string }
export type FoundPayout = Owner & {
  readonly id: string
  /** The text of the partner, else the reference of the transaction. */
  readonly reference: string
  readonly endToEndId: string
  readonly status: string
  readonly money: { readonly currency: Currency; readonly amount: Minor }
  readonly createdAt: Date
  /** The oldest open case about the payout. Null: none is open. */
  readonly caseId: string | null
}
export type FoundCustomer = Owner & {
  readonly id: string
  /** The IBAN by which the customer was found. Null: by an id. */
  readonly iban: string | null
  /** When the IBAN was closed. Null: it is open, or the customer was found by an id. */
  readonly closedAt: Date | null
}
export type FoundPayee = Owner & {
  readonly id: string
  /** The customer who owns the payee. Null: the partner. */
  readonly customerId: string | null
  readonly createdAt: Date
}
export type FoundDeposit = Owner & {
  readonly id: string
  readonly reference: string
  readonly status: string
  readonly money: { readonly currency: Currency; readonly amount: Minor }
  readonly createdAt: Date
  /** The customer who is paid. Null: the partner. */
  readonly customerId: string | null
}
export type FoundCase = Owner & { readonly id: string; readonly kind: string; readonly openedAt: Date }
export type Found = {
  readonly deposits: readonly FoundDeposit[]
  readonly cases: readonly FoundCase[]
  readonly files: readonly BankFile[]
  readonly partners: readonly Owner[]
  readonly payouts: readonly FoundPayout[]
  readonly customers: readonly FoundCustomer[]
  readonly payees: readonly FoundPayee[]
  /** True if there may be more than is shown. */
  readonly hasMore: boolean
  /** How many partners were searched for payouts and ids of customers, if they were not all. */
  readonly searched: number | null
}

type Hit = Awaited<ReturnType<Payouts['find']>>[number]
type OfPartner = {
  readonly payouts: readonly Hit[]
  readonly customerIds: readonly string[]
  readonly payees: readonly Beneficiary[]
  readonly deposits: readonly Deposit[]
  readonly case?: CaseRow | undefined
}

/**
 * Finds by the text, at most 50 of each kind, in the first `searchedMax` partners by their ids. Payouts and customers are read partner by partner, each by indexes that begin with the
 * partner, so a sharded database asks one shard at a time; IBANs by the index of all IBANs.
 */
export async function find(deps: FindDeps, question: Question, searchedMax = partnersMax): Promise<Found> {
  const { db, access } = deps
  const all = (await access.partnerNames(db)).map(({ partnerId, name: partnerName }) => ({ partnerId, partnerName }))
  const partners = question.by === 'text' ? partnersLike(all, question.text) : []
  const payouts: (Owner & { readonly hit: Hit })[] = []
  const customers: FoundCustomer[] = question.by === 'text' ? await ownersOf(deps, all, question.text) : []
  const payees: FoundPayee[] = []
  const deposits: FoundDeposit[] = []
  const cases: FoundCase[] = []
  const files = question.by === 'text' ? await deps.bankFiles.named(db, question.text, rowsMax + 1) : []
  const isFull = () => [payouts, customers, payees].some(({ length }) => length > rowsMax)
  const searched = all.slice(0, searchedMax)
  for (let at = 0; at < searched.length && !isFull(); at += partnersAtOnce) {
    const some = searched.slice(at, at + partnersAtOnce)
    const found = await Promise.all(some.map(({ partnerId }) => ofPartner(deps, partnerId, question)))
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
  const shown: FoundPayout[] = []
  for (const each of payouts.slice(0, rowsMax)) shown.push(await withCase(deps, each))
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

const partnersLike = (all: readonly Owner[], text: string): readonly Owner[] => {
  const wanted = text.toLowerCase()
  return all.filter(({ partnerId, partnerName }) => partnerId === wanted || partnerName.toLowerCase().includes(wanted))
}

async function ownersOf({ db, accounts }: FindDeps, all: readonly Owner[], text: string): Promise<FoundCustomer[]> {
  const iban = text.replaceAll(' ', '').toUpperCase()
  if (!isIban(iban)) return []
  return (await accounts.holdersOf(db, iban)).map(({ partnerId, customerId: id, closedAt }) => {
    const partnerName = all.find((each) => each.partnerId === partnerId)?.partnerName ?? ''
    return { partnerId, partnerName, id, iban, closedAt }
  })
}

const anyWithdrawal = { reference: null, money: null, from: null, before: null }

async function ofPartner(
  { db, beneficiaries, payouts, customers, deposits, cases }: FindDeps,
  partnerId: string,
  question: Question,
): Promise<OfPartner> {
  const rows = rowsMax + 1
  if (question.by === 'money') {
    const { money, from, before } = question
    const found = await payouts.find(partnerId, { ...anyWithdrawal, money, from, before }, rows)
    return { payouts: found, customerIds: [], payees: [], deposits: [] }
  }
  const { text } = question
  const byId = await payouts.find(partnerId, { id: text }, rows)
  const byReference = await payouts.find(partnerId, { ...anyWithdrawal, reference: text }, rows)
  const byPayee = isUuid(text)
    ? await payouts.find(partnerId, { ...anyWithdrawal, beneficiaryId: text.toLowerCase() }, rows)
    : []
  const found = new Map([...byId, ...byReference, ...byPayee].map((hit) => [hit.payout.id, hit]))
  return {
    payouts: [...found.values()],
    customerIds: await customersBy(customers, db, partnerId, text),
    payees: nameForm.test(text) ? await beneficiaries.named(partnerId, text, rows) : [],
    deposits: await deposits.byReferences(db, partnerId, [text]),
    case: isUuid(text) ? await cases.byId(db, partnerId, text.toLowerCase()) : undefined,
  }
}

const toDeposit = (
  owner: Owner,
  { id, reference, status, currency, amount, createdAt, customerId }: Deposit,
): FoundDeposit => ({ ...owner, id, reference, status, money: { currency, amount }, createdAt, customerId })

const toPayee = (owner: Owner, { id, customerId, createdAt }: Beneficiary): FoundPayee => ({
  ...owner,
  id,
  customerId,
  createdAt,
})

/** Customers by id, by the whole email address, or by the beginning of words of the name. */
async function customersBy(
  customers: FindDeps['customers'],
  tx: Tx,
  partnerId: string,
  text: string,
): Promise<readonly string[]> {
  const id = await customers.idOf(tx, partnerId, text)
  if (id !== undefined) return [id]
  const query = text.includes('@') ? { email: text } : nameForm.test(text) ? { namePrefix: text } : undefined
  if (query === undefined) return []
  return customers.idsBy(partnerId, query, rowsMax + 1)
}
/** Digits and few letters are those of a reference. */
const nameForm = /^(?=(?:.*\p{L}){3})[^\p{N}]+$/u

async function withCase(
  { db, cases }: FindDeps,
  { partnerId, partnerName, hit: { payout } }: Owner & { readonly hit: Hit },
): Promise<FoundPayout> {
  const { id, status, currency, amount, createdAt } = payout
  const about = [id, instructionIdOf(payout), payout.endToEndId, payout.reference]
  const reference = payout.remittance ?? payout.reference
  const [open] = await cases.openAbout(db, partnerId, about)
  const endToEndId = payout.partnerEndToEndId ?? payout.endToEndId
  const money = { currency, amount }
  return { partnerId, partnerName, id, reference, endToEndId, status, money, createdAt, caseId: open?.id ?? null }
}
