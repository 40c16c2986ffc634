/** Faults that a test bank makes on order, and how each has to be found: which case, with how much money, and how it is resolved. */
import type { FileFault, Order, Treatment } from '../../examples/iso-bank/model.ts'
import type { CaseAction } from '../../service/src/cases/index.ts'

/** The case that has to be there. `booked`: its money in suspense; null: it has none. */
export type Finding = { readonly kind: string; readonly booked: bigint | null }

export type PlannedPayment = {
  readonly amount: bigint
  /** Undefined: the bank just pays. */
  readonly oddity?: string
  readonly treatment?: Treatment
  /** State at the end, when everything is resolved. */
  readonly status: 'Completed' | 'Failed' | 'Returned'
  readonly findings: readonly Finding[]
}

/** Every amount is used once, so that a case is known by its money. None is one that the test bank treats by itself. */
const firstPayment = 10_00n
const firstCredit = 5_000_00n
const firstOther = 20_000_00n
/** One case of twenty is odd: 5 percent. */
const oneIn = 20
const missingCent = 3n

type Make = (amount: bigint) => Pick<PlannedPayment, 'treatment' | 'status' | 'findings'>
const payments: Readonly<Record<string, Make>> = {
  'refused at once': () => ({ treatment: { do: 'reject', code: 'AC04' }, status: 'Failed', findings: [] }),
  'rejected later': () => ({ treatment: { do: 'reject later', code: 'MS03' }, status: 'Failed', findings: [] }),
  returned: () => ({ treatment: { do: 'return', code: 'AC04' }, status: 'Returned', findings: [] }),
  'returned short': () => ({
    treatment: { do: 'return', code: 'AC04', short: missingCent },
    status: 'Returned',
    // The partner gets what came back: no money stands in suspense.
    findings: [{ kind: 'amount_differs', booked: null }],
  }),
  delayed: () => ({ treatment: { do: 'delay', ms: 800 }, status: 'Completed', findings: [] }),
  lost: () => ({ treatment: { do: 'lose' }, status: 'Failed', findings: [{ kind: 'payment_missing', booked: null }] }),
  'lost without a word': () => ({
    treatment: { do: 'lose', silent: true },
    status: 'Failed',
    findings: [{ kind: 'payment_missing', booked: null }],
  }),
  'executed silently': () => ({ treatment: { do: 'execute silently' }, status: 'Completed', findings: [] }),
  doubled: (amount) => ({
    treatment: { do: 'double' },
    status: 'Completed',
    findings: [{ kind: 'doubled', booked: -amount }],
  }),
  'another amount': (amount) => ({
    treatment: { do: 'falsify', amount: amount - missingCent },
    status: 'Completed',
    findings: [{ kind: 'amount_differs', booked: missingCent }],
  }),
  'another reference': (amount) => ({
    treatment: { do: 'falsify', endToEndId: `UNKNOWN-${amount}` },
    status: 'Completed',
    // The debit is known by nothing, and the payment is missed.
    findings: [
      { kind: 'unknown_debit', booked: -amount },
      { kind: 'payment_missing', booked: null },
    ],
  }),
  'another account': () => ({
    treatment: { do: 'falsify', creditorAccount: 'NL91ABNA0417164300' },
    status: 'Completed',
    findings: [{ kind: 'entry_unclear', booked: null }],
  }),
  contradicted: () => ({
    treatment: { do: 'contradict', code: 'MS03' },
    status: 'Completed',
    findings: [{ kind: 'contradiction', booked: null }],
  }),
}

export function plannedPayments(count: number): readonly PlannedPayment[] {
  const names = Object.keys(payments)
  return Array.from({ length: count }, (_none, index) => {
    const amount = firstPayment + BigInt(index)
    const name = index % oneIn === oneIn / 2 ? names[Math.floor(index / oneIn) % names.length] : undefined
    const make = name === undefined ? undefined : payments[name]
    return make === undefined || name === undefined
      ? { amount, status: 'Completed', findings: [] }
      : { amount, oddity: name, ...make(amount) }
  })
}

export type PlannedCredit = {
  readonly orders: readonly Order[]
  /** The bank takes its last order back, when it has its reference. */
  readonly isReversed: boolean
  readonly oddity?: string
  /** Sums of customers at the end: the amounts of deposits. */
  readonly deposits: readonly bigint[]
  readonly findings: readonly Finding[]
}

const debtor = { name: 'Mary Somerville' }
/** Account that is none of ours. */
const strangerIban = 'FR1420041010050500013M02606'
const currency = 'EUR'

type MakeCredit = (amount: bigint, iban: string, other: bigint) => Omit<PlannedCredit, 'oddity' | 'isReversed'>
const batch = (
  details: 'at once' | 'with the statement' | 'never',
  amount: bigint,
  iban: string,
  other: bigint,
): Order => ({
  order: 'batch credit',
  currency,
  details,
  credits: [
    { iban, amount, debtor },
    { iban, amount: other, debtor },
  ],
})
const credits: Readonly<Record<string, MakeCredit>> = {
  'to no account of ours': (amount) => ({
    orders: [{ order: 'credit', iban: strangerIban, amount, currency, debtor }],
    deposits: [],
    findings: [{ kind: 'unknown_payment', booked: amount }],
  }),
  'less a charge': (amount, iban) => ({
    orders: [{ order: 'credit', iban, amount: amount + 1n, currency, debtor, charge: 1n }],
    deposits: [amount],
    findings: [],
  }),
  'taken back': (amount, iban) => ({
    orders: [{ order: 'credit', iban, amount, currency, debtor, endToEndId: `BACK-${amount}` }],
    deposits: [amount],
    findings: [{ kind: 'credit_reversed', booked: null }],
  }),
  'a batch with its payments': (amount, iban, other) => ({
    orders: [batch('at once', amount, iban, other)],
    deposits: [amount, other],
    findings: [],
  }),
  'a batch whose payments come with the statement': (amount, iban, other) => ({
    orders: [batch('with the statement', amount, iban, other)],
    deposits: [amount, other],
    findings: [],
  }),
  'a batch without its payments': (amount, iban, other) => ({
    orders: [batch('never', amount, iban, other)],
    deposits: [],
    findings: [{ kind: 'unknown_payment', booked: amount + other }],
  }),
  'a foreign currency': (amount, iban) => ({
    orders: [
      { order: 'foreign', iban: 'DE02120300000000202051', amount, currency: 'CHF', debtor },
      { order: 'credit', iban, amount, currency, debtor },
    ],
    deposits: [amount],
    findings: [{ kind: 'foreign_currency', booked: null }],
  }),
  charges: (amount, iban, other) => ({
    orders: [
      { order: 'fee', currency, amount: other },
      { order: 'credit', iban, amount, currency, debtor },
    ],
    deposits: [amount],
    findings: [{ kind: 'bank_fee', booked: -other }],
  }),
  'a debit of no payment': (amount, iban, other) => ({
    orders: [
      { order: 'debit', currency, amount: other },
      { order: 'credit', iban, amount, currency, debtor },
    ],
    deposits: [amount],
    findings: [{ kind: 'unknown_debit', booked: -other }],
  }),
}

/** `ibans`: those of customers, in turn. */
export function plannedCredits(count: number, ibans: readonly string[]): readonly PlannedCredit[] {
  const names = Object.keys(credits)
  return Array.from({ length: count }, (_none, index) => {
    const amount = firstCredit + BigInt(index)
    const iban = ibans[index % ibans.length] ?? ''
    const name = index % oneIn === oneIn / 2 ? names[Math.floor(index / oneIn) % names.length] : undefined
    const make = name === undefined ? undefined : credits[name]
    if (make === undefined || name === undefined)
      return {
        orders: [{ order: 'credit', iban, amount, currency, debtor }],
        deposits: [amount],
        findings: [],
        isReversed: false,
      }
    const planned = make(amount, iban, firstOther + BigInt(index))
    return { ...planned, oddity: name, isReversed: name === 'taken back' }
  })
}

/** Faults of the files of a round: one of each kind of message, in turn. */
export type FileOddity = {
  readonly kind: 'camt.053' | 'camt.054' | 'pain.002'
  readonly fault: FileFault
  readonly finding?: string
}
const foundAs: Readonly<Partial<Record<FileFault, string>>> = {
  'same id': 'message_differs',
  cut: 'file_unreadable',
  garbage: 'file_unreadable',
  'wrong sum': 'sum_differs',
  'wrong balance': 'sum_differs',
}
/** The first statement has none before it: only a later one can be missed. */
const faultsOf = {
  'camt.053': ['cut', 'omit', 'wrong balance', 'twice', 'same id', 'half', 'garbage', 'wrong sum'],
  'camt.054': ['cut', 'twice', 'wrong sum', 'same id', 'garbage', 'half'],
  'pain.002': ['same id', 'garbage', 'twice', 'cut', 'half'],
} as const satisfies Record<FileOddity['kind'], readonly FileFault[]>

export const fileOdditiesOf = (round: number): readonly FileOddity[] =>
  (['camt.053', 'camt.054', 'pain.002'] as const).flatMap((kind) => {
    const faults = faultsOf[kind]
    const fault = faults[round % faults.length]
    if (fault === undefined) return []
    const isGap = kind === 'camt.053' && fault === 'omit'
    const finding = isGap ? 'statement_gap' : foundAs[fault]
    return [{ kind, fault, ...(finding === undefined ? {} : { finding }) }]
  })

/** How the two persons resolve a case. Undefined: it resolves itself. */
export const actionOf: Readonly<Record<string, CaseAction | undefined>> = {
  unknown_payment: 'credit',
  unknown_debit: 'write-off',
  amount_differs: 'write-off',
  doubled: 'write-off',
  bank_fee: 'fees',
  credit_reversed: 'note',
  contradiction: 'write-off',
  foreign_currency: 'note',
  file_unreadable: 'note',
  message_differs: 'note',
  sum_differs: 'note',
  statement_overlap: 'note',
  entry_unclear: 'note',
  payment_missing: undefined,
  statement_gap: undefined,
}
