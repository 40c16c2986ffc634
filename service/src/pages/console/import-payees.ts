/** The import and the download of payees: their columns, and what a row would do. */
import { beneficiaries as wire, type PayeeAddress, type ResponseOf, selectForeign } from '@partner-payments/wire'
import type { PublicRequest } from '../../kernel/api/index.ts'
import { isUuid } from '../../kernel/index.ts'
import { domesticText, readAmericanNumber, readBritishNumber, readSortCode } from '../../rails/index.ts'
import type { BeneficiaryCreate, Beneficiary } from '../../parties/beneficiaries/index.ts'
import { Refusal } from '../../kernel/api/index.ts'
import type { FileColumns, Row } from '../kit/csv.ts'
import { refusalText } from './bulk-check-page.ts'
import type { Importer, Planned } from './imports.ts'
import { callOf, type Frame, ifFound, type Person } from './request.ts'
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
const order = Object.keys(columns) as readonly Column[]

type PayeeRow = Row<Column>

const given = (row: PayeeRow, name: Column): string | undefined => row.cells[name] || undefined

/** The account as the service stores it. Empty: the row has none, or it cannot be read. */
function accountOf({ cells }: PayeeRow): string {
  if (cells.iban !== '') return cells.iban.replaceAll(/\s/g, '').toUpperCase()
  if (cells.walletAddress !== '') return cells.walletAddress
  const [sortCode, british] = [readSortCode(cells.sortCode), readBritishNumber(cells.accountNumber)]
  if (sortCode !== undefined && british !== undefined)
    return domesticText({ system: 'GBDSC', sortCode, accountNumber: british })
  const american = readAmericanNumber(cells.accountNumber)
  if (cells.routingNumber === '' || american === undefined) return ''
  return domesticText({ system: 'USABA', routingNumber: cells.routingNumber, accountNumber: american })
}

const storedAccount = ({ iban, domesticAccount, walletAddress }: Beneficiary): string =>
  iban ?? domesticAccount ?? walletAddress ?? ''

/** The address of the cells, over the one that the payee has. Undefined: the row has none. */
function addressOf(row: PayeeRow, before: PayeeAddress | null): Readonly<Record<string, string>> | undefined {
  const cells = Object.entries(addressNames).flatMap(([column, name]) => {
    const text = given(row, column as Column)
    return text === undefined ? [] : [[name, name === 'country' ? text.toUpperCase() : text] as const]
  })
  return cells.length === 0 ? undefined : { ...before, ...Object.fromEntries(cells) }
}

type Fields = Readonly<Record<string, string>>

/** The request that creates the payee. */
function bodyOf(row: PayeeRow): Fields & { readonly address?: Fields } {
  const address = addressOf(row, null)
  const fields = createNames.flatMap((name) => {
    const text = given(row, name)
    return text === undefined ? [] : [[name, name === 'currency' ? text.toUpperCase() : text] as const]
  })
  return { ...Object.fromEntries(fields), ...(address && { address }) } as Fields & { readonly address?: Fields }
}

/** Names the cells that the API would refuse by their form. */
const wrongFields = (body: object, properties: Readonly<Record<string, object>>): readonly string[] =>
  Object.entries(body).flatMap(([name, value]) => {
    const schema = properties[name]
    return schema === undefined || selectForeign(value, schema) === undefined ? [name] : []
  })

async function plan(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  rows: readonly PayeeRow[],
): Promise<readonly Planned<Column>[]> {
  const { payees, operate } = frame
  const call = callOf(person, request)
  const { partnerId } = person.caller
  const owners = await ownersOf(frame, request, person, rows)
  const [byId, byAccount] = await Promise.all([
    payees.byTexts(
      partnerId,
      rows.flatMap((row) => (isUuid(row.cells.id.toLowerCase()) ? [row.cells.id] : [])),
    ),
    payees.atAccounts(partnerId, [...new Set(rows.map(accountOf).filter((account) => account !== ''))]),
  ])
  const known = {
    byId: new Map(byId.map((payee) => [payee.id, payee])),
    byAccount: Map.groupBy(byAccount, storedAccount),
  }
  const found = rows.map((row) => matched(row, known, owners))
  const create = rows.filter((_row, at) => found[at] === undefined)
  const assessed = await payees.assess(create.map((row) => bodyOf(row) as unknown as BeneficiaryCreate))
  const refused = new Map(create.map((row, at) => [row, assessed[at]]))
  const first = new Map<string, number>()
  return rows.map((row, at): Planned<Column> => {
    const i = texts[person.view.language].imports
    const payee = found[at]
    const label = given(row, 'name') ?? (payee instanceof Object ? payee.name : row.cells.id)
    const refuse = (reason: string): Planned<Column> => ({ row, label, effect: 'Refused', fields: [], reason })
    if (payee === 'unknown') return refuse(i.unknownId)
    if (payee === 'account') return refuse(i.accountChanged)
    const key =
      payee?.id ?? JSON.stringify([accountOf(row), row.cells.currency.toUpperCase(), owners.get(row.cells.customerId)])
    const earlier = first.get(key)
    if (earlier !== undefined) return refuse(fill(i.twice, earlier))
    first.set(key, row.line)
    if (payee !== undefined)
      return changeOf(
        person,
        row,
        payee,
        label,
        async (body) => void (await operate('updateBeneficiary', { ...call, body })),
      )
    const body = bodyOf(row)
    const wrong = wrongFields(body, wire.BeneficiaryCreate.properties)
    if (wrong.length > 0) return refuse(`${texts[person.view.language].bulk.problem}: ${wrong.join(', ')}`)
    const outcome = refused.get(row)
    if (outcome instanceof Refusal) return refuse(refusalText(person.view, outcome))
    const apply = async (idempotencyKey: string) =>
      void (await operate('createBeneficiary', { ...call, idempotencyKey, body }))
    return { row, label, effect: 'Create', fields: Object.keys(body), apply }
  })
}

const fill = (text: string, line: number): string => text.replace('{line}', String(line))

/** Customers by the texts that the file has for them. An unknown one is absent. */
async function ownersOf(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  rows: readonly PayeeRow[],
): Promise<ReadonlyMap<string, string>> {
  const texts_ = [...new Set(rows.flatMap((row) => given(row, 'customerId') ?? []))]
  const owners = new Map<string, string>()
  for (const text of texts_) {
    const found = isUuid(text.toLowerCase())
      ? { guid: text.toLowerCase() }
      : await ifFound(operate('getCustomer', { ...callOf(person, request), params: { id: text } }))
    if (found !== undefined) owners.set(text, found.guid)
  }
  return owners
}

type Known = {
  readonly byId: ReadonlyMap<string, Beneficiary>
  readonly byAccount: ReadonlyMap<string, readonly Beneficiary[]>
}

/** The payee that a row is about: by its id, else the oldest one with account, currency and customer. Undefined: a new one. */
function matched(row: PayeeRow, { byId, byAccount }: Known, owners: ReadonlyMap<string, string>) {
  const account = accountOf(row)
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

type Update = { readonly id: string } & Readonly<Record<string, unknown>>

function changeOf(
  { view }: Person,
  row: PayeeRow,
  payee: Beneficiary,
  label: string,
  update: (body: Update) => Promise<void>,
): Planned<Column> {
  const address = addressOf(row, payee.address)
  const isMoved =
    address !== undefined && JSON.stringify(sorted(address)) !== JSON.stringify(sorted(payee.address ?? {}))
  const texts_ = (['name', 'alias'] as const).flatMap((name) => {
    const text = given(row, name)
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

const sorted = (address: object) => Object.entries(address).toSorted(([one], [other]) => (one < other ? -1 : 1))

function cellsOf(payee: ResponseOf<'getBeneficiary'>): readonly string[] {
  const { address } = payee
  const own: Readonly<Record<string, string | undefined>> = {
    ...{ id: payee.id, name: payee.name, alias: payee.alias, iban: payee.iban, sortCode: payee.sortCode },
    ...{ routingNumber: payee.routingNumber, accountNumber: payee.accountNumber, accountType: payee.accountType },
    ...{ bic: payee.bic, currency: payee.currency, customerId: payee.customerId, country: payee.country },
    ...{ walletAddress: payee.walletAddress, vasp: payee.vasp, addressCountry: address?.country },
    ...{ streetName: address?.streetName, buildingNumber: address?.buildingNumber, postalCode: address?.postalCode },
    ...{ city: address?.city, state: address?.state },
  }
  return order.map((name) => own[name] ?? '')
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
    return { rows: data.map(cellsOf), nextCursor }
  },
}
