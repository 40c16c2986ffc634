/** The meanings of a bank's reason codes and statuses. */
import type { ErrorKey } from '@partner-payments/wire'

// The reason codes of ISO 20022 that SEPA banks use in status reports (ExternalStatusReason1Code), returns
// (ExternalReturnReason1Code), recalls (ExternalCancellationReason1Code) and their answers
// (ExternalPaymentCancellationRejection1Code). `npm run docs` makes a page of this table.

/**
 * The error key and a sentence for partners. `retry`: a refused instant payment may be sent as a credit transfer.
 * `duplicate`: the bank already has the payment and does not say whether it executes the first submission.
 */
type ReasonRow = readonly [errorKey: ErrorKey, details: string, more?: 'retry' | 'duplicate']

/** The accounts, names and addresses of payer and recipient. */
const parties = {
  AC01: ['InvalidAccountDetails', 'The account number of the recipient is wrong.'],
  AC02: ['BankRejection', 'The bank does not accept the account of the payer.'],
  AC03: ['InvalidAccountDetails', 'The account number of the recipient is wrong.'],
  AC04: ['InvalidAccountDetails', 'The account of the recipient is closed.'],
  AC05: ['BankRejection', 'The account of the payer is closed.'],
  AC06: ['RecipientBlocked', 'The account of the recipient is blocked.'],
  AC07: ['InvalidAccountDetails', 'The account of the recipient is closed.'],
  AC08: ['InvalidAccountDetails', 'The branch of the bank of the recipient is wrong.'],
  AC09: ['CurrencyNotAccepted', 'The account does not take the currency of the payment.'],
  AC10: ['CurrencyNotAccepted', 'The account of the payer has another currency.'],
  AC11: ['CurrencyNotAccepted', 'The account of the recipient does not take the currency of the payment.'],
  AC12: ['InvalidAccountDetails', 'The type of the account does not permit the payment.'],
  AC13: ['BankRejection', 'The type of the account of the payer does not permit the payment.'],
  AC14: ['InvalidAccountDetails', 'The type of the account of the recipient does not permit the payment.'],
  AC15: ['InvalidAccountDetails', 'The recipient has another account now.'],
  AC16: ['InvalidAccountDetails', 'The card number of the recipient is wrong.'],
  BE01: ['InvalidAccountDetails', 'The name of the recipient does not belong to the account.'],
  BE04: ['InvalidAccountDetails', 'The address of the recipient is missing or wrong.'],
  BE05: ['BankRejection', 'The bank does not know the party that sent the payment.'],
  BE06: ['InvalidAccountDetails', 'The bank of the recipient does not know the recipient.'],
  BE07: ['BankRejection', 'The address of the payer is missing or wrong.'],
  BE08: ['BankRejection', 'The name of the payer is missing, or a bank made a mistake.'],
  BE09: ['InvalidAccountDetails', 'The country of a party is missing or wrong.'],
  BE10: ['BankRejection', 'The country of the payer is missing or wrong.'],
  BE11: ['InvalidAccountDetails', 'The country of the recipient is missing or wrong.'],
  BE12: ['InvalidAccountDetails', 'The country of residence of a party is missing or wrong.'],
  BE13: ['BankRejection', 'The country of residence of the payer is missing or wrong.'],
  BE14: ['InvalidAccountDetails', 'The country of residence of the recipient is missing or wrong.'],
  BE15: ['InvalidAccountDetails', 'The identification of a party is missing or wrong.'],
  BE16: ['BankRejection', 'The identification of the payer is missing or wrong.'],
  BE17: ['InvalidAccountDetails', 'The identification of the recipient is missing or wrong.'],
  BE18: ['InvalidAccountDetails', 'The contact details of a party are missing or wrong.'],
  BE19: ['BankRejection', 'The bank does not accept the charge bearer of the payment.'],
  BE20: ['InvalidAccountDetails', 'A name is too long for the bank.'],
  BE21: ['InvalidAccountDetails', 'A name is missing or wrong.'],
  BE22: ['InvalidAccountDetails', 'The name of the recipient is missing.'],
  BE23: ['InvalidAccountDetails', 'The bank does not know the phone number or email address of the recipient.'],
  MD07: ['RecipientBlocked', 'The recipient is deceased.'],
  RC01: ['InvalidAccountDetails', 'The identifier of a bank has a wrong format.'],
  RC02: ['InvalidAccountDetails', 'The identifier of a bank is missing or wrong.'],
  RC03: ['BankRejection', 'The identifier of the bank of the payer is missing or wrong.'],
  RC04: ['InvalidAccountDetails', 'The identifier of the bank of the recipient is missing or wrong.'],
  RC05: ['InvalidAccountDetails', 'The BIC of a bank is missing or wrong.'],
  RC06: ['BankRejection', 'The BIC of the bank of the payer is missing or wrong.'],
  RC07: ['InvalidAccountDetails', 'The BIC of the bank of the recipient is missing or wrong.'],
  RC08: ['InvalidAccountDetails', 'The clearing number of a bank is missing or wrong.'],
  RC09: ['BankRejection', 'The clearing number of the bank of the payer is missing or wrong.'],
  RC10: ['InvalidAccountDetails', 'The clearing number of the bank of the recipient is missing or wrong.'],
  RC11: ['BankRejection', 'A bank between the two banks is missing or wrong.'],
  RC12: ['BankRejection', 'The identifier of the creditor in its scheme is missing or wrong.'],
  UCRD: ['InvalidAccountDetails', 'The bank does not know the recipient.'],
} as const satisfies Record<string, ReasonRow>

/** The amount, its currency, and the two schemes. */
const amounts = {
  AM01: ['BankRejection', 'The amount of the payment is zero.'],
  AM02: ['BankRejection', 'The amount is larger than the bank permits.', 'retry'],
  AM03: ['CurrencyNotAccepted', 'The bank does not process the currency of the payment.'],
  AM04: ['BankRejection', 'The account does not have enough money for the payment.'],
  AM05: ['BankRejection', 'The bank considers the payment a duplicate.', 'duplicate'],
  AM06: ['BankRejection', 'The amount is smaller than the bank permits.'],
  AM07: ['BankRejection', 'An authority has blocked the amount.'],
  AM09: ['BankRejection', 'The amount is not the agreed amount.'],
  AM10: ['BankRejection', 'The sum of the payments differs from the control sum of the file.'],
  AM11: ['CurrencyNotAccepted', 'The currency of the payment is missing or wrong.'],
  AM12: ['BankRejection', 'The amount is missing or wrong.'],
  AM13: ['BankRejection', 'The amount is larger than the clearing system permits.', 'retry'],
  AM14: ['BankRejection', 'The amount is larger than the limit agreed with the bank.', 'retry'],
  AM15: ['BankRejection', 'The amount is smaller than the clearing system permits.'],
  AM16: ['BankRejection', 'The control sum of the file is wrong.'],
  AM17: ['BankRejection', 'The control sum of the batch is wrong.'],
  AM18: ['BankRejection', 'The number of payments is missing or wrong.'],
  AM19: ['BankRejection', 'The number of payments of the file is wrong.'],
  AM20: ['BankRejection', 'The number of payments of the batch is wrong.'],
  AM21: ['BankRejection', 'The amount is larger than the limit agreed with the bank.', 'retry'],
  AM22: ['BankRejection', 'The bank cannot book an amount of zero.'],
  AM23: ['BankRejection', 'The amount is larger than the limit for settlement.', 'retry'],
  CURR: ['CurrencyNotAccepted', 'The currency of the payment is wrong.'],
  AG01: ['RecipientBlocked', 'The account of the recipient does not permit this kind of payment.'],
  AG02: ['BankRejection', 'The bank does not accept the kind of the payment.', 'retry'],
  AG03: ['BankRejection', 'The account of the recipient does not support this kind of payment.', 'retry'],
  AG04: ['InvalidAccountDetails', 'The country of a bank is missing or wrong.'],
  AG05: ['BankRejection', 'The country of the bank of the payer is missing or wrong.'],
  AG06: ['InvalidAccountDetails', 'The country of the bank of the recipient is missing or wrong.'],
  AG07: ['BankRejection', 'The account of the payer cannot be debited.'],
  AG08: ['BankRejection', 'The bank does not authorise the payment.'],
  AG09: ['BankRejection', 'The bank of the recipient did not receive the payment.'],
  AG10: ['BankUnreachable', 'A bank of the payment is suspended from the clearing system.', 'retry'],
  AG11: ['BankUnreachable', 'The bank of the recipient is suspended from the clearing system.', 'retry'],
  AG12: ['BankRejection', 'The bank does not permit payments between accounts of the same bank.'],
  AG13: ['BankRejection', 'A returned payment cannot be returned again.'],
  AGNT: ['InvalidAccountDetails', 'A bank of the payment is wrong.'],
} as const satisfies Record<string, ReasonRow>

/** Time limits and availability. A refusal is final: the payment was not executed. */
const availability = {
  AB01: ['BankUnreachable', 'The clearing system did not answer in time.', 'retry'],
  AB02: ['BankUnreachable', 'The clearing system failed.', 'retry'],
  AB03: ['BankUnreachable', 'The settlement system did not answer in time.', 'retry'],
  AB04: ['BankUnreachable', 'The settlement system failed.', 'retry'],
  AB05: ['BankUnreachable', 'The bank of the recipient did not answer in time.', 'retry'],
  AB06: ['BankUnreachable', 'A bank of the payment did not answer in time.', 'retry'],
  AB07: ['BankUnreachable', 'A bank of the payment is offline.', 'retry'],
  AB08: ['BankUnreachable', 'The bank of the recipient is offline.', 'retry'],
  AB09: ['BankUnreachable', 'The bank of the recipient has a technical fault.', 'retry'],
  AB10: ['BankUnreachable', 'A bank of the payment has a technical fault.', 'retry'],
  AB11: ['BankUnreachable', 'The bank of the payer did not answer in time.', 'retry'],
  CNOR: ['BankUnreachable', 'The bank of the recipient does not take part in the payment scheme.', 'retry'],
  DNOR: ['BankUnreachable', 'The bank of the payer does not take part in the payment scheme.', 'retry'],
  ED01: ['BankUnreachable', 'No bank can forward the payment.'],
  ED03: ['BankRejection', 'The bank asks for information about the payment.'],
  ED05: ['BankUnreachable', 'The settlement between the banks failed.', 'retry'],
  ED06: ['BankUnreachable', 'The settlement system between the banks is not available.', 'retry'],
  FF10: ['BankUnreachable', 'The bank has a technical fault.', 'retry'],
  FF11: ['BankUnreachable', 'The clearing system ended the processing of the payment.', 'retry'],
  TECH: ['BankRejection', 'The payment was caused by a technical error.'],
  TM01: ['BankUnreachable', 'The payment was submitted after the cut-off time of the bank.', 'retry'],
  DT01: ['BankRejection', 'The date of the payment is wrong.'],
  DT02: ['BankRejection', 'The creation date of the file is wrong.'],
  DT03: ['BankRejection', 'The bank is closed on the date of the payment.'],
  DT04: ['BankRejection', 'The bank does not take payments for a later date.'],
  DT05: ['BankRejection', 'The date of the payment has passed.'],
  DT06: ['BankRejection', 'The bank has moved the payment to another date.'],
  CH03: ['BankRejection', 'The date of the payment is too far in the future.'],
  CH04: ['BankRejection', 'The date of the payment is too far in the past.'],
  CH19: ['BankRejection', 'The bank moves the payment to the next business day.'],
} as const satisfies Record<string, ReasonRow>

const paymentReasons: Readonly<Record<string, ReasonRow>> = { ...parties, ...amounts, ...availability }

/** The format of the message. A bank may refuse an instant payment because of its service level or local instrument. */
const forms = {
  CERI: ['BankRejection', 'The remittance information is not allowed for this kind of payment.'],
  CH07: ['BankRejection', 'The payment has a field in a place where the bank does not permit it.'],
  CH09: ['BankRejection', 'The bank does not permit changes of the mandate.'],
  CH10: ['BankRejection', 'The information about changes of the mandate is missing.'],
  CH11: ['BankRejection', 'The identifier of the creditor is wrong.'],
  CH12: ['BankRejection', 'The identifier of the creditor is ambiguous.'],
  CH13: ['BankRejection', 'The bank does not permit the original account of the payer.'],
  CH14: ['BankRejection', 'The bank does not permit the original bank of the payer.'],
  CH15: ['BankRejection', 'The remittance information is longer than 140 characters.'],
  CH16: ['BankRejection', 'The content of a field has a wrong format.'],
  CH17: ['BankRejection', 'The payment has a field that the bank does not permit.'],
  CH20: ['BankRejection', 'The amount has more decimals than its currency.'],
  CH21: ['BankRejection', 'A mandatory field of the payment is missing.'],
  CH22: ['BankRejection', 'The file has payments of different schemes.'],
  ERIN: ['BankRejection', 'The bank does not support extended remittance information.'],
  FF01: ['BankRejection', 'The bank cannot read the file with the payment.'],
  FF02: ['BankRejection', 'The file with the payment has a syntax error.'],
  FF03: ['BankRejection', 'The type of the payment is missing or wrong.', 'retry'],
  FF04: ['BankRejection', 'The service level of the payment is missing or wrong.', 'retry'],
  FF05: ['BankRejection', 'The local instrument of the payment is missing or wrong.', 'retry'],
  FF06: ['BankRejection', 'The category purpose of the payment is missing or wrong.'],
  FF07: ['BankRejection', 'The purpose of the payment is missing or wrong.'],
  FF08: ['BankRejection', 'The end-to-end id of the payment is missing or wrong.'],
  FF09: ['BankRejection', 'The cheque number is missing or wrong.'],
  NERI: ['BankRejection', 'The extended remittance information is missing.'],
  RF01: ['BankRejection', 'The reference of the payment is not unique.', 'duplicate'],
  RR01: ['BankRejection', 'The account or identification of the payer does not satisfy the regulation.'],
  RR02: ['BankRejection', 'The name or address of the payer does not satisfy the regulation.'],
  RR03: ['InvalidAccountDetails', 'The name or address of the recipient does not satisfy the regulation.'],
  RR04: ['RecipientBlocked', 'A regulation forbids the payment.'],
  RR05: ['BankRejection', 'The information for the central bank is missing or wrong.'],
  RR06: ['BankRejection', 'The tax information is missing or wrong.'],
  RR07: ['BankRejection', 'The remittance information has a format that the bank does not permit.'],
  RR08: ['BankRejection', 'The bank has shortened the remittance information.'],
  RR09: ['BankRejection', 'The creditor reference is missing or wrong.'],
  RR10: ['BankRejection', 'The payment has characters that the bank does not permit.'],
  RR11: ['BankRejection', 'The identification of a service of the bank is missing or wrong.'],
  RR12: ['InvalidAccountDetails', 'The identification of a party is missing or wrong.'],
  DU01: ['BankRejection', 'The bank has already received a file with the same id.', 'duplicate'],
  DU02: ['BankRejection', 'The bank has already received a batch with the same id.', 'duplicate'],
  DU03: ['BankRejection', 'The bank has already received the same payment.', 'duplicate'],
  DU04: ['BankRejection', 'The bank has already received a payment with the same end-to-end id.', 'duplicate'],
  DU05: ['BankRejection', 'The bank has already received a payment with the same instruction id.', 'duplicate'],
  TD01: ['BankRejection', 'The bank has no data for the request.'],
  TD02: ['BankRejection', 'The bank cannot read the file with the payment.'],
  TD03: ['BankRejection', 'The structure of the file with the payment is wrong.'],
} as const satisfies Record<string, ReasonRow>

/** Signatures and EBICS transmission: faults of the operator's set-up, not of the payment. */
const signatures = {
  DS02: ['BankRejection', 'A user of the operator cancelled the file with the payment.'],
  DS03: ['BankRejection', 'The file with the payment could not be cancelled.'],
  DS04: ['BankRejection', 'The bank refused the file with the payment.'],
  DS08: ['BankRejection', 'The bank could not decompress the file with the payment.'],
  DS09: ['BankRejection', 'The bank could not decrypt the file with the payment.'],
  DS0A: ['BankRejection', 'The file with the payment has no signature.'],
  DS0B: ['BankRejection', 'The signature of the file has an unknown format.'],
  DS0C: ['BankRejection', 'The certificate of the signer is revoked.'],
  DS0D: ['BankRejection', 'The certificate of the signer is not valid.'],
  DS0E: ['BankRejection', 'The certificate of the signer is missing.'],
  DS0F: ['BankRejection', 'The bank does not know the authority of the certificate of the signer.'],
  DS0G: ['BankRejection', 'The signer may not sign payments.'],
  DS0H: ['BankRejection', 'The signer may not sign for the account.'],
  DS0K: ['BankRejection', 'The file has more payments than the signer may sign.'],
  DS10: ['BankRejection', 'The certificate of the first signer is revoked.'],
  DS11: ['BankRejection', 'The certificate of the first signer is not valid.'],
  DS12: ['BankRejection', 'The certificate of the first signer is missing.'],
  DS13: ['BankRejection', 'The bank does not know the authority of the certificate of the first signer.'],
  DS14: ['BankRejection', 'The bank does not know the user who sent the file.'],
  DS15: ['BankRejection', 'The bank has already received the same signature.'],
  DS16: ['BankRejection', 'The version of the public key is wrong.'],
  DS17: ['BankRejection', 'The signatures do not belong to the file with the payment.'],
  DS18: ['BankRejection', 'The bank could not check the file and asks for it again.'],
  DS19: ['BankRejection', 'The rights of the signer are not sufficient.'],
  DS20: ['BankRejection', 'The certificate of the second signer is revoked.'],
  DS21: ['BankRejection', 'The certificate of the second signer is not valid.'],
  DS22: ['BankRejection', 'The certificate of the second signer is missing.'],
  DS23: ['BankRejection', 'The bank does not know the authority of the certificate of the second signer.'],
  DS24: ['BankRejection', 'The file with the payment was not signed in time.'],
  DS25: ['BankRejection', 'The bank deleted the file with the payment.'],
  DS26: ['BankRejection', 'The same user signed the file more than once.'],
  DS27: ['BankRejection', 'The user who sent the file is not activated.'],
  ID01: ['BankRejection', 'The bank received a signature without the file with the payment.'],
  TA01: ['BankRejection', 'The transmission of the file with the payment was aborted.'],
} as const satisfies Record<string, ReasonRow>

/** Decisions of people and banks, recalls and their refusals, and returns. */
const decisions = {
  ARDT: ['BankRejection', 'The payment has already been returned.'],
  CN01: ['BankRejection', 'The authorisation of the payment is cancelled.'],
  CUST: ['BankRejection', 'The customer requested it.'],
  DUPL: ['BankRejection', 'The payment is a duplicate of another one.'],
  FOCR: ['BankRejection', 'The payment was returned because it was recalled.'],
  FR01: ['RecipientBlocked', 'The bank suspects fraud.'],
  FRAD: ['RecipientBlocked', 'The payment is reported as fraud.'],
  INDM: ['BankRejection', 'The bank of the recipient asks for an indemnity before it returns the money.'],
  LEGL: ['RecipientBlocked', 'A court or an authority ordered it.'],
  MD01: ['BankRejection', 'There is no mandate for the payment.'],
  MD02: ['BankRejection', 'The mandate of the payment is not complete.'],
  MD05: ['BankRejection', 'The payment was not due.'],
  MD06: ['BankRejection', 'The customer asked for the money back.'],
  MS02: ['BankRejection', 'The recipient refused the payment and gave no reason.'],
  MS03: ['BankRejection', 'A bank refused the payment and gave no reason.'],
  NARR: ['BankRejection', 'The bank refused the payment and gave a reason as text.'],
  NOAS: ['BankRejection', 'The recipient did not answer.'],
  NOCM: ['BankRejection', 'The account does not satisfy the rules of the bank.'],
  NOOR: ['BankRejection', 'The bank of the recipient did not receive the payment.'],
  PTNA: ['BankRejection', 'The request was passed to the next bank.'],
  RCON: ['BankRejection', 'The payment was recalled or returned in another message.'],
  RUTA: ['InvalidAccountDetails', 'The bank of the recipient cannot apply the payment.'],
  SL01: ['BankRejection', 'A service of the bank of the payer refused the payment.'],
  SL02: ['BankRejection', 'A service of the bank of the recipient refused the payment.'],
  SL03: ['BankRejection', 'A service of the clearing system refused the payment.'],
  SL11: ['RecipientBlocked', 'The recipient is not on the list of permitted recipients.'],
  SL12: ['RecipientBlocked', 'The recipient is on the list of blocked recipients.'],
  SL13: ['BankRejection', 'The number of payments is larger than the payer permits.'],
  SL14: ['BankRejection', 'The amount is larger than the payer permits.'],
  SVNR: ['BankRejection', 'The service for which the payment was made was not rendered.'],
  UPAY: ['BankRejection', 'The payment was not due.'],
} as const satisfies Record<string, ReasonRow>

const messageReasons: Readonly<Record<string, ReasonRow>> = { ...forms, ...signatures, ...decisions }

type BankReason = {
  readonly errorKey: ErrorKey
  /** A sentence for the partner. */
  readonly details: string
  /** True if a refused instant payment may be sent as a credit transfer. */
  readonly retryAsCreditTransfer: boolean
  /**
   * True if the bank refuses a duplicate. The bank may still execute the first submission, so the payment stays open.
   */
  readonly isDuplicate: boolean
}

export const bankReasons: Readonly<Record<string, ReasonRow>> = { ...paymentReasons, ...messageReasons }
const unlistedReason: ReasonRow = ['BankRejection', 'The bank refused the payment.']

/** Explains a reason code. An unlisted or proprietary code is a rejection by the bank. */
export function explainReason(code: string): BankReason {
  const [errorKey, details, more] = (Object.hasOwn(bankReasons, code) ? bankReasons[code] : undefined) ?? unlistedReason
  return { errorKey, details, retryAsCreditTransfer: more === 'retry', isDuplicate: more === 'duplicate' }
}

// The statuses of pain.002 in versions 03 to 14: those of the schemas of 2009, ExternalPaymentTransactionStatus1Code and
// ExternalPaymentGroupStatus1Code.

/** The result of a bank's verification of payee. `unchecked`: the payee's bank did not return a result. */
export type PayeeResult = 'match' | 'close_match' | 'no_match' | 'unchecked'

/**
 * `accepted`: the bank has not refused the payment. `settled`, `rejected`: the payment has ended. `blocked`: the bank
 * neither executes nor returns it. `part`: says nothing about payments that are not named. `checked`: a payee check.
 */
export type StatusMeaning = 'accepted' | 'settled' | 'rejected' | 'blocked' | 'part' | 'checked'
type BankStatus = {
  readonly meaning: StatusMeaning
  /** True if no other status follows. */
  readonly isFinal: boolean
  /** A sentence for operators. */
  readonly text: string
  readonly payee?: PayeeResult
}

const accepted = (text: string): BankStatus => ({ meaning: 'accepted', isFinal: false, text })
const ended = (meaning: 'settled' | 'rejected', text: string): BankStatus => ({ meaning, isFinal: true, text })
const part = (text: string): BankStatus => ({ meaning: 'part', isFinal: false, text })
const checked = (payee: PayeeResult, text: string): BankStatus => ({ meaning: 'checked', isFinal: false, payee, text })

export const bankStatuses: Readonly<Record<string, BankStatus>> = {
  RCVD: accepted('The bank has received it.'),
  PDNG: accepted('The bank is still checking it.'),
  PATC: accepted('The bank waits for further signatures.'),
  ACTC: accepted('Its format is valid.'),
  ACCP: accepted('The customer checks have succeeded.'),
  ACFC: accepted('The checks have succeeded, and the account has the money.'),
  ACWC: accepted('The bank executes it with a change.'),
  ACSP: accepted('The bank executes it.'),
  ACPD: accepted('The clearing has accepted it.'),
  ACWP: accepted('The bank of the recipient has it and has not credited it yet.'),
  ACIS: accepted('The bank has issued a cheque for it.'),
  PRES: accepted('It was presented to the payer.'),
  ACSC: ended('settled', 'The account of the payer is debited.'),
  ACCC: ended('settled', 'The account of the recipient is credited.'),
  CPUC: ended('settled', 'The recipient has collected the money.'),
  RJCT: ended('rejected', 'The bank has refused it.'),
  CANC: ended('rejected', 'It was cancelled before its execution.'),
  BLCK: { meaning: 'blocked', isFinal: true, text: 'It is blocked: neither credited to the recipient nor returned.' },
  PART: part('The bank has accepted a part.'),
  RVCM: part('The payees are checked, and some do not match.'),
  RVNC: part('The payees are still being checked.'),
  RCVC: checked('match', 'The name and the account of the payee match.'),
  RVMC: checked('close_match', 'The name of the payee is similar to that of the account.'),
  RVNM: checked('no_match', 'The name of the payee does not match the account.'),
  RVNA: checked('unchecked', 'The bank of the payee could not check the name.'),
}

/** Finds a status; undefined if the code is unknown. */
export const findStatus = (code: string): BankStatus | undefined =>
  Object.hasOwn(bankStatuses, code) ? bankStatuses[code] : undefined
