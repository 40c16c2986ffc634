/** Maps the payments of a pain.001 to the payouts of a bulk. */
import {
  type AccountType,
  beneficiaries as beneficiarySchemas,
  type BodyOf,
  type FieldError,
  type PayeeAddress,
  rawNumber,
  selectUntrustedFields,
} from '@partner-payments/wire'
import { type Caller, refuseFields, refuseInvalid } from '../../kernel/api/index.ts'
import {
  type CreditTransfer,
  type CreditTransferInitiation,
  isSepaReference,
  MessageProblem,
  type PaymentBatch,
  readPain001,
  type Remittance,
  sepaText,
} from '../../iso20022/index.ts'
import { amountText, type Clock, isCurrency } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import {
  accountTypeCodes,
  formatDomesticAccount,
  isInForce,
  chooseRail,
  readAmericanNumber,
  readBritishNumber,
  readSortCode,
  listRequirements,
  routingProblem,
} from '../../rails/index.ts'
import { type Beneficiaries, isValidAddress } from '../../parties/beneficiaries/index.ts'
import type { Customers } from '../../parties/customers/index.ts'
import type { AccountFields } from './lines.ts'

type PayoutsOfFile = BodyOf<'createBulkPayout'>['payouts']
export type Pain001Payment = { readonly batch: PaymentBatch; readonly transfer: CreditTransfer }

/** Returns the pointer of every problem: the whole file is in one field. */
export const pointerInFile = (): string => '/document'

export const paymentsMax = 1000
const errorsMax = 50
const referenceCharsMax = 140

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly beneficiaries: Pick<Beneficiaries, 'byAccounts' | 'update'>
  readonly customers: Pick<Customers, 'find'>
}

/**
 * Maps the payments. Adds the file's address to beneficiaries without one, if the caller may change beneficiaries.
 * Refuses: validation_failed (document), not_found (customerId).
 */
export async function readPayouts(
  { db, clock, beneficiaries, customers }: Deps,
  { partnerId, permissions }: Pick<Caller, 'partnerId' | 'permissions'>,
  { document, customerId }: BodyOf<'createBulkPayoutFromFile'>,
): Promise<PayoutsOfFile> {
  const message = await read(document)
  const payments = message.batches.flatMap((batch) =>
    batch.transfers.map((transfer): Pain001Payment => ({ batch, transfer })),
  )
  if (payments.length > paymentsMax)
    throw refuseDocument(`has ${payments.length} payments; at most ${paymentsMax} are accepted`)
  const today = clock.now().toISOString().slice(0, 'YYYY-MM-DD'.length)
  const owner = customerId === undefined ? null : (await customers.find(db, partnerId, customerId, '/customerId')).id
  const accounts = payments.flatMap(({ transfer }) => accountOf(transfer) ?? [])
  const known = Map.groupBy(
    await beneficiaries.byAccounts(partnerId, owner, [...new Set(accounts)]),
    ({ iban, domesticAccount, currency }) => `${iban ?? domesticAccount} ${currency}`,
  )
  const errors: FieldError[] = []
  const addresses = new Map<string, PayeeAddress>()
  const payouts = payments.flatMap((payment, index) => {
    const { transfer } = payment
    const mistake = findUnsupportedRequest(payment, today)
    const found = known.get(`${accountOf(transfer)} ${transfer.money.currency}`) ?? []
    const beneficiary = findPayee(found, transfer)
    const problem =
      (mistake && mistakeTexts[mistake.code](mistake.given)) ??
      (beneficiary === undefined
        ? unknownPayeeText(found.length)
        : (accountTypeProblem(transfer, beneficiary) ?? addressProblem(transfer, beneficiary, today)))
    if (problem !== undefined || beneficiary === undefined) {
      const message = `payment ${index + 1} (${transfer.endToEndId}): ${problem}`
      errors.push({ pointer: pointerInFile(), code: 'invalid_value', message })
      return []
    }
    const address = beneficiary.address === null ? readAddress(transfer) : undefined
    if (address !== undefined) addresses.set(beneficiary.id, address)
    return [toPayout(message.messageId, index, transfer, beneficiary.id)]
  })
  refuseFields(errors.slice(0, errorsMax))
  if (permissions.includes('beneficiaries:write'))
    for (const [id, address] of addresses) await beneficiaries.update(partnerId, { id, address })
  return payouts
}

async function read(document: string): Promise<CreditTransferInitiation> {
  try {
    return await readBytes(Buffer.from(document))
  } catch (error) {
    if (error instanceof MessageProblem) throw refuseDocument(`line ${error.line}, ${error.path}: ${error.message}`)
    throw error
  }
}

export function readBytes(bytes: Uint8Array): Promise<CreditTransferInitiation> {
  async function* source() {
    yield bytes
  }
  return readPain001(source(), { bytesMax: bytes.length })
}

const refuseDocument = (message: string) => refuseInvalid(pointerInFile(), message)

const accountOf = (transfer: CreditTransfer): string | undefined => readAccountFields(transfer)?.account

/**
 * Reads the IBAN, or the account number of a national clearing system, as `domesticText` writes it. Undefined: another
 * number.
 */
export function readAccountFields({
  creditorAccount,
  creditorAgent,
}: CreditTransfer): { readonly account: string; readonly fields: AccountFields } | undefined {
  if ('iban' in creditorAccount) {
    const { iban } = creditorAccount
    return { account: iban, fields: { iban } }
  }
  const { clearingSystem, clearingId = '' } = creditorAgent ?? {}
  const system = clearingSystem !== undefined && 'code' in clearingSystem ? clearingSystem.code : undefined
  const [sortCode, british] = [readSortCode(clearingId), readBritishNumber(creditorAccount.other)]
  if (system === 'GBDSC' && sortCode !== undefined && british !== undefined)
    return {
      account: formatDomesticAccount({ system, sortCode, accountNumber: british }),
      fields: { sortCode, accountNumber: british },
    }
  const american = readAmericanNumber(creditorAccount.other)
  if (system === 'USABA' && routingProblem(clearingId) === undefined && american !== undefined)
    return {
      account: formatDomesticAccount({ system, routingNumber: clearingId, accountNumber: american }),
      fields: { routingNumber: clearingId, accountNumber: american },
    }
  return undefined
}

/** Explains a contradiction about the type of the payee's account: no field of a payment is dropped silently. */
export function accountTypeProblem(
  { creditorAccountType: type }: Pick<CreditTransfer, 'creditorAccountType'>,
  {
    domesticAccount,
    accountType,
  }: { readonly domesticAccount: string | null; readonly accountType: AccountType | null },
): string | undefined {
  const known = accountType === null ? undefined : accountTypeCodes[accountType]
  if (type === undefined || domesticAccount === null || type === known) return undefined
  return `the type of CdtrAcct is ${type}, and the beneficiary has ${known ?? 'none'}`
}

/** Reads the address for a beneficiary. Undefined: it has no city or country, or a field is too long. */
export function readAddress({ creditor }: Pick<CreditTransfer, 'creditor'>): PayeeAddress | undefined {
  const {
    town: city,
    country,
    street,
    buildingNumber,
    postCode,
    countrySubdivision,
    lines = [],
  } = creditor.address ?? {}
  if (city === undefined || country === undefined) return undefined
  const streetName = street ?? (lines.length === 0 ? undefined : lines.join(', '))
  const address = {
    ...(streetName === undefined ? {} : { streetName }),
    ...(buildingNumber === undefined ? {} : { buildingNumber }),
    ...(postCode === undefined ? {} : { postalCode: postCode }),
    ...(countrySubdivision === undefined ? {} : { state: countrySubdivision }),
    ...{ city, country },
  }
  const found = selectUntrustedFields(address, beneficiarySchemas.PayeeAddress)
  return found !== undefined && isValidAddress(found) ? found : undefined
}

type AddressedTransfer = Pick<CreditTransfer, 'creditor'> & {
  readonly money: Pick<CreditTransfer['money'], 'currency'>
}

/**
 * Explains a problem of an address: it contradicts that of the payee, or has lines without town and country, which
 * banks refuse from a certain day on.
 */
export function addressProblem(
  { creditor: { address }, money: { currency } }: AddressedTransfer,
  payee: { readonly address: PayeeAddress | null } & Readonly<
    Record<'iban' | 'domesticAccount' | 'bic' | 'country', string | null>
  >,
  today: string,
): string | undefined {
  if (address === undefined || !isCurrency(currency)) return undefined
  const { town, country, lines } = address
  if (town === undefined || country === undefined) {
    const account = payee.iban ?? payee.domesticAccount ?? ''
    const place = { account, bic: payee.bic, country: payee.country ?? account.slice(0, 2) }
    const rail = chooseRail(currency, place)
    const refused = listRequirements({ currency, rail, country: place.country }, today).find(
      (one) => one.field === 'address.lines' && isInForce(one, today),
    )
    return lines === undefined || refused === undefined
      ? undefined
      : `PstlAdr of Cdtr has lines without TwnNm and Ctry, which banks refuse from ${refused.from} on`
  }
  const placeOf = (city: string, code: string) => `${sepaText(city, cityCharsMax).toUpperCase()}, ${code}`
  const own = payee.address && placeOf(payee.address.city, payee.address.country)
  const given = placeOf(town, country)
  return own === null || own === given
    ? undefined
    : `PstlAdr of Cdtr is in ${given}, and the beneficiary's address in ${own}`
}
const cityCharsMax = 35

/**
 * Elements that are ignored, as the guide documents. Any other element that a payout does not have refuses the file.
 */
const withoutEffect = new Set(['InstrPrty', 'SvcLvl', 'LclInstrm', 'ChrgBr'])

/** Request in a payment that payouts do not support. `given` is the text of the file. */
export type UnsupportedRequest = { readonly code: keyof typeof mistakeTexts; readonly given: string }

const mistakeTexts = {
  executionDate: (given: string) => `ReqdExctnDt is ${given}; payouts are made at once`,
  account: () => 'CdtrAcct has no IBAN, nor a number with a sort code (GBDSC) or a routing number (USABA) in CdtrAgt',
  currency: (given: string) => `${given} is not paid`,
  purpose: () => 'a purpose is not carried',
  ultimateParty: () => 'ultimate parties are not carried',
  element: (given: string) => `${given} is not carried`,
  remittance: () => 'RmtInf has more than a text or a reference of the creditor',
  remittanceLong: () => `RmtInf has more than ${referenceCharsMax} characters`,
  endToEndId: () => `EndToEndId must have ${endToEndIdForm}`,
} as const

export const endToEndIdForm = `at most 35 characters, of the letters A to Z, digits, spaces and /-?:().,'+, without a slash at its ends or two in a row`

/** Finds a request in a payment that payouts do not support. No field of a payment is dropped silently. */
export function findUnsupportedRequest(
  { batch, transfer }: Pain001Payment,
  today: string,
): UnsupportedRequest | undefined {
  const { executionDate, categoryPurpose, ultimateDebtor } = batch
  const { purpose, ultimateCreditor, remittance, endToEndId, money, others } = transfer
  if (executionDate.slice(0, today.length) > today) return { code: 'executionDate', given: executionDate }
  if (accountOf(transfer) === undefined) return { code: 'account', given: '' }
  if (!isCurrency(money.currency)) return { code: 'currency', given: money.currency }
  if (purpose !== undefined || categoryPurpose !== undefined) return { code: 'purpose', given: '' }
  if (ultimateCreditor ?? transfer.ultimateDebtor ?? ultimateDebtor) return { code: 'ultimateParty', given: '' }
  const other = others?.find((name) => !withoutEffect.has(name))
  if (other !== undefined) return { code: 'element', given: other }
  if (!isSupportedRemittance(remittance)) return { code: 'remittance', given: '' }
  if ((remittanceText(transfer) ?? '').length > referenceCharsMax) return { code: 'remittanceLong', given: '' }
  return isSepaReference(endToEndId) ? undefined : { code: 'endToEndId', given: endToEndId }
}

function isSupportedRemittance({ unstructured, structured = [] }: Remittance = {}): boolean {
  const [block, ...others] = structured
  if (block === undefined) return true
  const { creditorReference, referenceType: _type, referenceIssuer: _issuer, ...more } = block
  return creditorReference !== undefined && unstructured === undefined && [...others, ...Object.keys(more)].length === 0
}

/** Finds the only beneficiary with the account. Otherwise the oldest that matches account and name. */
function findPayee<T extends { readonly name: string }>(
  found: readonly T[],
  { creditor }: CreditTransfer,
): T | undefined {
  const [first, ...others] = found
  return others.length === 0 ? first : found.find(({ name }) => name === creditor.name)
}

const unknownPayeeText = (beneficiaries: number): string =>
  beneficiaries === 0
    ? 'no beneficiary has this account'
    : `${beneficiaries} beneficiaries have this account, and none of them this name`

/** The placeholder for a missing end-to-end id, because the schema requires the element. */
export const noEndToEndId = 'NOTPROVIDED'

/** Returns the unstructured text, otherwise the creditor's reference. */
export function remittanceText({ remittance }: CreditTransfer): string | undefined {
  const text = remittance?.unstructured?.join(' ') ?? remittance?.structured?.[0]?.creditorReference
  return text === '' ? undefined : text
}

function toPayout(
  messageId: string,
  index: number,
  transfer: CreditTransfer,
  beneficiaryId: string,
): PayoutsOfFile[number] {
  const { endToEndId } = transfer
  const { minor, currency } = transfer.money
  const reference = remittanceText(transfer)
  return {
    amount: rawNumber(amountText(minor, currency)),
    currency,
    beneficiaryId,
    idempotencyKey: `pain.001/${messageId}/${index + 1}`,
    ...(reference === undefined ? {} : { reference }),
    ...(endToEndId === noEndToEndId ? {} : { endToEndId }),
  }
}
