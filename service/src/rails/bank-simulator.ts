/** The interface of the simulated bank, as simulations and the checkout page of a sandbox drive it. */
import type { DepositOutcome } from '@partner-payments/wire'
import type { Tx } from '../postgres/index.ts'
import type { Credit, IncomingDebtor, InstructionKey, Money } from './port.ts'

/** A step of a payment that a payer makes at the bank, which the bank reports. */
export type BankStep = 'initiate' | 'submit' | 'accept' | 'settle' | 'fail'

export type PayerFacts = {
  readonly name: string
  readonly ipAddress: string
  /** Country of the bank. */
  readonly countryCode: string
  readonly money: Money
}

export type BankSimulator = {
  /** The bank's delay between two steps. */
  readonly stepMs: number
  /** The countries whose banks a payer can choose. */
  readonly countries: readonly string[]
  /** An account under the payer's name, at the bank of the country. */
  readonly debtorOf: (payer: Pick<PayerFacts, 'name' | 'countryCode'>) => IncomingDebtor
  /** Schedules the notifications of a simulated deposit, in the transaction that opens it. */
  readonly scheduleDeposit: (
    tx: Tx,
    deposit: InstructionKey & { readonly money: Money; readonly outcome: DepositOutcome },
  ) => Promise<void>
  /**
   * Schedules the notifications of a payer's steps, the first one due at once, in the transaction that records the
   * payer's action.
   */
  readonly scheduleSteps: (tx: Tx, deposit: InstructionKey, steps: readonly BankStep[], payer: PayerFacts) => void
  /** Money arrives on an account at this bank. `creditId`: the bank's id of it, a UUID. It reports the credit one step later. */
  readonly sendCredit: (tx: Tx, partnerId: string, creditId: string, credit: Credit) => void
  /** The bank takes a credit back. */
  readonly reverseCredit: (
    tx: Tx,
    partnerId: string,
    creditId: string,
    reversed: { readonly money: Money; readonly details: string },
  ) => void
}
