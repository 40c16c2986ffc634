/** Gates: what customers of a partner may do in each state, set by its operator; and the capabilities of one customer. */
import {
  type Capability,
  type CapabilityReason,
  capabilities,
  type VerificationState,
  verificationStates,
} from '@partner-payments/wire'
import { notFound } from '../../api/index.ts'
import type { Clock } from '../../kernel/index.ts'
import { type AccountState, blocksInbound, blocksOutbound } from '../../ledger/index.ts'
import type { Tx } from '../../postgres/index.ts'
import {
  allowedBy,
  defaultGate,
  type Gate,
  type GateDefault,
  gateOf,
  isAllowed,
  judgedState,
  notVerified,
} from './gate-rules.ts'
import type { PayerRow } from './store.ts'
import * as store from './store-gates.ts'

/** `isDefault`: the partner has no gate of its own for the state. */
export type GateView = {
  readonly verificationState: VerificationState
  readonly allowed: readonly Capability[]
  readonly isDefault: boolean
}

/** The gates of partners. They hold from the next payment on; what was accepted before goes its way. */
export type Gates = {
  readonly set: (
    tx: Tx,
    gate: { readonly partnerId: string; readonly state: VerificationState; readonly allowed: readonly Capability[] },
  ) => Promise<GateView>
  /** Every state, with what it allows. */
  readonly list: (tx: Tx, partnerId: string) => Promise<readonly GateView[]>
  /** The state has the default again. Refuses: not_found. */
  readonly remove: (tx: Tx, partnerId: string, state: VerificationState) => Promise<GateView>
}

export function createGates({ clock, byDefault }: { readonly clock: Clock; readonly byDefault: GateDefault }): Gates {
  const view = (verificationState: VerificationState, gate: Gate | undefined): GateView => ({
    verificationState,
    allowed: allowedBy(gate ?? defaultGate(byDefault, verificationState)),
    isDefault: gate === undefined,
  })
  return {
    set: async (tx, { partnerId, state, allowed }) => {
      const row = { verificationState: state, ...gateOf(allowed) }
      await store.setGate(tx, partnerId, row, clock.now())
      return view(state, row)
    },
    list: async (tx, partnerId) => {
      const rows = await store.gatesOf(tx, partnerId)
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

/** The facts by which a customer's capabilities are judged. */
type Standing = {
  readonly gate: Gate
  readonly verificationState: VerificationState
  readonly accountState: AccountState
}

/** A capability of a customer, with every reason why it lacks it. */
export type CapabilityVerdict = { readonly name: Capability; readonly reasons: readonly CapabilityReason[] }

export function capabilitiesOf({ gate, verificationState, accountState }: Standing): readonly CapabilityVerdict[] {
  const isBlockedFor: Readonly<Record<Capability, boolean>> = {
    OpenAccount: accountState === 'Closed',
    Receive: blocksInbound(accountState),
    Pay: blocksOutbound(accountState),
  }
  return capabilities.map((name): CapabilityVerdict => {
    const reasons: CapabilityReason[] = []
    if (!isAllowed(gate, name))
      reasons.push(verificationState === 'Invalid' ? 'verification_invalid' : 'verification_incomplete')
    if (isBlockedFor[name]) reasons.push(accountState === 'Closed' ? 'account_closed' : 'account_blocked')
    return { name, reasons }
  })
}

/** Judges rows of customers by the gate of their state. */
export const createStandings =
  (byDefault: GateDefault) =>
  ({ verificationState: kept, opensAccounts, receives, pays }: Pick<PayerRow, 'verificationState' | keyof Gate>) => {
    const verificationState = judgedState(kept)
    const hasGate = opensAccounts !== null && receives !== null && pays !== null
    return {
      verificationState,
      gate: hasGate ? { opensAccounts, receives, pays } : defaultGate(byDefault, verificationState),
    }
  }

/** Refuses: customer_not_verified. */
export function requireCapability(
  { gate, verificationState }: Pick<Standing, 'gate' | 'verificationState'>,
  capability: Capability,
  pointer?: string,
): void {
  if (!isAllowed(gate, capability)) throw notVerified(verificationState, capability, pointer)
}
