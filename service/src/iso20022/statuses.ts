/**
 * The statuses of pain.002 in versions 03 to 14: those of its schemas of 2009, and ExternalPaymentTransactionStatus1Code and
 * ExternalPaymentGroupStatus1Code, which later versions refer to.
 */

/** The result of a bank's verification of the payee. `unchecked`: the bank of the payee gave no result. */
export type PayeeResult = 'match' | 'close_match' | 'no_match' | 'unchecked'

/**
 * `accepted`: the bank has the payment and has not refused it. `settled`, `rejected`: its end. `blocked`: the bank neither pays
 * it nor gives the money back. `part`: says nothing about payments that are not named. `checked`: the result for the payee.
 */
export type StatusMeaning = 'accepted' | 'settled' | 'rejected' | 'blocked' | 'part' | 'checked'
export type BankStatus = {
  readonly meaning: StatusMeaning
  /** True if the bank says no other status after it. */
  readonly isFinal: boolean
  /** A sentence for operators. */
  readonly text: string
  readonly payee?: PayeeResult
}

const accepted = (text: string): BankStatus => ({ meaning: 'accepted', isFinal: false, text })
const ended = (meaning: 'settled' | 'rejected', text: string): BankStatus => ({ meaning, isFinal: true, text })
const part = (text: string): BankStatus => ({ meaning: 'part', isFinal: false, text })
const checked = (payee: PayeeResult, text: string): BankStatus => ({ meaning: 'checked', isFinal: false, payee, text })

export const statuses: Readonly<Record<string, BankStatus>> = {
  RCVD: accepted('The bank has received it.'),
  PDNG: accepted('The bank checks it further.'),
  PATC: accepted('The bank waits for further signatures.'),
  ACTC: accepted('Its form is right.'),
  ACCP: accepted('The checks of the customer have succeeded.'),
  ACFC: accepted('The checks have succeeded, and the account has the money.'),
  ACWC: accepted('The bank executes it with a change.'),
  ACSP: accepted('The bank executes it.'),
  ACPD: accepted('The clearing has accepted it.'),
  ACWP: accepted('The bank of the recipient has it and has not credited it.'),
  ACIS: accepted('The bank has issued a cheque for it.'),
  PRES: accepted('It was presented to the payer.'),
  ACSC: ended('settled', 'The account of the payer is debited.'),
  ACCC: ended('settled', 'The account of the recipient is credited.'),
  CPUC: ended('settled', 'The recipient has collected the money.'),
  RJCT: ended('rejected', 'The bank has refused it.'),
  CANC: ended('rejected', 'It was cancelled before its execution.'),
  BLCK: { meaning: 'blocked', isFinal: true, text: 'It is blocked: neither credited to the recipient nor given back.' },
  PART: part('The bank has accepted a part.'),
  RVCM: part('The payees are checked, and some do not match.'),
  RVNC: part('The check of the payees has not ended.'),
  RCVC: checked('match', 'The name and the account of the payee match.'),
  RVMC: checked('close_match', 'The name of the payee is similar to that of the account.'),
  RVNM: checked('no_match', 'The name of the payee is not that of the account.'),
  RVNA: checked('unchecked', 'The bank of the payee could not check the name.'),
}

/** Undefined: the code is in no list that is known. */
export const statusOf = (code: string): BankStatus | undefined =>
  Object.hasOwn(statuses, code) ? statuses[code] : undefined
