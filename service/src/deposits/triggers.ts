/** The triggers of deposits. */
import type { BankNotification, Credit } from '../rails/index.ts'

export type DepositNotification = Extract<BankNotification, { readonly kind: `deposit.${string}` }>
/** Triggers that change the status of a deposit. Expired times and decisions are triggers that no connector reports. */
export type DepositTrigger =
  | (DepositNotification & { readonly connector: string })
  | CreditOfDeposit
  | Reversed
  | Expiry
  | Decided
/** A credit that names the deposit. `id`: of the notification; `subjectId`: of the deposit. */
export type CreditOfDeposit = Pick<Credit, 'money' | 'debtor' | 'transactionHash'> & {
  readonly kind: 'credit'
  readonly connector: string
  readonly partnerId: string
  readonly id: string
  readonly subjectId: string
  readonly creditId: string
  /** Account, remittance and reference of a credit, for the case of a credit that the account refuses. */
  readonly origin: { readonly account: string; readonly remittance: string | null; readonly endToEndId: string | null }
  /** An operator has decided about the owner: a block does not stop it. */
  readonly isDecided: boolean
}
/** The bank takes back the money of a deposit that waits for a decision about a name. */
export type Reversed = {
  readonly kind: 'reversed'
  readonly connector: string
  readonly partnerId: string
  /** Id of the notification. */
  readonly id: string
  /** The deposit. */
  readonly subjectId: string
  readonly details: string
}
/** The time of a deposit has come, or the partner ends it. */
type Expiry = { readonly kind: 'expired' | 'ended'; readonly partnerId: string; readonly subjectId: string }

/** Looks at the decisions about the names of a waiting deposit. If one is `confirmed`, the engine judges it as that. */
export type Decided = { readonly kind: 'cleared'; readonly partnerId: string; readonly subjectId: string }
