/** Pure: what a customer may do in each state of its verification, and why not. */
import { Refusal } from '../../api/index.ts'
import { type Capability, capabilities, type VerificationState } from '@partner-payments/wire'

/** `opensAccounts`: gets IBANs and wallets. `receives`: its deposits are credited. `pays`: payouts are made for it. */
export type Gate = { readonly opensAccounts: boolean; readonly receives: boolean; readonly pays: boolean }

/** `open`: everybody may do everything. `strict`: only a complete customer. */
export type GateDefault = 'open' | 'strict'

const openGate: Gate = { opensAccounts: true, receives: true, pays: true }
const closedGate: Gate = { opensAccounts: false, receives: false, pays: false }

export const defaultGate = (kind: GateDefault, state: VerificationState): Gate =>
  kind === 'open' || state === 'Complete' ? openGate : closedGate

const memberOf = { OpenAccount: 'opensAccounts', Receive: 'receives', Pay: 'pays' } as const satisfies Record<
  Capability,
  keyof Gate
>

export const isAllowed = (gate: Gate, capability: Capability): boolean => gate[memberOf[capability]]
export const allowedBy = (gate: Gate): readonly Capability[] => capabilities.filter((each) => isAllowed(gate, each))
export const gateOf = (allowed: readonly Capability[]): Gate => ({
  opensAccounts: allowed.includes('OpenAccount'),
  receives: allowed.includes('Receive'),
  pays: allowed.includes('Pay'),
})

/** KYC that was not judged yet, or that cannot be read, counts as incomplete. */
export const judgedState = (state: VerificationState | null): VerificationState => state ?? 'Incomplete'

const doing: Readonly<Record<Capability, string>> = {
  OpenAccount: 'open an account',
  Receive: 'receive money',
  Pay: 'make payouts',
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
