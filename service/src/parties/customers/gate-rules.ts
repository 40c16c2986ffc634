/** Pure: what a customer may do in each state of its verification, and why not. */
import { Refusal } from '../../kernel/api/index.ts'
import { amountText, type Currency, isFiat, type Minor } from '../../kernel/index.ts'
import type { Converter } from '../../rates/index.ts'
import { capabilities, type Capability, ownJson, type VerificationState } from '@partner-payments/wire'

/** The largest balance of a customer in each currency, in minor units. A currency without one has no maximum. */
export type BalancesMax = Readonly<Partial<Record<Currency, Minor>>>

/**
 * `opensAccounts`: gets IBANs and wallets. `receives`: its deposits are credited. `pays`: payouts are made for it. `converts`: its money is
 * exchanged; tokens need it besides, because they are money of another kind.
 */
export type Gate = {
  readonly opensAccounts: boolean
  readonly receives: boolean
  readonly pays: boolean
  readonly converts: boolean
  readonly balancesMax: BalancesMax
  /** The largest sum over all currencies, in one of them. Empty: none. */
  readonly totalMax: BalancesMax
}

/** `open`: everybody may do everything. `strict`: only a complete customer. */
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

const memberOf = {
  OpenAccount: 'opensAccounts',
  Receive: 'receives',
  Pay: 'pays',
  Convert: 'converts',
} as const satisfies Record<Capability, keyof Gate>

export const isAllowed = (gate: Gate, capability: Capability): boolean => gate[memberOf[capability]]

/** The capability that an act in a currency lacks: the one of the act, and `Convert` for a token. Undefined: none. */
export const lackingFor = (gate: Gate, capability: Capability, currency?: Currency): Capability | undefined =>
  [capability, ...(currency === undefined || isFiat(currency) ? [] : (['Convert'] as const))].find(
    (each) => !isAllowed(gate, each),
  )
export const allowedBy = (gate: Gate): readonly Capability[] => capabilities.filter((each) => isAllowed(gate, each))
export const gateOf = (allowed: readonly Capability[], balancesMax: BalancesMax, totalMax: BalancesMax): Gate => ({
  opensAccounts: allowed.includes('OpenAccount'),
  receives: allowed.includes('Receive'),
  pays: allowed.includes('Pay'),
  converts: allowed.includes('Convert'),
  balancesMax,
  totalMax,
})

/** KYC that was not judged yet, or that cannot be read, counts as incomplete. */
export const judgedState = (state: VerificationState | null): VerificationState => state ?? 'Incomplete'

const doing: Readonly<Record<Capability, string>> = {
  OpenAccount: 'open an account',
  Receive: 'receive money',
  Pay: 'make payouts',
  Convert: 'exchange money or have tokens',
}

/** The refusal of what the state of a customer's verification does not allow. `pointer`: the field that names the customer. */
export function notVerified(state: VerificationState, capability: Capability, pointer?: string): Refusal {
  const message = `a customer whose verification is ${state} must not ${doing[capability]}`
  return new Refusal(
    'customer_not_verified',
    `${message.replace(/^a/, 'A')}. Read the capabilities of the customer, and complete its KYC.`,
    pointer === undefined ? {} : { errors: [{ pointer, code: 'invalid_value', message }] },
  )
}

type Holder = { readonly verificationState: VerificationState; readonly gate: Gate }

export const hasLargestBalance = ({ gate }: Pick<Holder, 'gate'>, currency: Currency): boolean =>
  gate.balancesMax[currency] !== undefined || hasLargestSum({ gate })
export const hasLargestSum = ({ gate }: Pick<Holder, 'gate'>): boolean => Object.keys(gate.totalMax).length > 0

export const entriesOf = (maxima: BalancesMax) => Object.entries(maxima) as readonly (readonly [Currency, Minor])[]

type Money = { readonly currency: Currency; readonly amount: Minor }
/** The sum of what is held, in a currency. Undefined: there is no recent rate. */
export function sumOf(held: Iterable<Money>, currency: Currency, convert: Converter): Minor | undefined {
  let sum = 0n
  for (const money of held) {
    const counted = money.amount > 0n ? convert(money, currency) : { amount: 0n }
    if (counted === undefined) return undefined
    sum += counted.amount
  }
  return sum
}

/** Reports whether what a customer would hold exceeds the largest sum of its gate. Money that cannot be counted does. */
export const exceedsSum = ({ totalMax }: Gate, held: Iterable<Money>, convert: Converter): boolean =>
  entriesOf(totalMax).some(([currency, max]) => (sumOf(held, currency, convert) ?? max + 1n) > max)

/** Reports whether an amount would raise what a customer holds above the largest balance of its gate. */
export function exceedsBalance(
  { balancesMax }: Gate,
  { currency, held, amount }: { readonly currency: Currency; readonly held: Minor; readonly amount: Minor },
): boolean {
  const max = balancesMax[currency]
  return max !== undefined && held + amount > max
}

/** The refusal of an amount that would raise what a customer holds above the largest balance of its gate. */
export function refuseAbove(
  { verificationState, gate }: Holder,
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

/** The refusal of an amount with which a customer would hold more than the largest sum of its gate. */
export function refuseAboveSum(
  { verificationState, gate }: Holder,
  held: Iterable<Money>,
  convert: Converter,
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
    `${message.replace(/^a/, 'A')}. Move less, or have the customer verified.`,
    { errors: [{ pointer, code: 'invalid_value', message }] },
  )
}

/** Texts of minor units, as the column has them. */
export const writeBalancesMax = (balancesMax: BalancesMax): string | null =>
  Object.keys(balancesMax).length === 0
    ? null
    : JSON.stringify(Object.fromEntries(Object.entries(balancesMax).map(([currency, max]) => [currency, String(max)])))

export const readBalancesMax = (text: string | null): BalancesMax =>
  text === null
    ? {}
    : Object.fromEntries(
        Object.entries(ownJson<Record<string, string>>(text)).map(([currency, max]) => [currency, BigInt(max)]),
      )
