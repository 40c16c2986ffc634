/** Splits an entry of the bank into its payments, each with a key by which other messages are matched. Pure. */
import { hash } from 'node:crypto'
import {
  type AccountId,
  type Amount,
  type BankEntry,
  type EntryBatch,
  type EntryDetail,
  referencesInPayment,
  type ReferenceCandidates,
  type Party,
  type PostalAddress,
  type Remittance,
  type TransactionCodes,
} from '../../iso20022/index.ts'
import { amountText, type Currency, type Minor, sumMinor } from '../../kernel/index.ts'
import type { IncomingDebtor, BankAnomaly } from '../../rails/index.ts'
import { absolute, amountIn, parseAmount } from './accounts.ts'
import type { BankAccount } from './deps.ts'

export type References = {
  readonly bank: string | null
  readonly instruction: string | null
  readonly endToEnd: string | null
  readonly transaction: string | null
  readonly uetr: string | null
  /** The structured reference of the creditor. */
  readonly creditor: string | null
  /** The message that has the details of the entry, according to the bank. */
  readonly detailsIn: string | null
  readonly batches: readonly string[]
  readonly messages: readonly string[]
}

export type Unit = {
  /** The key without the number that distinguishes equal keys of a message. */
  readonly key: string
  /**
   * The key of the whole booking, if the unit is one of several payments. Messages that do not list the payments use
   * this key.
   */
  readonly whole: string | null
  readonly booking: string | null
  /** True if the entry does not list its payments. */
  readonly isSum: boolean
  readonly account: BankAccount
  /** Negative for a debit. */
  readonly amount: Minor
  readonly bookedOn: string
  readonly valueOn: string | null
  readonly isReversal: boolean
  readonly isFee: boolean
  readonly isReturn: boolean
  readonly payments: number
  readonly codes: string
  readonly references: References
  readonly counterparty: Counterparty
  /** The credited account of a credit. */
  readonly creditedAccount: string
  readonly remittance: string | null
  /** The creditor references that a credit may name. */
  readonly creditorReferences: ReferenceCandidates
  readonly returned: { readonly code: string | null; readonly text: string } | null
  /** The charges that the bank deducted, and the rest of its text. */
  readonly information: string | null
}

/** A unit with its place in the message. */
export type Booking = {
  readonly unit: Unit
  /** The key with the number that distinguishes equal keys. */
  readonly key: string
  readonly whole: string | null
  /** The key, then that of the previous version. */
  readonly keys: readonly string[]
  readonly wholes: readonly string[]
  readonly position: number
  /** Set for a camt.053. */
  readonly statementId: string | null
}

export type EntryUnits = {
  readonly units: readonly Unit[]
  readonly oddity?: { readonly what: BankAnomaly; readonly text: string }
}

type EntryContext = {
  readonly entry: BankEntry
  readonly account: BankAccount
  readonly minor: Minor
  readonly bookedOn: string
}

/**
 * Splits a booked entry into units. `today`: the date of an entry without a date. `implied`: the amount computed from
 * the balances, when the entry's own amount is unreadable; negative for a debit.
 */
export function splitIntoUnits(entry: BankEntry, account: BankAccount, today: string, implied?: Minor): EntryUnits {
  if (isInForeignCurrency(entry, account)) {
    const { currency } = entry.amount
    const text = `An entry of ${account.iban} is in ${currency}, and the account in ${account.currency}.`
    return { units: [], oddity: { what: 'foreign_currency', text } }
  }
  const bookedOn = entry.bookingDate ?? entry.valueDate ?? today
  const minor = amountIn(entry.amount, account.currency)
  if (entry.problem !== undefined || minor === undefined) {
    const [amount, isCredit] =
      minor !== undefined || implied === undefined ? [minor, entry.isCredit] : [absolute(implied), implied > 0n]
    return unfoldUnreadable(
      { entry: { ...entry, isCredit }, account, minor: amount ?? 0n, bookedOn },
      amount !== undefined,
    )
  }
  const { details } = entry
  // A booking of zero may be the net of payments in both directions, so that it has no direction.
  const whole = { entry: minor === 0n ? { ...entry, isCredit: true } : entry, account, minor, bookedOn }
  if (minor === 0n && details.every((detail) => !partAmount(whole, detail, anyReading))) return { units: [] }
  if (minor !== 0n && (details.length === 0 || isSummary(entry))) return { units: [sumUnit(whole)] }
  const parts = partUnits(whole)
  if (parts !== undefined) return { units: parts }
  if (minor !== 0n && details.length === 1) return { units: [singleUnit(whole, details[0] as EntryDetail)] }
  const told = amountText(minor, account.currency)
  const text = `The ${details.length} payments of an entry of ${told} ${account.currency} on ${account.iban} do not add up to it.`
  const units = minor === 0n ? [] : [{ ...sumUnit(whole), information: text }]
  return { units, oddity: { what: 'entry_unclear', text } }
}

/** Converts an unreadable entry to a sum whose payments another message may list, or only reports it. */
function unfoldUnreadable(whole: EntryContext, isKnown: boolean): EntryUnits {
  const { entry, account, minor, bookedOn } = whole
  const { bankReference, problem = 'it has no amount' } = entry
  const named = bankReference === undefined ? '' : ` with the reference ${bankReference}`
  const told = isKnown ? ` of ${amountText(minor, account.currency)} ${account.currency}` : ''
  const why = `An entry${told} of ${bookedOn} on ${account.iban}${named} cannot be read: ${problem}.`
  const text =
    isKnown && minor !== 0n
      ? `${why} It waits for a message that lists its payment, and goes to suspense without such a message.`
      : `${why} Its amount is unknown: ask the bank for a corrected message.`
  const units = minor === 0n ? [] : [{ ...sumUnit(whole), information: text }]
  return { units, oddity: { what: 'entry_unclear', text } }
}

/**
 * Reports whether the currency of an entry is not that of the account. An unreadable currency counts as that of the
 * account.
 */
export const isInForeignCurrency = ({ amount: { currency } }: BankEntry, account: BankAccount): boolean =>
  currency !== '' && currency !== account.currency

/** Reports whether the only detail of an entry is a batch: some banks do not list its payments. */
const isSummary = ({ details: [only, ...others], batches }: BankEntry): boolean =>
  others.length === 0 &&
  batches.some(({ count = 1 }) => count > 1) &&
  realReference(only?.references.endToEndId) === null &&
  realReference(only?.references.instructionId) === null

const noReference = /^(?:NOT ?PROVIDED|NO(?:N|T)REF|NOREF|NONE|UNKNOWN|[0-]*)$/i
/** Drops the placeholders that banks write instead of a missing reference. */
const realReference = (reference: string | undefined): string | null =>
  reference === undefined || noReference.test(reference.trim()) ? null : reference.trim()

const digestOf = (...facts: readonly unknown[]): string => hash('sha256', facts.map(String).join('\u001f')).slice(0, 40)

const signed = (minor: Minor, isCredit: boolean): Minor => (isCredit ? minor : -minor)

/** Builds a key from the bank's reference. Banks use one reference for a payment, its reversal and its charges. */
function referenceKey(
  { entry }: EntryContext,
  detail: EntryDetail | undefined,
  reference: string | null,
): string | null {
  if (reference === null) return null
  const fee = isFee(mergeCodes(entry, detail)) ? 'f' : ''
  return `r:${reference}|${entry.isCredit ? '+' : '-'}${entry.isReversal ? 'r' : ''}${fee}`
}

/** Adds the day: banks that number by day reuse a reference on the next day. */
const withDay = (key: string, { bookedOn }: EntryContext): string => `${key}@${bookedOn}`

/** Returns the key as the previous version wrote it, without a day. */
export const withoutDay = (key: string, bookedOn: string): string =>
  key.endsWith(`@${bookedOn}`) ? key.slice(0, -bookedOn.length - 1) : key

/** Builds the further key of a sum whose payments are known. Only the message with the sum has it. */
export const countedKey = (key: string, messageId: string): string => `${key}~${messageId}`

const mergeCodes = (entry: BankEntry, detail: EntryDetail | undefined): TransactionCodes => ({
  ...entry.codes,
  ...detail?.codes,
})

const referenceOf = (entry: BankEntry, detail?: EntryDetail): string | null =>
  realReference(entry.bankReference) ?? realReference(detail?.references.bankReference)

/** Builds a key for a booking without a bank reference. */
const bookingKey = ({ entry: { isCredit, isReversal }, minor, bookedOn }: EntryContext): string =>
  `d:${digestOf(isCredit, isReversal, minor, bookedOn)}`

/** Lists the values that identify a payment. Names are omitted, because messages spell them differently. */
function identifyingFacts(isCredit: boolean, detail: EntryDetail | undefined): readonly unknown[] {
  const { endToEndId, instructionId, transactionId } = detail?.references ?? {}
  const other = accountText(isCredit ? detail?.debtorAccount : detail?.creditorAccount)
  const words =
    remittanceText(detail?.remittance)
      ?.toUpperCase()
      .replace(/[^A-Z0-9]/g, '') ?? ''
  return [realReference(endToEndId), realReference(instructionId), realReference(transactionId), other, words]
}

const accountText = (account: AccountId | undefined): string | null =>
  account === undefined ? null : 'iban' in account ? account.iban.replaceAll(' ', '').toUpperCase() : account.other

function sumUnit(whole: EntryContext): Unit {
  const { entry, minor } = whole
  const [detail] = entry.details.length === 1 ? entry.details : []
  const base = referenceKey(whole, detail, referenceOf(entry, detail))
  const key = base === null ? bookingKey(whole) : withDay(`${base}|${minor}`, whole)
  const count = entry.batches.reduce((sum, batch) => sum + (batch.count ?? 0), 0)
  return {
    ...commonFields(whole, detail, signed(minor, entry.isCredit)),
    key,
    whole: null,
    booking: base ?? bookingKey(whole),
    isSum: true,
    payments: Math.max(1, count),
  }
}

/**
 * Creates the unit of a single payment. Without a bank reference it has a key like one of several payments, because a
 * later message may only report a sum.
 */
function singleUnit(whole: EntryContext, detail: EntryDetail): Unit {
  const { entry, minor } = whole
  const base = referenceKey(whole, detail, referenceOf(entry, detail))
  const amount = signed(minor, entry.isCredit)
  const sum = bookingKey(whole)
  const keys =
    base === null
      ? { key: `${sum}#${partKey(entry, detail)}|${amount}`, whole: sum, booking: sum }
      : { key: withDay(`${base}|${minor}`, whole), whole: null, booking: base }
  return {
    ...commonFields(whole, detail, amount),
    ...keys,
    information: chargesText(whole, detail) ?? readInformation(entry, detail),
  }
}

type AmountSplit = { readonly amounts: readonly Minor[]; readonly rest: Minor }

/**
 * Finds amounts of the payments that add up to the entry exactly, with or without stated charges. A bank may state the
 * amount of a payment as booked, as sent, as its counter value or as instructed.
 */
function splitEntry(whole: EntryContext): AmountSplit | undefined {
  const { entry, minor } = whole
  const total = signed(minor, entry.isCredit)
  let charges: ReadonlySet<Minor> | undefined
  for (const read of readings) {
    const amounts = entry.details.flatMap((detail) => partAmount(whole, detail, read) ?? [])
    if (amounts.length < entry.details.length) continue
    const rest = total - sumMinor(amounts)
    if (rest === 0n || (charges ??= statedCharges(whole)).has(rest)) return { amounts, rest }
  }
  return undefined
}

type ReadAmounts = (detail: EntryDetail) => readonly (Amount | undefined)[]
/** Lists the amounts, the most usual first. The first one in the currency of the account counts. */
const anyReading: ReadAmounts = ({ amount, amounts: { transaction, counterValue, instructed } = {} }) => [
  amount,
  transaction?.amount,
  counterValue?.amount,
  instructed?.amount,
]
const readings: readonly ReadAmounts[] = [
  ({ amount }) => [amount],
  anyReading,
  ({ amounts }) => [amounts?.transaction?.amount],
  ({ amounts }) => [amounts?.counterValue?.amount],
  ({ amounts }) => [amounts?.instructed?.amount],
]

/**
 * Creates the units of several payments, or of one with separate charges; undefined if they do not add up to the entry.
 */
function partUnits(whole: EntryContext): readonly Unit[] | undefined {
  const { entry, account, minor } = whole
  const split = splitEntry(whole)
  if (split === undefined) return undefined
  const { amounts, rest } = split
  if (entry.details.length === 1 && (rest === 0n || entry.isCredit)) return undefined
  const base = referenceKey(
    whole,
    undefined,
    referenceOf(entry, entry.details.length === 1 ? entry.details[0] : undefined),
  )
  const booking = base ?? bookingKey(whole)
  const wholeKey = base === null ? bookingKey(whole) : withDay(`${base}|${minor}`, whole)
  const partOf = (part: string) => (base === null ? `${booking}#${part}` : withDay(`${booking}#${part}`, whole))
  const units = entry.details.flatMap((detail, index): readonly Unit[] => {
    const amount = amounts[index] ?? 0n
    // A payment of zero does not move money.
    if (amount === 0n) return []
    const key = partOf(`${partKey(entry, detail)}|${amount}`)
    return [{ ...commonFields(whole, detail, amount), key, whole: wholeKey, booking }]
  })
  if (rest === 0n) return units
  const fee: Unit = {
    ...commonFields(whole, undefined, rest),
    key: partOf(`charges|${rest}`),
    whole: wholeKey,
    booking,
    isFee: true,
    information: `Charges of a booking of ${amountText(minor, account.currency)} ${account.currency}.`,
  }
  return [...units, fee]
}

/** Reads the signed amount of a payment; undefined if the bank states none. */
function partAmount({ entry, account }: EntryContext, detail: EntryDetail, read: ReadAmounts): Minor | undefined {
  const stated = read(detail).flatMap((amount) => (amount && amountIn(amount, account.currency)) ?? [])
  const own = stated.find((minor) => minor !== 0n) ?? stated[0]
  return own === undefined ? undefined : signed(own, detail.isCredit ?? entry.isCredit)
}

type ChargeFields = Pick<EntryDetail, 'charges' | 'chargesTotal'>

/**
 * Lists the possible charges of an entry or payment, negative if the bank took them: the included records, all records,
 * or the total. Banks use the mark `included` inconsistently.
 */
function possibleCharges({ charges, chargesTotal }: ChargeFields, currency: Currency): readonly Minor[] {
  const sum = (list: ChargeFields['charges']) =>
    sumMinor(list.map(({ amount, isCredit = false }) => signed(chargeAmount(amount, currency), isCredit)))
  const total = chargesTotal === undefined ? 0n : -chargeAmount(chargesTotal, currency)
  return [sum(charges.filter(({ isIncluded = true }) => isIncluded)), sum(charges), total]
}

/** Reads a charge, which some banks write with a sign; zero if it is in another currency or inexact. */
function chargeAmount(amount: Amount, currency: Currency): Minor {
  const minor = amount.minor === null ? parseAmount(amount.text, currency) : amount.minor
  return amount.currency === currency ? (minor ?? 0n) : 0n
}

/**
 * Lists the possible charges between an entry and its payments: those of the entry, of its payments, or of both. Some
 * banks repeat charges at both levels, so that only the sums show which ones apply.
 */
function statedCharges({ entry, account: { currency } }: EntryContext): ReadonlySet<Minor> {
  const ofEntry = [0n, ...possibleCharges(entry, currency)]
  const each = entry.details.map((detail) => possibleCharges(detail, currency))
  const ofDetails = [0n, ...[0, 1, 2].map((way) => sumMinor(each.map((ways) => ways[way] ?? 0n)))]
  return new Set(ofEntry.flatMap((one) => ofDetails.map((other) => one + other)).filter((sum) => sum !== 0n))
}

/** Describes the charges that the bank deducted from a credit. */
function chargesText(whole: EntryContext, detail: EntryDetail): string | null {
  const { entry, minor, account } = whole
  const { currency } = account
  if (!entry.isCredit) return null
  const gross = detail.amount && amountIn(detail.amount, currency)
  const stated = statedCharges(whole)
  const taken = gross === undefined || gross === minor ? includedCharges(whole) : gross - minor
  if (taken <= 0n || (gross !== undefined && gross !== minor && !stated.has(-taken))) return null
  const of = gross === undefined ? '' : ` of ${amountText(gross, currency)} ${currency}`
  return `The bank kept ${amountText(taken, currency)} ${currency}${of} as charges.`
}

/** Sums the included charges of the entry, or else of its payments; positive if the bank took them. */
function includedCharges({ entry, account: { currency } }: EntryContext): Minor {
  const [own = 0n] = possibleCharges(entry, currency)
  return -(own === 0n ? sumMinor(entry.details.map((detail) => possibleCharges(detail, currency)[0] ?? 0n)) : own)
}

function partKey(entry: BankEntry, detail: EntryDetail): string {
  const own = realReference(detail.references.bankReference)
  return own !== null && own !== entry.bankReference
    ? `r:${own}`
    : digestOf(...identifyingFacts(entry.isCredit, detail)).slice(0, 24)
}

const readInformation = (entry: BankEntry, detail: EntryDetail | undefined): string | null =>
  detail?.information ?? entry.information ?? null

/** Joins the creditor reference and the unstructured lines. */
function remittanceText(remittance: Remittance | undefined): string | null {
  const { structured = [], unstructured = [] } = remittance ?? {}
  const text = [...structured.flatMap(({ creditorReference }) => creditorReference ?? []), ...unstructured].join(' ')
  return text.trim() === '' ? null : text.trim()
}

const distinctReferences = (...ids: readonly (string | undefined)[]): readonly string[] => [
  ...new Set(ids.flatMap((id) => realReference(id) ?? [])),
]
const batchIds = (batches: readonly EntryBatch[], name: 'batchId' | 'messageId') => batches.map((batch) => batch[name])

function commonFields(
  { entry, account, bookedOn }: EntryContext,
  detail: EntryDetail | undefined,
  amount: Minor,
): Omit<Unit, 'key' | 'whole' | 'booking'> {
  const { batches } = entry
  const references = detail?.references ?? {}
  const codes = mergeCodes(entry, detail)
  const returned = detail?.returned
  const isCredit = amount > 0n
  const onlyPayment = entry.details.length === 1
  return {
    isSum: false,
    account,
    amount,
    bookedOn,
    valueOn: entry.valueDate ?? null,
    isReversal: entry.isReversal,
    isFee: isFee(codes),
    isReturn: returned !== undefined || isReturn(codes),
    payments: 1,
    codes: codesText(codes),
    references: {
      bank: referenceOf(entry, detail),
      instruction: realReference(references.instructionId),
      endToEnd: realReference(references.endToEndId),
      transaction: realReference(references.transactionId),
      uetr: realReference(references.uetr),
      creditor:
        detail?.remittance?.structured?.find(({ creditorReference }) => creditorReference)?.creditorReference ?? null,
      detailsIn: realReference(entry.detailsIn?.messageId),
      batches: distinctReferences(references.batchId, ...batchIds(batches, 'batchId')),
      messages: distinctReferences(references.messageId, ...batchIds(batches, 'messageId')),
    },
    counterparty: readCounterparty(detail, isCredit),
    creditedAccount: (isCredit ? accountText(detail?.creditorAccount) : null) ?? account.iban,
    remittance: remittanceText(detail?.remittance),
    creditorReferences: isCredit ? referencesInPayment(detail, onlyPayment ? entry.information : undefined) : [],
    returned:
      returned === undefined
        ? null
        : { code: returned.code ?? returned.proprietary ?? null, text: textOf(returned.texts) },
    information: readInformation(entry, detail),
  }
}

// The meaning of the codes of a booking, which are those of ISO 20022 or of the bank.

const feeCodes: ReadonlySet<string> = new Set(['CHRG', 'COMM', 'COMT', 'FEES'])
/** German banks: the transaction code and the business code (805 to 809 are charges). */
const ownFeeCode = /^(?:N?CHG|CHRG|FEES?|COM[MT])\b|\+80[5-9](?:\+|$)/
const returnCodes: ReadonlySet<string> = new Set(['RRTN', 'RPCR', 'ARET'])
const ownReturnCode = /^N?RTI\b|\+159(?:\+|$)/

const codesText = ({ domain, family, subFamily, proprietary }: TransactionCodes): string =>
  domain === undefined ? (proprietary ?? '') : [domain, family ?? '', subFamily ?? ''].join('/')

const isFee = ({ subFamily = '', domain, proprietary = '' }: TransactionCodes): boolean =>
  feeCodes.has(subFamily) || (domain === undefined && ownFeeCode.test(proprietary))

const isReturn = ({ subFamily = '', domain, proprietary = '' }: TransactionCodes): boolean =>
  returnCodes.has(subFamily) || (domain === undefined && ownReturnCode.test(proprietary))

const textOf = (texts: readonly string[]): string => texts.join(' ').trim()

// The counterparty of a payment, as the bank reports it.

export type Counterparty = {
  readonly name: string | null
  readonly account: string | null
  readonly bic: string | null
  readonly country: string | null
  readonly address: string | null
  /** Birth data and ids of the party. Absent if the bank reports none, and in entries of earlier versions. */
  readonly identification?: string
  /** The party on whose behalf the counterparty pays or is paid. Absent if the bank names none. */
  readonly onBehalfOf?: string
}

const ibanForm = /^[A-Z]{2}\d{2}/

function readCounterparty(detail: EntryDetail | undefined, isCredit: boolean): Counterparty {
  const [named, ultimate] = isCredit
    ? [detail?.debtor, detail?.ultimateDebtor]
    : [detail?.creditor, detail?.ultimateCreditor]
  const party = named ?? ultimate
  const identification = formatIdentification(party)
  const onBehalfOf = named === undefined || ultimate?.name === named.name ? undefined : ultimate?.name
  const account = accountText(isCredit ? detail?.debtorAccount : detail?.creditorAccount)
  const agent = isCredit ? detail?.debtorAgent : detail?.creditorAgent
  const ofIban = account !== null && ibanForm.test(account) ? account.slice(0, 2) : null
  return {
    name: party?.name ?? null,
    account,
    bic: agent?.bic ?? null,
    country: ofIban ?? party?.address?.country ?? null,
    address: party?.address === undefined ? null : addressLine(party.address),
    ...(identification === '' ? {} : { identification }),
    ...(onBehalfOf === undefined ? {} : { onBehalfOf }),
  }
}

/** Joins birth data, LEI and other ids. */
function formatIdentification(party: Party | undefined): string {
  const { birth, lei, bic, others = [] } = party?.id ?? {}
  const born = birth === undefined ? [] : [`born ${birth.date} in ${birth.city}, ${birth.country}`]
  return [...born, lei, bic, ...others.map(({ id }) => id)].filter((text) => text !== undefined).join(', ')
}

function addressLine(address: PostalAddress): string | null {
  const { street, buildingNumber, buildingName, postBox, postCode, town, country, lines = [] } = address
  const parts = [
    [street, buildingNumber],
    [buildingName],
    [postBox],
    ...lines.map((line) => [line]),
    [postCode, town],
    [country],
  ]
  const text = parts
    .map((words) => words.filter((word) => word !== undefined && word !== '').join(' '))
    .filter((part) => part !== '')
    .join(', ')
  return text === '' ? null : text
}

export const toDebtor = ({ name, account, bic, country, address, ...more }: Counterparty): IncomingDebtor => ({
  ...more,
  account: account ?? '',
  bic: bic ?? '',
  name: name ?? '',
  countryCode: country ?? '',
  address,
})
