/** Pure: what a customer may do in each state of its verification, and the refusals. */
import { Refusal } from '../../kernel/api/index.ts'
import { amountText, type Currency, isFiat, type Minor, type Money } from '../../kernel/index.ts'
import type { ReferenceConverter } from '../../rates/index.ts'
import { capabilities, type Capability, ownJson, type VerificationState } from '@partner-payments/wire'

/** The maximum balance of a customer in each currency, in minor units. An absent currency does not have a maximum. */
export type BalancesMax = Readonly<Partial<Record<Currency, Minor>>>

/**
 * `opensAccounts`: gets IBANs and wallets. `receives`: deposits are credited. `pays`: payouts are created. `converts`: money is exchanged.
 * Tokens always need `converts` too, because they are money of another kind.
 */
export type Gate = {
  readonly opensAccounts: boolean
  readonly receives: boolean
  readonly pays: boolean
  readonly converts: boolean
  readonly balancesMax: BalancesMax
  /** The maximum sum across all currencies, in one of them. Empty: no maximum. */
  readonly totalMax: BalancesMax
}

/** `open`: all customers may do everything. `strict`: only complete ones may. */
export type GateDefault = 'open' | 'strict'

const openGate: Gate = {
  opensAccounts: true,
  receives: true,
  pays: true,
  converts: true,
  balancesMax: {},
  totalMax: {},
}
const closedGate: Gate = {
  opensAccounts: false,
  receives: false,
  pays: false,
  converts: false,
  balancesMax: {},
  totalMax: {},
}

export const defaultGate = (kind: GateDefault, state: VerificationState): Gate =>
  kind === 'open' || state === 'Complete' ? openGate : closedGate

const gateFields = {
  OpenAccount: 'opensAccounts',
  Receive: 'receives',
  Pay: 'pays',
  Convert: 'converts',
} as const satisfies Record<Capability, keyof Gate>

export const isAllowed = (gate: Gate, capability: Capability): boolean => gate[gateFields[capability]]

/**
 * Returns the capability that the gate does not grant for an action in a currency: its own, or `Convert` for a token.
 * Undefined: the gate grants all that the action needs.
 */
export const findLackingCapability = (
  gate: Gate,
  capability: Capability,
  currency?: Currency,
): Capability | undefined =>
  [capability, ...(currency === undefined || isFiat(currency) ? [] : (['Convert'] as const))].find(
    (each) => !isAllowed(gate, each),
  )
export const allowedCapabilities = (gate: Gate): readonly Capability[] =>
  capabilities.filter((each) => isAllowed(gate, each))
export const toGate = (allowed: readonly Capability[], balancesMax: BalancesMax, totalMax: BalancesMax): Gate => ({
  opensAccounts: allowed.includes('OpenAccount'),
  receives: allowed.includes('Receive'),
  pays: allowed.includes('Pay'),
  converts: allowed.includes('Convert'),
  balancesMax,
  totalMax,
})

/** Returns the stored state. KYC that has no state yet, or cannot be read, counts as incomplete. */
export const stateOrIncomplete = (state: VerificationState | null): VerificationState => state ?? 'Incomplete'

const capabilityVerbs: Readonly<Record<Capability, string>> = {
  OpenAccount: 'open an account',
  Receive: 'receive money',
  Pay: 'make payouts',
  Convert: 'exchange money or have tokens',
}

/**
 * Returns the refusal of an action that the state of the verification does not allow. `pointer`: the field that names
 * the customer.
 */
export function verificationRefusal(state: VerificationState, capability: Capability, pointer?: string): Refusal {
  const message = `a customer whose verification is ${state} must not ${capabilityVerbs[capability]}`
  return new Refusal(
    'customer_not_verified',
    `${message.replace(/^a/, 'A')}. Read the capabilities of the customer, and complete its KYC.`,
    pointer === undefined ? {} : { errors: [{ pointer, code: 'invalid_value', message }] },
  )
}

type VerifiedHolder = { readonly verificationState: VerificationState; readonly gate: Gate }

export const hasMaximumBalance = ({ gate }: Pick<VerifiedHolder, 'gate'>, currency: Currency): boolean =>
  gate.balancesMax[currency] !== undefined || hasMaximumSum({ gate })
export const hasMaximumSum = ({ gate }: Pick<VerifiedHolder, 'gate'>): boolean => Object.keys(gate.totalMax).length > 0

export const entriesOf = (maxima: BalancesMax) => Object.entries(maxima) as readonly (readonly [Currency, Minor])[]

/** Sums money in a currency. Undefined: there is no recent rate. */
export function sumOf(held: Iterable<Money>, currency: Currency, convert: ReferenceConverter): Minor | undefined {
  let sum = 0n
  for (const money of held) {
    const counted = money.amount > 0n ? convert(money, currency) : { amount: 0n }
    if (counted === undefined) return undefined
    sum += counted.amount
  }
  return sum
}

/** Reports whether the customer's money would exceed the maximum sum of the gate. Money without a recent rate exceeds it. */
export const exceedsSum = ({ totalMax }: Gate, held: Iterable<Money>, convert: ReferenceConverter): boolean =>
  entriesOf(totalMax).some(([currency, max]) => (sumOf(held, currency, convert) ?? max + 1n) > max)

/** Reports whether an amount would raise the customer's balance above the maximum of the gate. */
export function exceedsBalance(
  { balancesMax }: Gate,
  { currency, held, amount }: { readonly currency: Currency; readonly held: Minor; readonly amount: Minor },
): boolean {
  const max = balancesMax[currency]
  return max !== undefined && held + amount > max
}

/** Returns the refusal of an amount that would raise the balance above the maximum of the gate. */
export function balanceRefusal(
  { verificationState, gate }: VerifiedHolder,
  incoming: { readonly currency: Currency; readonly held: Minor; readonly amount: Minor },
  pointer: string,
): Refusal | undefined {
  if (!exceedsBalance(gate, incoming)) return undefined
  const { currency } = incoming
  return holdsAtMost(
    verificationState,
    `${amountText(gate.balancesMax[currency] ?? 0n, currency)} ${currency}`,
    pointer,
  )
}

/** Returns the refusal of an amount that would raise the sum of all balances above the maximum of the gate. */
export function sumRefusal(
  { verificationState, gate }: VerifiedHolder,
  held: Iterable<Money>,
  convert: ReferenceConverter,
  pointer: string,
): Refusal | undefined {
  if (!exceedsSum(gate, held, convert)) return undefined
  const max = entriesOf(gate.totalMax).map(([currency, amount]) => `${amountText(amount, currency)} ${currency}`)
  return holdsAtMost(verificationState, `${max.join()} over all currencies`, pointer)
}

function holdsAtMost(state: VerificationState, most: string, pointer: string): Refusal {
  const message = `a customer whose verification is ${state} holds at most ${most}`
  return new Refusal(
    'balance_limit_exceeded',
    `${message.replace(/^a/, 'A')}. Use a smaller amount, or complete the customer's verification.`,
    { errors: [{ pointer, code: 'invalid_value', message }] },
  )
}

/** Writes the maxima as the column stores them, with minor units as text. */
export const formatBalancesMax = (balancesMax: BalancesMax): string | null =>
  Object.keys(balancesMax).length === 0
    ? null
    : JSON.stringify(Object.fromEntries(Object.entries(balancesMax).map(([currency, max]) => [currency, String(max)])))

export const parseBalancesMax = (text: string | null): BalancesMax =>
  text === null
    ? {}
    : Object.fromEntries(
        Object.entries(ownJson<Record<string, string>>(text)).map(([currency, max]) => [currency, BigInt(max)]),
      )
