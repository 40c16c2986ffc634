/** Pure: the signed text of a day, and the checks that an auditor can make with the text alone. */
import { hash } from 'node:crypto'
import { amountText, type Currency, currencies, isCurrency, type Minor } from '../../kernel/index.ts'
import { type PartGroup, partKinds, type DifferencePart, type SafeguardingStatus, sumOfGroup } from './rules.ts'

/** Amounts are decimal numbers of the currency. */
export type SafeguardingContent = {
  readonly form: 1
  readonly day: string
  readonly currency: Currency
  readonly version: number
  /** The digest of the corrected version. */
  readonly previous: string | null
  readonly status: SafeguardingStatus
  /** False if the day was not over. */
  readonly isOver: boolean
  /** The end of the day, at which the ledger is read. */
  readonly cutAt: string
  readonly computedAt: string
  readonly requirement: {
    readonly total: string
    readonly balances: string
    readonly reserved: string
    readonly suspense: string
  }
  /** Null, like the next four fields, if a statement is missing. */
  readonly resource: string | null
  readonly difference: string | null
  readonly own: string | null
  readonly timing: string | null
  readonly discrepancy: string | null
  readonly accounts: readonly {
    readonly connector: string
    readonly account: string
    /** The earliest day of the required statement. */
    readonly dueOn: string
    readonly statement: {
      readonly id: string
      readonly name: string
      readonly on: string
      readonly closing: string
    } | null
  }[]
  readonly parts: readonly {
    readonly group: PartGroup
    readonly kind: string
    readonly connector: string
    readonly account: string
    readonly amount: string
    readonly count: number
    readonly why: string
  }[]
  readonly entries: readonly {
    readonly kind: string
    readonly account: string
    readonly id: string
    readonly bookedOn: string
    readonly amount: string
  }[]
  /** Account rows that differ from their transfers. `difference`: row minus transfers. */
  readonly changedRows: readonly {
    readonly partnerId: string
    readonly account: string
    readonly difference: string
  }[]
}

export type SignedContent = { readonly content: string; readonly signature: string; readonly publicKey: string }

export const contentDigest = (content: string): string => hash('sha256', content, 'hex')

const partReason = (group: PartGroup, kind: string): string =>
  (partKinds[group] as Readonly<Record<string, string>>)[kind] ?? ''

export const partsText = (parts: readonly DifferencePart[], currency: Currency): SafeguardingContent['parts'] =>
  parts.map(({ group, kind, connector, account, amount, count }) => ({
    group,
    kind,
    connector,
    account,
    amount: amountText(amount, currency),
    count: Number(count),
    why: partReason(group, kind),
  }))

/** Computes the amounts of a finding. They need all statements. */
export function findingAmounts(
  total: Minor,
  resource: Minor | null,
  parts: readonly DifferencePart[],
  currency: Currency,
) {
  const text = (amount: Minor) => (resource === null ? null : amountText(amount, currency))
  return {
    resource: text(resource ?? 0n),
    difference: text((resource ?? 0n) - total),
    own: text(sumOfGroup(parts, 'own')),
    timing: text(sumOfGroup(parts, 'timing')),
    discrepancy: text(sumOfGroup(parts, 'discrepancy')),
  }
}

/** Builds the text that decides whether a record needs a correction: all except times, version, and the parts of timing. */
export function comparableText(content: SafeguardingContent): string {
  const { status, isOver, requirement, resource, own, timing, discrepancy, accounts, parts, changedRows } = content
  const lasting = parts.filter(({ group }) => group !== 'timing')
  return JSON.stringify([
    status,
    isOver,
    requirement,
    resource,
    own,
    timing,
    discrepancy,
    accounts,
    lasting,
    changedRows,
  ])
}

const amountForm = /^(-?)(\d+)\.(\d+)$/
function readMinor(text: string | null, currency: Currency): Minor {
  const [, sign = '', whole = '', fraction = ''] = amountForm.exec(text ?? '') ?? []
  if (whole === '' || fraction.length !== currencies[currency].digits) throw new TypeError(`not an amount: ${text}`)
  const minor = BigInt(whole + fraction)
  return sign === '' ? minor : -minor
}

/** Lists the contradictions of a record in sentences. */
export function findContradictions(content: SafeguardingContent): readonly string[] {
  const { currency, requirement, resource, difference, parts, accounts, status } = content
  if (!isCurrency(currency)) return ['The currency is not known.']
  const faults: string[] = []
  const minor = (text: string | null) => readMinor(text, currency)
  const equal = (what: string, one: Minor, other: Minor) => {
    if (one !== other) faults.push(`${what}: ${amountText(one, currency)} is not ${amountText(other, currency)}.`)
  }
  const total = (texts: readonly string[]) => texts.reduce((sum, text) => sum + minor(text), 0n)
  const { balances, suspense } = requirement
  equal('The requirement is the sum of its parts', minor(requirement.total), total([balances, suspense]))
  const isIncomplete = accounts.some(({ statement }) => statement === null)
  if (isIncomplete !== (status === 'incomplete')) faults.push('The status does not fit the statements.')
  if (resource === null) return faults
  const closings = accounts.flatMap(({ statement }) => (statement === null ? [] : [statement.closing]))
  equal('The resource is the sum of the closing balances', minor(resource), total(closings))
  equal('The difference is resource less requirement', minor(difference), minor(resource) - minor(requirement.total))
  equal('The parts are the difference', total(parts.map(({ amount }) => amount)), minor(difference))
  for (const group of ['own', 'timing', 'discrepancy'] as const)
    equal(
      `The parts of ${group} are their sum`,
      total(parts.filter((part) => part.group === group).map(({ amount }) => amount)),
      minor(content[group]),
    )
  return faults
}
