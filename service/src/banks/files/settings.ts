/** The settings of file-based banks. */
import { accessSync, constants, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { resolve, sep } from 'node:path'
import { type PostalAddress, profileIds, profileById, defaultProfile } from '../../iso20022/index.ts'
import {
  type Currency,
  currencies,
  dayMs,
  hourMs,
  isCurrency,
  isFiat,
  type Minor,
  minuteMs,
  refuseSetting,
  secondMs,
  type Settings,
  readBooleanField,
  readChoiceField,
  type Fields,
  readFields,
  readIntegerField,
  readListField,
  readNestedFields,
  readOptionalText,
  refuseSettingField,
  readTextField,
  readTimeOfDay,
} from '../../kernel/index.ts'
import { isBic, isIban, isoConnectorId, statementNumberings } from '../../rails/index.ts'
import {
  type BankAccount,
  type BankRules,
  chargeBearers,
  payerDataModes,
  payerModes,
  type BankReach,
  schemes,
} from './deps.ts'
import { readTransport, type TransportConfig } from './transport/settings.ts'

/** The rules of a bank and the transport of its files. */
export type BankConfig = BankRules & { readonly transport: TransportConfig }

const bankFields = [
  'name',
  'initiator',
  'accounts',
  'preferredScheme',
  'instantMax',
  'reach',
  'unknownBankReachable',
  'timeZone',
  'opensAt',
  'cutOffAt',
  'closedDays',
  'paymentsPerFileMax',
  'fileWindowMs',
  'instantWindowMs',
  'batchBooking',
  'profile',
  'categoryPurpose',
  'purpose',
  'chargeBearer',
  'payeeCheck',
  'payer',
  'payerData',
  'recalls',
  'messageBytesMax',
  'unfinishedAfterMs',
  'missingAfterMs',
  'detailsWithinMs',
  'archive',
  'pollMs',
  'statementNumbers',
  'transport',
] as const
const addressFields = [
  'department',
  'street',
  'buildingNumber',
  'buildingName',
  'floor',
  'postBox',
  'room',
  'postCode',
  'town',
  'district',
  'countrySubdivision',
  'country',
  'lines',
] as const

const nameForm = /^[a-z0-9][a-z0-9-]{0,39}$/
const dayForm = /^\d{4}-\d\d-\d\d$/
/** Limits the duration of the transaction that writes a file. Banks accept up to 100,000 payments in a file. */
const paymentsPerFileMaxMax = 20_000
const gigabyte = 1024 ** 3

function readAccount(value: unknown, path: string): BankAccount {
  const fields = readFields(value, path, ['iban', 'bic', 'currency', 'ownerName', 'ownerAddress'])
  const iban = readTextField(fields, 'iban').replaceAll(' ', '')
  const bic = readTextField(fields, 'bic')
  const currency = fields.given['currency'] ?? 'EUR'
  if (!isIban(iban)) return refuseSettingField(fields, 'iban', 'an IBAN with valid check digits')
  if (!isBic(bic)) return refuseSettingField(fields, 'bic', 'a BIC of 8 or 11 capital letters and digits')
  if (typeof currency !== 'string' || !isCurrency(currency) || !isFiat(currency))
    return refuseSettingField(fields, 'currency', 'a currency of banks, such as EUR')
  return { iban, bic, currency, ownerName: readTextField(fields, 'ownerName', 70), ownerAddress: readAddress(fields) }
}

/** Reads a structured or hybrid address. Since 15 November 2026 banks refuse addresses without town and country. */
function readAddress(account: Fields): PostalAddress {
  const fields = readNestedFields(account, 'ownerAddress', addressFields)
  const country = readTextField(fields, 'country', 2)
  if (!/^[A-Z]{2}$/.test(country))
    return refuseSettingField(fields, 'country', 'a code of two capital letters, such as DE')
  const lines = readListField(fields, 'lines', []).map(([line]) =>
    typeof line === 'string' && line.trim() !== '' && line.length <= 70
      ? line
      : refuseSettingField(fields, 'lines', 'texts of at most 70 characters'),
  )
  if (lines.length > 2) return refuseSettingField(fields, 'lines', 'at most two lines in addition to town and country')
  const parts = addressFields
    .filter((key) => key !== 'lines' && key !== 'town' && key !== 'country')
    .flatMap((key) => {
      const text = readOptionalText(
        fields,
        key,
        key === 'postCode' || key === 'postBox' || key === 'buildingNumber' ? 16 : 35,
      )
      return text === undefined ? [] : [[key, text] as const]
    })
  const address = { ...Object.fromEntries(parts), town: readTextField(fields, 'town', 35), country }
  return lines.length === 0 ? address : { ...address, lines }
}

function readAccounts(fields: Fields): readonly BankAccount[] {
  const accounts = readListField(fields, 'accounts').map(([value, path]) => readAccount(value, path))
  const paid = new Set<Currency>(accounts.map(({ currency }) => currency))
  if (accounts.length === 0) return refuseSettingField(fields, 'accounts', 'at least one account of yours at the bank')
  if (paid.size < accounts.length) return refuseSettingField(fields, 'accounts', 'one account for each currency')
  return accounts
}

function readInitiator(fields: Fields): BankRules['initiator'] {
  const initiator = readNestedFields(fields, 'initiator', ['name', 'id'])
  const id = readOptionalText(initiator, 'id', 35)
  return { name: readTextField(initiator, 'name', 70), ...(id === undefined ? {} : { id }) }
}

/** Reads an amount in euros; null if it is absent. */
function readEuros(fields: Fields, key: string): Minor | null {
  const value = fields.given[key]
  if (value === undefined) return null
  const { digits } = currencies.EUR
  const [, whole, part = ''] = (typeof value === 'string' ? /^(\d{1,11})(?:\.(\d+))?$/.exec(value) : null) ?? []
  if (whole === undefined || part.length > digits)
    return refuseSettingField(fields, key, 'euros as text, such as "250000.00"')
  return BigInt(whole + part.padEnd(digits, '0'))
}

/** Reads `all`, `none`, or a file with one BIC per line. Text after the BIC, and lines that begin with #, are comments. */
function readReach(fields: Fields, key: string, missing: 'all' | 'none'): BankReach {
  const value = fields.given[key] ?? missing
  if (value === 'all' || value === 'none') return value
  if (typeof value !== 'string')
    return refuseSettingField(fields, key, '"all", "none", or the path of a file with one BIC per line')
  const lines = readSettingFile(value, (reason) =>
    refuseSettingField(fields, key, `a file that can be read: ${reason}`),
  ).split('\n')
  const bics = lines
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(/\s/, 1)[0] ?? '')
  const wrong = bics.find((bic) => !isBic(bic))
  if (wrong !== undefined) return refuseSettingField(fields, key, `a file with one BIC per line: ${wrong} is not a BIC`)
  return new Set(bics.map((bic) => bic.slice(0, 8)))
}

function readCalendar(fields: Fields) {
  const timeZone = readOptionalText(fields, 'timeZone') ?? 'Europe/Berlin'
  if (!isTimeZone(timeZone))
    return refuseSettingField(fields, 'timeZone', 'the name of a time zone, such as Europe/Berlin')
  const opensAt = readTimeOfDay(fields, 'opensAt', '00:00')
  const cutOffAt = readTimeOfDay(fields, 'cutOffAt', '16:00')
  if (cutOffAt <= opensAt) return refuseSettingField(fields, 'cutOffAt', 'a time after opensAt')
  const closedDays = readListField(fields, 'closedDays', []).map(([day]) =>
    typeof day === 'string' && dayForm.test(day) && !Number.isNaN(Date.parse(day))
      ? day
      : refuseSettingField(fields, 'closedDays', 'days such as "2026-12-24"'),
  )
  return { timeZone, opensAt, cutOffAt, closedDays: new Set(closedDays) }
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

const readLimits = (fields: Fields) => ({
  paymentsPerFileMax: readIntegerField(fields, 'paymentsPerFileMax', [1, paymentsPerFileMaxMax], 5_000),
  fileWindowMs: readIntegerField(fields, 'fileWindowMs', [0, dayMs], minuteMs),
  instantWindowMs: readIntegerField(fields, 'instantWindowMs', [0, minuteMs], 200),
  messageBytesMax: readIntegerField(fields, 'messageBytesMax', [1024, 64 * gigabyte], 4 * gigabyte),
  unfinishedAfterMs: readIntegerField(fields, 'unfinishedAfterMs', [100, 7 * dayMs], 10 * minuteMs),
  missingAfterMs: readIntegerField(fields, 'missingAfterMs', [100, 60 * dayMs], 2 * dayMs),
  detailsWithinMs: readIntegerField(fields, 'detailsWithinMs', [0, 60 * dayMs], 4 * hourMs),
  pollMs: readIntegerField(fields, 'pollMs', [10, hourMs], 2 * secondMs),
})

/** Reads the external code of a purpose (ISO 20022). */
function readPurpose(fields: Fields, key: 'categoryPurpose' | 'purpose'): { readonly [Key in typeof key]?: string } {
  const code = readOptionalText(fields, key, 4)
  if (code === undefined) return {}
  return /^[A-Z]{4}$/.test(code)
    ? { [key]: code }
    : refuseSettingField(fields, key, 'a code of four capital letters, such as SUPP')
}

const recallForms = ['camt.055', 'camt.056', 'letter'] as const

function readProfile(fields: Fields) {
  const profile = profileById(readChoiceField(fields, 'profile', profileIds, defaultProfile.id)) ?? defaultProfile
  if (fields.given['payeeCheck'] !== undefined && profile.payeeCheck === undefined)
    return refuseSettingField(fields, 'payeeCheck', `absent: files of the profile ${profile.id} do not support it`)
  const payeeCheck = readOptionalText(fields, 'payeeCheck')
  return {
    profile,
    chargeBearer: readChoiceField(fields, 'chargeBearer', chargeBearers, 'SHAR'),
    payer: readChoiceField(fields, 'payer', payerModes, 'customer'),
    payerData: readChoiceField(fields, 'payerData', payerDataModes, 'send'),
    recalls: readChoiceField(fields, 'recalls', recallForms, 'camt.055'),
    ...readPurpose(fields, 'categoryPurpose'),
    ...readPurpose(fields, 'purpose'),
    ...(payeeCheck === undefined ? {} : { payeeCheck: readChoiceField(fields, 'payeeCheck', ['in', 'out']) }),
  }
}

/** Refuses settings that the bank's profile does not support, before the first payment fails. */
function checkProfile(fields: Fields, bank: BankConfig): BankConfig {
  const { id, kinds, debtorAddress } = bank.profile
  if (kinds.Other === undefined && bank.accounts.some(({ currency }) => currency !== 'EUR'))
    return refuseSettingField(
      fields,
      'accounts',
      `accounts in EUR only: the profile ${id} does not support other currencies`,
    )
  if (kinds.Instant === undefined && (bank.preferred === 'Instant' || bank.reach.Instant !== 'none'))
    return refuseSettingField(
      fields,
      'profile',
      `a profile with instant payments, or "none" as the reach of Instant: ${id} does not support them`,
    )
  if (debtorAddress === 'structured' && bank.accounts.some(({ ownerAddress }) => ownerAddress.lines !== undefined))
    return refuseSettingField(
      fields,
      'accounts',
      `addresses without lines: the profile ${id} requires structured addresses`,
    )
  return bank
}

function readBank(value: unknown, path: string): BankConfig {
  const fields = readFields(value, path, bankFields)
  const name = readOptionalText(fields, 'name')
  if (name !== undefined && !nameForm.test(name))
    return refuseSettingField(fields, 'name', 'lower-case letters, digits and hyphens, at most 40')
  const reach = readNestedFields({ ...fields, given: { reach: fields.given['reach'] ?? {} } }, 'reach', schemes)
  return checkProfile(fields, {
    id: isoConnectorId(name),
    initiator: readInitiator(fields),
    accounts: readAccounts(fields),
    preferred: readChoiceField(fields, 'preferredScheme', schemes, 'CreditTransfer'),
    instantMax: readEuros(fields, 'instantMax'),
    reach: { Instant: readReach(reach, 'Instant', 'none'), CreditTransfer: readReach(reach, 'CreditTransfer', 'all') },
    unknownBankReachable: readBooleanField(fields, 'unknownBankReachable', true),
    ...readCalendar(fields),
    ...readLimits(fields),
    batchBooking: readBooleanField(fields, 'batchBooking', false),
    ...readProfile(fields),
    statementNumbers: readChoiceField(fields, 'statementNumbers', statementNumberings, 'evidence'),
    archive: resolve(readTextField(fields, 'archive', 1000)),
    transport: readTransport(fields),
  })
}

function readBanks(value: string | undefined): readonly BankConfig[] {
  const trimmed = value?.trim() ?? ''
  if (trimmed === '') return []
  const banks = readJsonOrFile(trimmed, '[')
  if (!Array.isArray(banks)) return refuseSetting('must be a list of banks')
  const read = banks.map((bank, index) => readBank(bank, `[${index}]`))
  const twice = (values: readonly string[]) => values.find((each, index) => values.indexOf(each) < index)
  const name = twice(read.map(({ id }) => id))
  if (name !== undefined) return refuseSetting(`must name each bank once: two are ${name}`)
  const folder = twice(read.map(({ archive }) => archive))
  if (folder !== undefined) return refuseSetting(`must give each bank an archive of its own: two have ${folder}`)
  return read
}

export const isoSettings = {
  ISO20022_BANKS: {
    default: '',
    description:
      'The file-based banks (ISO 20022): JSON, or the path of a JSON file. A list of objects with `initiator`, `accounts`, `archive`, `transport` and the optional fields of docs/guides/connect-a-bank.md. The connector of a bank is `iso20022`, or `iso20022-<name>` if it has a `name`. The files that it names are read at the start',
    // It may hold the passphrase of a key.
    secret: true,
    read: readBanks,
  },
} as const satisfies Settings

/** Reads the text of a file that a setting names. */
export function readSettingFile(path: string, refuse: (reason: string) => never): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    return refuse((error as Error).message)
  }
}

/** Reads JSON, or the JSON file that the text names. `opening`: the first character of the JSON. */
export function readJsonOrFile(text: string, opening: '[' | '{'): unknown {
  const refuse = (reason: string) => refuseSetting(`must be JSON, or the path of a readable file: ${reason}`)
  const json = text.startsWith(opening) ? text : readSettingFile(text, refuse)
  try {
    return JSON.parse(json)
  } catch {
    return refuseSetting('must be JSON, or the path of a JSON file')
  }
}

type BankFolders = { readonly id: string; readonly archive: string; readonly transport: TransportConfig }

/**
 * Checks the folders of a bank before the first payment needs them. Returns one line that names the wrong field, or
 * undefined. Folders of an SFTP server are checked at the first connection.
 */
export function checkBankFolders({ id, archive, transport }: BankFolders): string | undefined {
  const problem = (field: string, what: string) => `${id}: ${field} ${what}`
  const found = new Map<string, string>()
  const given = { archive, ...(transport.kind === 'folder' ? transportFolders(transport) : {}) }
  for (const [field, path] of Object.entries(given)) {
    const usable = usableFolder(path, field === 'archive')
    if ('reason' in usable) return problem(field, `cannot be used: ${usable.reason}`)
    const same = [...found].find(([, other]) => other === usable.path)
    if (same !== undefined) return problem(field, `is the same folder as ${same[0]}: ${path}`)
    found.set(field, usable.path)
  }
  const own = found.get('archive') ?? archive
  for (const [field, path] of found)
    if (field !== 'archive' && own.startsWith(path + sep))
      return problem('archive', `is within ${field}, which the bank reads and writes: ${archive}`)
  return undefined
}

const transportFolders = ({ toBank, fromBank, taken }: Extract<TransportConfig, { readonly kind: 'folder' }>) => ({
  'transport.toBank': toBank,
  'transport.fromBank': fromBank,
  ...(taken === undefined ? {} : { 'transport.taken': taken }),
})

/** Checks a folder and returns its real path, so that two names of one folder are recognised. */
function usableFolder(path: string, isOurs: boolean): { readonly path: string } | { readonly reason: string } {
  try {
    if (isOurs && statSync(path, { throwIfNoEntry: false }) === undefined) mkdirSync(path, { mode: 0o700 })
    if (!statSync(path).isDirectory()) return { reason: `${path} is not a folder` }
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return { path: realpathSync(path) }
  } catch (error) {
    return { reason: (error as Error).message }
  }
}
