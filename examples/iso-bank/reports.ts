/** Reports bookings to the company: reports of the day, and statements. */
import { book, type Draft, newReference, note, send } from './draft.ts'
import type { Entry, EntryDetail, Order, Other } from './model.ts'
import type { AccountState } from './state.ts'
import { type Report, report } from './write.ts'

export const bankBic = 'TESTDEFFXXX'
const entriesPerReportMax = 10_000

export function reportDay(draft: Draft): void {
  const { state, records, now } = draft
  const { reports: kind, version, shuffles } = state.settings
  if (kind === 'none') return
  for (const account of state.accounts) {
    const { iban, currency, entries, toldUpTo } = account
    if (toldUpTo === entries.length) continue
    const fresh = entries.slice(toldUpTo).filter(({ isSilent }) => !isSilent)
    const told = shuffles ? fresh.toReversed() : fresh
    for (let from = 0; from < told.length; from += entriesPerReportMax) {
      const some = told.slice(from, from + entriesPerReportMax)
      const sequence = (state.reports.get(kind) ?? 0) + 1
      send(draft, kind, (messageId, wrong) =>
        report(version, {
          kind,
          messageId,
          at: now,
          account,
          bic: bankBic,
          sequence,
          entries: some,
          isSumWrong: wrong !== undefined,
        }),
      )
    }
    records.push({ t: 'told', account: iban, currency, upTo: entries.length })
  }
}

/** One message for each account, also where nothing was booked. */
export function makeStatements(draft: Draft): void {
  const { state, records, now } = draft
  for (const account of state.accounts) {
    const { iban, currency, entries, statementUpTo: from } = account
    const some = entries.slice(from)
    const opening = openingOf(account)
    const closing = some.reduce((sum, { amount }) => sum + amount, opening)
    const sequence = account.statements.length + 1
    const statement = { account: iban, currency, sequence, opening, closing, entries: some.length }
    records.push({ t: 'statement', statement, from, at: now.toISOString() })
    send(draft, 'camt.053', (messageId, wrong) =>
      report(state.settings.version, {
        ...statementOf(account, { messageId, at: now, sequence, entries: some }),
        balances: { opening, closing: wrong === 'wrong balance' ? closing + 100n : closing },
        isSumWrong: wrong === 'wrong sum',
      }),
    )
  }
}

const openingOf = ({ statements, opening }: AccountState): bigint => statements.at(-1)?.closing ?? opening

const statementOf = (
  account: AccountState,
  rest: Pick<Report, 'messageId' | 'at' | 'sequence' | 'entries'>,
): Report => ({ kind: 'camt.053', account, bic: bankBic, ...rest })

/** Sends the last statement of each account again, in a new message. */
export function repeatStatements(draft: Draft): void {
  for (const account of draft.state.accounts) {
    const last = account.statements.at(-1)
    if (last === undefined) continue
    const { opening, closing, sequence, from, entries: count, at } = last
    const entries = account.entries.slice(from, from + count)
    send(draft, 'camt.053', (messageId) =>
      report(draft.state.settings.version, {
        ...statementOf(account, { messageId, at: new Date(at), sequence, entries }),
        balances: { opening, closing },
      }),
    )
    note(draft, { kind: 'repeat statement', subject: String(sequence), amount: null, currency: account.currency })
  }
}

/** Money that moves without an instruction of the company. Its reference is that of the booking. */
type Movement = Extract<Order, { readonly order: 'credit' | 'batch credit' | 'reverse' | 'fee' | 'debit' | 'foreign' }>

const debtorDefault: Other = { name: 'Test Payer', iban: 'DE89370400440532013000', bic: 'COBADEFFXXX' }

const detailOf = (fields: Partial<EntryDetail> & Pick<EntryDetail, 'amount' | 'isCredit'>): EntryDetail => ({
  endToEndId: null,
  instructionId: null,
  messageId: null,
  batchId: null,
  transactionId: newReference(),
  charge: null,
  debtor: null,
  creditor: null,
  remittance: null,
  reference: null,
  returnCode: null,
  ...fields,
})

const entryOf = (
  { now }: Draft,
  { iban: account, currency }: Pick<AccountState, 'iban' | 'currency'>,
  fields: Pick<Entry, 'amount' | 'codes' | 'details'> & Partial<Entry>,
): Entry => ({
  ref: newReference(),
  account,
  currency,
  at: now.toISOString(),
  isReversal: false,
  text: null,
  batch: null,
  shows: 'at once',
  isSilent: false,
  ...fields,
})

function accountIn({ state }: Draft, currency: string): AccountState {
  const found = state.accounts.find((account) => account.currency === currency)
  if (found === undefined) throw new Error(`the bank has no account in ${currency}`)
  return found
}

/** Answers the reference of the booking. */
export function move(draft: Draft, order: Movement): string {
  if (order.order === 'foreign') return tellForeign(draft, order)
  const entry = order.order === 'reverse' ? reversalOf(draft, order.credit) : movementOf(draft, order)
  book(draft, entry)
  const [detail] = entry.details
  if (order.order !== 'credit')
    note(draft, {
      kind: order.order,
      subject: detail?.endToEndId ?? entry.ref,
      amount: entry.amount,
      currency: entry.currency,
    })
  return entry.ref
}

function movementOf(draft: Draft, order: Exclude<Movement, { readonly order: 'reverse' | 'foreign' }>): Entry {
  const account = accountIn(draft, order.currency)
  switch (order.order) {
    case 'credit': {
      const { charge = null, iban, debtor, endToEndId = null, remittance = null, reference = null } = order
      const amount = order.amount - (charge ?? 0n)
      const creditor = { name: account.owner, iban, bic: bankBic }
      const parties = { debtor: { ...debtorDefault, ...debtor }, creditor }
      const detail = detailOf({ amount, isCredit: true, charge, ...parties, endToEndId, remittance, reference })
      return entryOf(draft, account, { amount, codes: ['PMNT', 'RCDT', 'ESCT'], details: [detail] })
    }
    case 'batch credit': {
      const details = order.credits.map(({ iban, amount, debtor }) =>
        detailOf({
          amount,
          isCredit: true,
          debtor: { ...debtorDefault, ...debtor },
          creditor: { name: account.owner, iban },
        }),
      )
      const amount = details.reduce((sum, detail) => sum + detail.amount, 0n)
      const batch = { messageId: null, batchId: null, count: details.length }
      return entryOf(draft, account, { amount, codes: ['PMNT', 'RCDT', 'ESCT'], details, batch, shows: order.details })
    }
    case 'fee':
      return entryOf(draft, account, {
        amount: -order.amount,
        codes: ['PMNT', 'MDOP', 'CHRG'],
        details: [],
        text: order.text ?? 'Charges of the bank',
      })
    case 'debit': {
      const creditor = { name: order.text ?? 'A creditor that is not known' }
      const detail = detailOf({ amount: order.amount, isCredit: false, creditor, endToEndId: newReference() })
      return entryOf(draft, account, { amount: -order.amount, codes: ['PMNT', 'RDDT', 'ESDD'], details: [detail] })
    }
  }
}

function reversalOf(draft: Draft, ref: string): Entry {
  const account = draft.state.accounts.find(({ entries }) => entries.some((entry) => entry.ref === ref))
  const entry = account?.entries.find((each) => each.ref === ref)
  if (account === undefined || entry === undefined) throw new Error(`the bank has no booking ${ref}`)
  return entryOf(draft, account, {
    amount: -entry.amount,
    codes: entry.codes,
    isReversal: true,
    details: entry.details.map((detail) => ({ ...detail, isCredit: !detail.isCredit })),
    text: `Reversal of ${ref}`,
  })
}

function tellForeign(draft: Draft, order: Extract<Movement, { readonly order: 'foreign' }>): string {
  const { iban, currency, amount, debtor } = order
  const account = { iban, currency, owner: draft.state.accounts[0]?.owner ?? '' }
  const detail = detailOf({ amount, isCredit: true, debtor: { ...debtorDefault, ...debtor } })
  const entry = entryOf(draft, account, { amount, codes: ['PMNT', 'RCDT', 'XBCT'], details: [detail] })
  const sequence = (draft.state.reports.get('camt.054') ?? 0) + 1
  const build = (messageId: string) =>
    report(draft.state.settings.version, {
      kind: 'camt.054',
      messageId,
      at: draft.now,
      account,
      bic: bankBic,
      sequence,
      entries: [entry],
    })
  // It is wrong already: an order for the next file is for one that would be right.
  send(draft, 'camt.054', build, 0, true)
  note(draft, { kind: 'foreign', subject: entry.ref, amount, currency })
  return entry.ref
}
