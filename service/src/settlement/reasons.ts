/** The reason why a bank refused, rejected or returned a payment, as partners read it. */

type Reason = { readonly details: string; readonly reasonCode: string | null }

/** The details with the bank's code, by which a partner's support can ask the bank: `The account does not exist. (AC01)`. */
export const withCode = <T extends Reason>(reason: T): T =>
  reason.reasonCode === null ? reason : { ...reason, details: `${reason.details} (${reason.reasonCode})` }
