/** The import and the download of payees: columns, and the effect of each row. */
import {
  beneficiaries as wire,
  type PayeeAddress,
  type ResponseOf,
  selectUntrustedFields,
} from '@partner-payments/wire'
import { ifFound, type PublicRequest, Refusal } from '../../kernel/api/index.ts'
import { isUuid } from '../../kernel/index.ts'
import { formatDomesticAccount, readAmericanNumber, readBritishNumber, readSortCode } from '../../rails/index.ts'
import type { BeneficiaryCreate, Beneficiary } from '../../parties/beneficiaries/index.ts'
import type { FileColumns, FileRow } from '../kit/csv.ts'
import { fill } from '../language.ts'
import { refusalText } from './bulk-check-page.ts'
import type { Importer, PlannedRow } from './imports.ts'
import { callOf, type Frame, type Person } from './request.ts'
import { texts } from './texts/index.ts'

const addressNames = {
  streetName: 'streetName',
  buildingNumber: 'buildingNumber',
  postalCode: 'postalCode',
  city: 'city',
  state: 'state',
  addressCountry: 'country',
} as const
const createNames = [
  ...(['name', 'alias', 'iban', 'sortCode', 'routingNumber', 'accountNumber', 'accountType', 'bic'] as const),
  ...(['walletAddress', 'vasp', 'country', 'currency', 'customerId'] as const),
] as const
type Column = 'id' | (typeof createNames)[number] | keyof typeof addressNames

const columns: FileColumns<Column> = {
  id: ['beneficiaryId'],
  name: ['Name des Empfängers', 'Kontoinhaber', 'payee name', 'Empfänger'],
  alias: ['Kurzname', 'short name'],
  iban: ['Konto'],
  sortCode: [],
  routingNumber: [],
  accountNumber: ['Kontonummer'],
  accountType: [],
  bic: [],
  currency: ['Währung'],
  customerId: ['Kunde', 'customer'],
  streetName: ['Straße', 'street'],
  buildingNumber: ['Hausnummer'],
  postalCode: ['Postleitzahl', 'PLZ', 'zip'],
  city: ['Ort', 'Stadt', 'town'],
  state: [],
  addressCountry: ['Land der Adresse'],
  country: ['Land'],
  walletAddress: [],
  vasp: [],
}
const columnOrder = Object.keys(columns) as readonly Column[]

type PayeeRow = FileRow<Column>

const cellText = (row: PayeeRow, name: Column): string | undefined => row.cells[name] || undefined

/** Returns the account as the service stores it. Empty: the row has no readable account. */
function accountKey({ cells }: PayeeRow): string {
  if (cells.iban !== '') return cells.iban.replaceAll(/\s/g, '').toUpperCase()
  if (cells.walletAddress !== '') return cells.walletAddress
  const [sortCode, british] = [readSortCode(cells.sortCode), readBritishNumber(cells.accountNumber)]
  if (sortCode !== undefined && british !== undefined)
    return formatDomesticAccount({ system: 'GBDSC', sortCode, accountNumber: british })
  const american = readAmericanNumber(cells.accountNumber)
  if (cells.routingNumber === '' || american === undefined) return ''
  return formatDomesticAccount({ system: 'USABA', routingNumber: cells.routingNumber, accountNumber: american })
}

const storedAccount = ({ iban, domesticAccount, walletAddress }: Beneficiary): string =>
  iban ?? domesticAccount ?? walletAddress ?? ''

/** Merges the address cells into the payee's address. Undefined: the row has no address. */
function readAddress(row: PayeeRow, before: PayeeAddress | null): Readonly<Record<string, string>> | undefined {
  const cells = Object.entries(addressNames).flatMap(([column, name]) => {
    const text = cellText(row, column as Column)
    return text === undefined ? [] : [[name, name === 'country' ? text.toUpperCase() : text] as const]
  })
  return cells.length === 0 ? undefined : { ...before, ...Object.fromEntries(cells) }
}

type FieldTexts = Readonly<Record<string, string>>

/** Returns the body that creates the payee. */
function requestBody(row: PayeeRow): FieldTexts & { readonly address?: FieldTexts } {
  const address = readAddress(row, null)
  const fields = createNames.flatMap((name) => {
    const text = cellText(row, name)
    return text === undefined ? [] : [[name, name === 'currency' ? text.toUpperCase() : text] as const]
  })
  return { ...Object.fromEntries(fields), ...(address && { address }) } as FieldTexts & {
    readonly address?: FieldTexts
  }
}

/** Lists the fields that do not match the schema of the API. */
const wrongFields = (body: object, properties: Readonly<Record<string, object>>): readonly string[] =>
  Object.entries(body).flatMap(([name, value]) => {
    const schema = properties[name]
    return schema === undefined || selectUntrustedFields(value, schema) === undefined ? [name] : []
  })

async function plan(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  rows: readonly PayeeRow[],
): Promise<readonly PlannedRow<Column>[]> {
  const { beneficiaries, operate } = frame
  const call = callOf(person, request)
  const { partnerId } = person.caller
  const owners = await readOwners(frame, request, person, rows)
  const [byId, byAccount] = await Promise.all([
    beneficiaries.byTexts(
      partnerId,
      rows.flatMap((row) => (isUuid(row.cells.id.toLowerCase()) ? [row.cells.id] : [])),
    ),
    beneficiaries.atAccounts(partnerId, [...new Set(rows.map(accountKey).filter((account) => account !== ''))]),
  ])
  const known = {
    byId: new Map(byId.map((payee) => [payee.id, payee])),
    byAccount: Map.groupBy(byAccount, storedAccount),
  }
  const found = rows.map((row) => matchPayee(row, known, owners))
  const create = rows.filter((_row, at) => found[at] === undefined)
  const assessed = await beneficiaries.assess(create.map((row) => requestBody(row) as unknown as BeneficiaryCreate))
  const refused = new Map(create.map((row, at) => [row, assessed[at]]))
  const first = new Map<string, number>()
  return rows.map((row, at): PlannedRow<Column> => {
    const i = texts[person.view.language].imports
    const payee = found[at]
    const label = cellText(row, 'name') ?? (payee instanceof Object ? payee.name : row.cells.id)
    const refuse = (reason: string): PlannedRow<Column> => ({ row, label, effect: 'Refused', fields: [], reason })
    if (payee === 'unknown') return refuse(i.unknownId)
    if (payee === 'account') return refuse(i.accountChanged)
    const key =
      payee?.id ?? JSON.stringify([accountKey(row), row.cells.currency.toUpperCase(), owners.get(row.cells.customerId)])
    const earlier = first.get(key)
    if (earlier !== undefined) return refuse(fill(i.twice, { line: String(earlier) }))
    first.set(key, row.line)
    if (payee !== undefined)
      return planChange(
        person,
        row,
        payee,
        label,
        async (body) => void (await operate('updateBeneficiary', { ...call, body })),
      )
    const body = requestBody(row)
    const wrong = wrongFields(body, wire.BeneficiaryCreate.properties)
    if (wrong.length > 0) return refuse(`${texts[person.view.language].bulk.problem}: ${wrong.join(', ')}`)
    const outcome = refused.get(row)
    if (outcome instanceof Refusal) return refuse(refusalText(person.view, outcome))
    const apply = async (idempotencyKey: string) =>
      void (await operate('createBeneficiary', { ...call, idempotencyKey, body }))
    return { row, label, effect: 'Create', fields: Object.keys(body), apply }
  })
}

/** Resolves the customers of the file to their ids. Unknown customers are absent. */
async function readOwners(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  rows: readonly PayeeRow[],
): Promise<ReadonlyMap<string, string>> {
  const texts_ = [...new Set(rows.flatMap((row) => cellText(row, 'customerId') ?? []))]
  const owners = new Map<string, string>()
  for (const text of texts_) {
    const found = isUuid(text.toLowerCase())
      ? { guid: text.toLowerCase() }
      : await ifFound(operate('getCustomer', { ...callOf(person, request), params: { id: text } }))
    if (found !== undefined) owners.set(text, found.guid)
  }
  return owners
}

type KnownPayees = {
  readonly byId: ReadonlyMap<string, Beneficiary>
  readonly byAccount: ReadonlyMap<string, readonly Beneficiary[]>
}

/** Finds the payee of a row by id, otherwise the oldest payee with the same account, currency and customer. Undefined: the payee is new. */
function matchPayee(row: PayeeRow, { byId, byAccount }: KnownPayees, owners: ReadonlyMap<string, string>) {
  const account = accountKey(row)
  if (row.cells.id !== '') {
    const payee = byId.get(row.cells.id.toLowerCase())
    if (payee === undefined) return 'unknown' as const
    const isSame = account === '' || account.toLowerCase() === storedAccount(payee).toLowerCase()
    return isSame ? payee : ('account' as const)
  }
  const owner = row.cells.customerId === '' ? null : (owners.get(row.cells.customerId) ?? '')
  const others = (byAccount.get(account) ?? []).filter(
    ({ currency, customerId }) => currency === row.cells.currency.toUpperCase() && customerId === owner,
  )
  return others.find(({ name }) => name === row.cells.name) ?? others[0]
}

type PayeeUpdate = { readonly id: string } & Readonly<Record<string, unknown>>

function planChange(
  { view }: Person,
  row: PayeeRow,
  payee: Beneficiary,
  label: string,
  update: (body: PayeeUpdate) => Promise<void>,
): PlannedRow<Column> {
  const address = readAddress(row, payee.address)
  const isMoved =
    address !== undefined &&
    JSON.stringify(sortedEntries(address)) !== JSON.stringify(sortedEntries(payee.address ?? {}))
  const texts_ = (['name', 'alias'] as const).flatMap((name) => {
    const text = cellText(row, name)
    return text === undefined || text === payee[name] ? [] : [[name, text] as const]
  })
  const body = { ...Object.fromEntries(texts_), ...(isMoved && { address }) }
  const fields = Object.keys(body)
  const wrong = wrongFields(body, wire.BeneficiaryUpdate.properties)
  if (wrong.length > 0)
    return {
      row,
      label,
      effect: 'Refused',
      fields,
      reason: `${texts[view.language].bulk.problem}: ${wrong.join(', ')}`,
    }
  if (fields.length === 0) return { row, label, effect: 'Same', fields }
  return { row, label, effect: 'Change', fields, apply: () => update({ id: payee.id, ...body }) }
}

const sortedEntries = (address: object) => Object.entries(address).toSorted(([one], [other]) => (one < other ? -1 : 1))

function payeeCells(payee: ResponseOf<'getBeneficiary'>): readonly string[] {
  const { address, country } = payee
  const own: Readonly<Record<string, unknown>> = { ...address, ...payee, country, addressCountry: address?.country }
  return columnOrder.map((name) => {
    const value = own[name]
    return typeof value === 'string' ? value : ''
  })
}

export const payeeImporter: Importer<Column> = {
  kind: 'Payees',
  place: 'payees',
  permissions: { read: 'beneficiaries:read', write: 'beneficiaries:write' },
  columns,
  required: ['name', 'currency'],
  plan,
  list: async ({ operate }, request, person, query) => {
    const { data, nextCursor } = await operate('listBeneficiaries', { ...callOf(person, request), query })
    return { rows: data.map(payeeCells), nextCursor }
  },
}
