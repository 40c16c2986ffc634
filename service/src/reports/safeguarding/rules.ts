/**
 * Pure: what must be on the designated accounts, what is there, and the parts of the difference:
 *
 * resource - requirement = own + timing + discrepancy
 */
import type { Minor } from '../../kernel/index.ts'
import type { DayLook } from '../../cases/reconciliation/index.ts'

/** The operator's own money in the accounts. Below zero if client money is missing. */
const ownKinds = {
  fees: 'Fees that the operator has earned and not taken out of the accounts.',
  fx: 'The open position of the operator from exchanges.',
  opening: 'Money that was on the account before its first statement here. The ledger never booked it.',
  undecided_debits: 'Money left the accounts, and no case has decided yet who bears it.',
  not_designated: 'The ledger has this money at a connector that has no designated account.',
} as const

/** Differences between the day of the bank and the end of the day in the ledger. They resolve without a decision. */
const timingKinds = {
  in_transit: 'The ledger had these entries at the end of the day, and no statement up to the day has them.',
  booked_late: 'A statement of the day has these entries, and they were reported and booked after the end of the day.',
  after_cut: 'Other movements that the ledger booked between the end of the day and the computation.',
  inside: 'Transfers between two accounts of this service that are booked on one side only.',
  settled_not_booked: 'The bank says that it has paid these, and had not booked them on the day.',
  returned_not_booked: 'The return of these payments is booked, and the payments themselves were not on the day.',
  not_applied: 'A statement of the day has these entries, and the ledger does not have them yet.',
  waiting: 'A statement of the day has these sums, and the message that names their payments has not come.',
  reversed: 'Two persons decided that this money moved outside this service, and the bank has not booked it yet.',
  valued_later: 'The closing balance of a statement counts these entries from a later value date on.',
} as const

/** Contradictions, which a person must investigate. */
const discrepancyKinds = {
  statement_gap: 'Two statements do not join: the bank moved this between them.',
  sum_differs: 'The balances of a statement differ by this from the entries that it lists.',
  not_taken: 'A statement lists these entries, and they could not be read.',
  unexplained: 'No entry, payment or case explains this.',
} as const

export const partKinds = { own: ownKinds, timing: timingKinds, discrepancy: discrepancyKinds } as const
export type PartGroup = keyof typeof partKinds

export type DifferencePart = {
  readonly group: PartGroup
  readonly kind: string
  /** Empty if the part concerns no single account. */
  readonly account: string
  readonly connector: string
  /** Adds to `resource - requirement`. */
  readonly amount: Minor
  readonly count: bigint
}

const statuses = ['balanced', 'excess', 'shortfall', 'unexplained', 'incomplete'] as const
export type SafeguardingStatus = (typeof statuses)[number]

/**
 * Reports whether a status requires a person to act. An excess is the operator's own money, which the operator
 * withdraws later.
 */
export const opensCase = (status: SafeguardingStatus): boolean => status !== 'balanced' && status !== 'excess'

/** Sums of the ledger in a currency at the end of the day, across all partners, by account name. */
export type LedgerSums = ReadonlyMap<string, { readonly posted: Minor; readonly reserved: Minor }>

export type EntriesAroundDayEnd = {
  /** Entries reported after the end of the day that are not on its statements. */
  readonly offAfter: { readonly amount: Minor; readonly count: bigint }
  /** Entries reported after the end of the day that are on its statements. */
  readonly onAfter: { readonly amount: Minor; readonly count: bigint }
}

export type AccountInput = {
  readonly look: DayLook
  readonly around: EntriesAroundDayEnd
  readonly hasStatement: boolean
}

export type Requirement = {
  readonly total: Minor
  readonly balances: Minor
  /** The part of the balances that payouts under way reserve. */
  readonly reserved: Minor
  /** Money that is not assigned yet, and parts of payments. */
  readonly suspense: Minor
}

export type DayFinding = {
  readonly requirement: Requirement
  /** Null if a statement is missing. */
  readonly resource: Minor | null
  readonly parts: readonly DifferencePart[]
  readonly status: SafeguardingStatus
}

type DayInput = {
  readonly sums: LedgerSums
  /** Sum of the debits whose cases are undecided, below zero. */
  readonly debits: { readonly amount: Minor; readonly count: bigint }
  readonly accounts: readonly AccountInput[]
  /** Account rows of this currency that differ from their transfers. */
  readonly changedRows: number
  readonly internalConnector: string
}

const sum = (amounts: readonly Minor[]): Minor => amounts.reduce((total, amount) => total + amount, 0n)

export const sumOfGroup = (parts: readonly DifferencePart[], group: PartGroup): Minor =>
  sum(parts.filter((part) => part.group === group).map(({ amount }) => amount))

export function computeDayFinding({ sums, debits, accounts, changedRows, internalConnector }: DayInput): DayFinding {
  const requirement = computeRequirement(sums, debits.amount)
  if (accounts.some(({ hasStatement }) => !hasStatement))
    return { requirement, resource: null, parts: [], status: 'incomplete' }
  const resource = sum(accounts.map(({ look }) => look.statement?.closing ?? 0n))
  const parts = [
    ...ownParts(sums, debits),
    ...accounts.flatMap((facts) => accountParts(facts, sums)),
    ...partsElsewhere(sums, accounts, internalConnector),
  ].filter(({ amount, count }) => amount !== 0n || count !== 0n)
  const own = sumOfGroup(parts, 'own')
  const isExplained = changedRows === 0 && parts.every(({ group, amount }) => group !== 'discrepancy' || amount === 0n)
  const status = !isExplained ? 'unexplained' : own === 0n ? 'balanced' : own > 0n ? 'excess' : 'shortfall'
  return { requirement, resource, parts, status }
}

const posted = (sums: LedgerSums, name: string): Minor => sums.get(name)?.posted ?? 0n

/** Computes the requirement. Debits in suspense do not reduce it, because they are no claim on other clients' money. */
function computeRequirement(sums: LedgerSums, debits: Minor): Requirement {
  const balances = posted(sums, 'balance')
  const suspense = posted(sums, 'suspense') + posted(sums, 'parts') - debits
  return { total: balances + suspense, balances, reserved: sums.get('balance')?.reserved ?? 0n, suspense }
}

const part = (group: PartGroup, kind: string, amount: Minor, count = 0n): DifferencePart => ({
  group,
  kind,
  amount,
  count,
  account: '',
  connector: '',
})

const ownParts = (sums: LedgerSums, debits: DayInput['debits']): readonly DifferencePart[] => [
  part('own', 'fees', posted(sums, 'fees')),
  part('own', 'fx', posted(sums, 'fx')),
  part('own', 'undecided_debits', debits.amount, debits.count),
]

const isTiming = (kind: string): boolean => Object.hasOwn(timingKinds, kind)

/** Explains `closing - ledger at the end of the day` in parts. */
function accountParts({ look, around }: AccountInput, sums: LedgerSums): readonly DifferencePart[] {
  const { account, connector, opening, items, unexplained, ledger } = look
  const { offAfter, onAfter } = around
  const of = (given: DifferencePart): DifferencePart => ({ ...given, account, connector })
  const moved = ledger + posted(sums, `settlement.${connector}`)
  const off = items.find(({ kind }) => kind === 'not_on_statement')
  const others = items.filter(({ kind }) => kind !== 'not_on_statement')
  return [
    part('own', 'opening', opening),
    part('timing', 'in_transit', offAfter.amount - (off?.amount ?? 0n), (off?.count ?? 0n) - offAfter.count),
    part('timing', 'booked_late', onAfter.amount, onAfter.count),
    part('timing', 'after_cut', moved - offAfter.amount - onAfter.amount),
    ...others.map(({ kind, amount, count }) => part(isTiming(kind) ? 'timing' : 'discrepancy', kind, -amount, count)),
    part('discrepancy', 'unexplained', -unexplained),
  ].map(of)
}

/** Lists money at connectors without a designated account. The internal connector holds only transfers under way. */
function partsElsewhere(
  sums: LedgerSums,
  accounts: readonly AccountInput[],
  internal: string,
): readonly DifferencePart[] {
  const designated = new Set(accounts.map(({ look }) => `settlement.${look.connector}`))
  return [...sums.keys()]
    .filter((name) => name.startsWith('settlement.') && !designated.has(name))
    .map((name) => {
      const connector = name.slice('settlement.'.length)
      const isInside = connector === internal
      return {
        ...part(isInside ? 'timing' : 'own', isInside ? 'inside' : 'not_designated', posted(sums, name)),
        connector,
      }
    })
}

const dayForm = /^\d{4}-\d\d-\d\d$/
/** Reports whether a text is a day of the calendar, `YYYY-MM-DD`. */
export const isCalendarDay = (text: string): boolean =>
  dayForm.test(text) && !Number.isNaN(Date.parse(text)) && utcDay(new Date(text)) === text
export const utcDay = (moment: Date): string => moment.toISOString().slice(0, 10)
