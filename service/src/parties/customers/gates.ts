/** Gates: what a partner's customers may do in each state of verification, which the operator sets; and the capabilities of a customer. */
import {
  capabilities,
  type Capability,
  type CapabilityReason,
  type VerificationState,
  verificationStates,
} from '@partner-payments/wire'
import { notFound, Refusal } from '../../kernel/api/index.ts'
import { amountText, type Clock, type Currency, type Minor } from '../../kernel/index.ts'
import { type AccountState, blocksInbound, blocksOutbound } from '../../ledger/index.ts'
import type { Tx } from '../../postgres/index.ts'
import {
  allowedCapabilities,
  type BalancesMax,
  defaultGate,
  entriesOf,
  type Gate,
  type GateDefault,
  toGate,
  isAllowed,
  stateOrIncomplete,
  findLackingCapability,
  verificationRefusal,
  parseBalancesMax,
} from './gate-rules.ts'
import * as store from './store.ts'

/** `isDefault`: the state has the default gate. */
export type GateView = {
  readonly verificationState: VerificationState
  readonly allowed: readonly Capability[]
  readonly isDefault: boolean
  /** Maximum balances in major units, by currency. Absent: no maximum. */
  readonly holdUpTo?: Readonly<Record<string, string>>
  /** Maximum sum across all currencies. Absent: no maximum. */
  readonly holdUpToInAll?: Readonly<Record<string, string>>
}

/** The gates of partners. A change applies from the next payment on; accepted payments continue. */
export type Gates = {
  readonly set: (
    tx: Tx,
    gate: {
      readonly partnerId: string
      readonly state: VerificationState
      readonly allowed: readonly Capability[]
      /** Maximum balances of a customer. Absent: no maximum. */
      readonly balancesMax?: BalancesMax
      /** Maximum sum across all currencies, in one of them. Absent: no maximum. */
      readonly totalMax?: BalancesMax
    },
  ) => Promise<GateView>
  /** Lists all states with their gates. */
  readonly list: (tx: Tx, partnerId: string) => Promise<readonly GateView[]>
  /** Resets the state to the default gate. Refuses: not_found. */
  readonly remove: (tx: Tx, partnerId: string, state: VerificationState) => Promise<GateView>
}

export function createGates({ clock, byDefault }: { readonly clock: Clock; readonly byDefault: GateDefault }): Gates {
  const view = (verificationState: VerificationState, gate: Gate | undefined): GateView => ({
    verificationState,
    allowed: allowedCapabilities(gate ?? defaultGate(byDefault, verificationState)),
    isDefault: gate === undefined,
    ...viewMaxima('holdUpTo', gate?.balancesMax ?? {}),
    ...viewMaxima('holdUpToInAll', gate?.totalMax ?? {}),
  })
  return {
    set: async (tx, { partnerId, state, allowed, balancesMax = {}, totalMax = {} }) => {
      const row = { verificationState: state, ...toGate(allowed, balancesMax, totalMax) }
      await store.setGate(tx, partnerId, row, clock.now())
      return view(state, row)
    },
    list: async (tx, partnerId) => {
      const rows = await store.listGates(tx, partnerId)
      return verificationStates.map((state) =>
        view(
          state,
          rows.find(({ verificationState }) => verificationState === state),
        ),
      )
    },
    remove: async (tx, partnerId, state) => {
      if ((await store.removeGate(tx, partnerId, state)) === 0) throw notFound('gate')
      return view(state, undefined)
    },
  }
}

const viewMaxima = (name: 'holdUpTo' | 'holdUpToInAll', balancesMax: BalancesMax): Partial<GateView> => {
  const maxima = entriesOf(balancesMax)
  if (maxima.length === 0) return {}
  return { [name]: Object.fromEntries(maxima.map(([currency, max]) => [currency, amountText(max, currency)])) }
}

/** The data that decides the capabilities of a customer. */
type Standing = {
  readonly gate: Gate
  readonly verificationState: VerificationState
  readonly accountState: AccountState
}

/** A capability with all reasons why the customer lacks it. */
export type CapabilityVerdict = { readonly name: Capability; readonly reasons: readonly CapabilityReason[] }

export function listCapabilities({ gate, verificationState, accountState }: Standing): readonly CapabilityVerdict[] {
  const isBlockedFor: Readonly<Record<Capability, boolean>> = {
    OpenAccount: accountState === 'Closed',
    Receive: blocksInbound(accountState),
    Pay: blocksOutbound(accountState),
    Convert: blocksInbound(accountState) || blocksOutbound(accountState),
  }
  return capabilities.map((name): CapabilityVerdict => {
    const reasons: CapabilityReason[] = []
    if (!isAllowed(gate, name))
      reasons.push(verificationState === 'Invalid' ? 'verification_invalid' : 'verification_incomplete')
    if (isBlockedFor[name]) reasons.push(accountState === 'Closed' ? 'account_closed' : 'account_blocked')
    return { name, reasons }
  })
}

/** The maximum balance in a currency, and the current balance. */
export type Holding = { readonly currency: Currency; readonly max: Minor; readonly held: Minor }

export const listHoldings = (
  balancesMax: BalancesMax,
  sums: readonly { readonly currency: Currency; readonly posted: Minor }[],
): readonly Holding[] =>
  entriesOf(balancesMax).map(([currency, max]) => ({
    currency,
    max,
    held: sums.find((sum) => sum.currency === currency)?.posted ?? 0n,
  }))

/** Creates a function that adds to a customer's row the gate of its state. */
export const createStandingReader =
  (byDefault: GateDefault) =>
  ({
    verificationState: kept,
    opensAccounts,
    receives,
    pays,
    converts,
    balancesMax: maxima,
    totalMax,
  }: Pick<store.PayerRow, 'verificationState' | keyof Gate>) => {
    const verificationState = stateOrIncomplete(kept)
    const hasGate = opensAccounts !== null && receives !== null && pays !== null
    return {
      verificationState,
      gate: hasGate
        ? {
            opensAccounts,
            receives,
            pays,
            converts: converts ?? true,
            balancesMax: parseBalancesMax(maxima),
            totalMax: parseBalancesMax(totalMax),
          }
        : defaultGate(byDefault, verificationState),
    }
  }

/**
 * Checks that the customer has a capability. Payments judge blocks of accounts themselves. Refuses: customer_not_verified,
 * account_blocked (`OpenAccount`: the account is closed).
 */
export function requireCapability(
  { gate, verificationState, accountState }: Standing,
  capability: Capability,
  { pointer, currency }: { readonly pointer?: string; readonly currency?: Currency },
): void {
  const lacking = findLackingCapability(gate, capability, currency)
  if (lacking !== undefined) throw verificationRefusal(verificationState, lacking, pointer)
  if (capability === 'OpenAccount' && accountState === 'Closed')
    throw new Refusal(
      'account_blocked',
      'The account of the customer is closed, and gets no more IBANs and wallets. Use another customer.',
    )
}
