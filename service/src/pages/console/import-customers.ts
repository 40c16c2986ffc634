/** The import and the download of customers: columns, and the effect of each row. */
import { customers as wire, kycFields, type ResponseOf, selectUntrustedFields } from '@partner-payments/wire'
import { ifFound, type PublicRequest, type Refusal } from '../../kernel/api/index.ts'
import type { FileColumns, FileRow } from '../kit/csv.ts'
import { queryText } from '../kit/request.ts'
import { fill } from '../language.ts'
import type { Importer, PlannedRow } from './imports.ts'
import { inParallel } from './parallel.ts'
import { callOf, type Frame, type Person } from './request.ts'
import { texts } from './texts/index.ts'

type KycField = (typeof kycFields)[number]
type Column = 'id' | 'partnerCustomerIdentifier' | 'email' | 'customerType' | KycField
type Customer = ResponseOf<'getCustomer'>
type CustomerRow = FileRow<Column>

/** API responses never contain this field, so it is empty in downloads. An import may set it. */
const pin = 'personalIdentificationNumber'

const columns = {
  id: ['serviceId', 'guid'],
  partnerCustomerIdentifier: ['identifier', 'Kennung', 'Kundennummer', 'customer number'],
  email: ['E-Mail', 'mail'],
  customerType: ['type'],
  ...Object.fromEntries(kycFields.map((name) => [name, []])),
} as unknown as FileColumns<Column>
const columnOrder = Object.keys(columns) as readonly Column[]

/** Finds the customer of each row by its id, else by the partner's identifier. */
async function matchCustomers(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  rows: readonly CustomerRow[],
): Promise<ReadonlyMap<CustomerRow, Customer>> {
  const call = callOf(person, request)
  const found = new Map<CustomerRow, Customer>()
  await inParallel(rows, async (row) => {
    const { id, partnerCustomerIdentifier } = row.cells
    const customer =
      id === ''
        ? await findByIdentifier(operate, call, partnerCustomerIdentifier)
        : await ifFound(operate('getCustomer', { ...call, params: { id } }))
    if (customer !== undefined) found.set(row, customer)
  })
  return found
}

async function findByIdentifier(operate: Frame['operate'], call: ReturnType<typeof callOf>, identifier: string) {
  if (identifier === '' || identifier.length > identifierCharsMax) return undefined
  const query = queryText({ partnerCustomerIdentifier: identifier })
  return (await operate('listCustomers', { ...call, query })).data[0]
}
const identifierCharsMax = 140

async function plan(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  rows: readonly CustomerRow[],
): Promise<readonly PlannedRow<Column>[]> {
  const i = texts[person.view.language].imports
  const call = callOf(person, request)
  const known = await matchCustomers(frame, request, person, rows)
  const bodies = rows.map((row) => requestBody(row, known.get(row)))
  const assessed = await frame.customers.assess(
    person.caller.partnerId,
    rows.map((row, at) => {
      const customer = known.get(row)
      return { before: customer && { id: customer.guid, kyc: customer.kyc }, input: bodies[at] ?? {} }
    }),
  )
  const first = new Map<string, number>()
  return rows.map((row, at): PlannedRow<Column> => {
    const { id, partnerCustomerIdentifier: identifier, fullName, legalName, email } = row.cells
    const customer = known.get(row)
    const label = fullName || legalName || email || identifier || id
    const refuse = (reason: string): PlannedRow<Column> => ({ row, label, effect: 'Refused', fields: [], reason })
    if (id !== '' && customer === undefined) return refuse(i.unknownId)
    // Without an id or an identifier, a second import would create the customer again.
    if (id === '' && identifier === '') return refuse(fill(i.unnamed, { columns: 'id, partnerCustomerIdentifier' }))
    const key = customer?.guid ?? identifier
    const earlier = first.get(key)
    if (earlier !== undefined) return refuse(fill(i.twice, { line: String(earlier) }))
    first.set(key, row.line)
    const body = bodies[at] ?? {}
    const refusal = assessed[at]
    if (refusal?.code === 'customer_exists') return refuse(i.identifierTaken)
    const isCountry = refusal?.code === 'country_not_supported'
    const wrong = [...new Set([...wrongFields(body), ...(isCountry ? [] : refusedFields(refusal))])]
    if (wrong.length > 0) return refuse(`${texts[person.view.language].bulk.problem}: ${wrong.join(', ')}`)
    if (isCountry) return refuse(fill(i.countryRefused, { fields: refusedFields(refusal).join(', ') }))
    const fields = [...Object.keys(body).filter((name) => name !== 'kyc'), ...Object.keys(body.kyc ?? {})]
    if (customer === undefined) {
      const apply = async (idempotencyKey: string) =>
        void (await frame.operate('createCustomer', { ...call, idempotencyKey, body }))
      return { row, label, effect: 'Create', fields, apply }
    }
    const apply = async () =>
      void (await frame.operate('updateCustomer', { ...call, params: { id: customer.guid }, body }))
    return fields.length === 0
      ? { row, label, effect: 'Same', fields }
      : { row, label, effect: 'Change', fields, apply }
  })
}

type Body = Readonly<Record<string, unknown>> & { readonly kyc?: Readonly<Record<string, string>> }

/**
 * Returns the request body: all cells of a new customer, or the changed cells of an existing one. The type of a
 * customer never changes.
 */
function requestBody({ cells }: CustomerRow, customer: Customer | undefined): Body {
  const values: Readonly<Record<string, string | undefined>> = customer?.kyc ?? {}
  const kyc = kycFields.flatMap((name) =>
    cells[name] === '' || cells[name] === values[name] ? [] : [[name, cells[name]] as const],
  )
  const own = (['email', 'partnerCustomerIdentifier'] as const).flatMap((name) =>
    cells[name] === '' || cells[name] === customer?.[name] ? [] : [[name, cells[name]] as const],
  )
  const type = customer === undefined && cells.customerType !== '' ? { customerType: cells.customerType } : {}
  return { ...Object.fromEntries(own), ...type, ...(kyc.length > 0 && { kyc: Object.fromEntries(kyc) }) }
}

/** Lists the fields that do not match the schema of the API. */
function wrongFields({ kyc = {}, ...body }: Body): readonly string[] {
  const wrong = (fields: object, properties: Readonly<Record<string, object>>) =>
    Object.entries(fields).filter(([name, value]) => selectUntrustedFields(value, properties[name] ?? {}) === undefined)
  return [...wrong(body, wire.CustomerCreate.properties), ...wrong(kyc, wire.KycInput.properties)].map(([name]) => name)
}

const refusedFields = (refusal: Refusal | undefined): readonly string[] =>
  (refusal?.errors ?? []).map(({ pointer }) => pointer.replace('/kyc/', ''))

function customerCells({ serviceId, partnerCustomerIdentifier, email, kyc }: Customer): readonly string[] {
  const { customerType, ...values } = kyc
  const own: Readonly<Record<string, string | undefined>> = {
    ...values,
    id: serviceId,
    partnerCustomerIdentifier,
    email,
    customerType,
  }
  return columnOrder.map((name) => (name === pin ? '' : (own[name] ?? '')))
}

export const customerImporter: Importer<Column> = {
  kind: 'Customers',
  place: 'customers',
  permissions: { read: 'customers:read', write: 'customers:write' },
  columns,
  required: [],
  plan,
  list: async ({ operate }, request, person, query) => {
    const { data, nextCursor } = await operate('listCustomers', { ...callOf(person, request), query })
    return { rows: data.map(customerCells), nextCursor }
  },
}
