/** Handlers of customers, and their export. */
import { customers as wire, type ResponseOf } from '@partner-payments/wire'
import { createReaders, type Handlers, type Page, writePage, createRecordWriter } from '../../kernel/api/index.ts'
import { type Clock, toJsonAmount } from '../../kernel/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import { erasureState } from './erasure-rules.ts'
import type { Erasure, Erasures } from './erasure.ts'
import type { Change } from './history.ts'
import type { Customer } from './customer.ts'
import type { Holding } from './gates.ts'
import type { CustomerCapabilities, Customers } from './service.ts'

/** Removes the identification number, which the response schema drops as well. */
export function toCustomer(customer: Customer): ResponseOf<'getCustomer'> {
  const { personalIdentificationNumber: _omitted, ...kyc } = customer.kyc
  const { partnerCustomerIdentifier, email } = customer
  return {
    ...(partnerCustomerIdentifier === null ? {} : { partnerCustomerIdentifier }),
    serviceId: customer.serviceId,
    guid: customer.id,
    ...(email === null ? {} : { email }),
    createdAt: customer.createdAt.toISOString(),
    updatedAt: customer.updatedAt.toISOString(),
    kyc: { ...kyc, customerType: customer.customerType },
  }
}

const writeChange = createRecordWriter(wire.CustomerChange)
export const toChange = ({ actorId: id, actorName: name, ...change }: Change) =>
  writeChange({ ...change, actor: id === null || name === null ? null : { id, name } })

export function customersRoutes(
  customers: Customers,
  { exports, erasures }: { readonly exports: CustomerExports; readonly erasures: Erasures },
  idempotency: Idempotency,
  holderIn: (partnerId: string, iban: string) => Promise<string | undefined>,
): Handlers<'customers'> {
  return {
    exportCustomer: async ({ caller, params }) => {
      const { customer, pages, closed } = await exports.open(caller.partnerId, params.id)
      const file = { mediaType: 'application/jsonl', fileName: `customer-${customer.serviceId}.jsonl` }
      return { body: undefined, stream: { ...file, read: () => encodeLines(pages()), closed } }
    },
    createCustomer: idempotency.handler('createCustomer', async ({ caller, body, requestId }, tx) => {
      const customer = await customers.create(caller.partnerId, body, tx, { ...caller, requestId })
      return { body: toCustomer(customer), created: `the customer ${customer.id}`, customerId: customer.id }
    }),
    listCustomers: async ({ caller: { partnerId }, query: { iban, ...query } }) => {
      const id = iban === undefined ? undefined : await holderIn(partnerId, iban.replaceAll(/\s/g, '').toUpperCase())
      if (iban !== undefined && id === undefined) return { body: { data: [], nextCursor: null, hasMore: false } }
      return writePage(await customers.list(partnerId, { ...query, id }), toCustomer)
    },
    getCustomer: async ({ caller, params }) => ({ body: toCustomer(await customers.get(caller.partnerId, params.id)) }),
    getCustomerVerification: async ({ caller, params }) => {
      const { customer, checkedOn, state, fields } = await customers.verification(caller.partnerId, params.id)
      const { id: guid, customerType } = customer
      return { body: { guid, customerType, state, checkedOn, fields: [...fields] } }
    },
    getCustomerCapabilities: async ({ caller, params }) => {
      const found = await customers.capabilities(caller.partnerId, params.id)
      const { customerId: guid, verificationState, fields } = found
      const judged = found.capabilities.map(({ name, reasons }) => ({
        name,
        allowed: reasons.length === 0,
        reasons: [...reasons],
        ...(name === 'Receive' && found.holdUpTo.length > 0 ? { holdUpTo: found.holdUpTo.map(toHolding) } : {}),
        ...(name === 'Receive' && found.inAll ? { holdUpToInAll: toHoldingInAll(found.inAll) } : {}),
      }))
      return { body: { guid, verificationState, capabilities: judged, fields: [...fields] } }
    },
    listCustomerChanges: async ({ caller, params, query }) =>
      writePage(await customers.history(caller.partnerId, params.id, query), toChange),
    eraseCustomer: async ({ caller, params, body }) => ({
      body: toErasure(await erasures.erase(caller.partnerId, params.id, body.nothingOwed === true)),
    }),
    updateCustomer: async ({ caller, params, body, requestId }) => ({
      body: toCustomer(await customers.update(caller.partnerId, params.id, body, { ...caller, requestId })),
    }),
  }
}

const toHolding = ({ currency, max, held }: Holding) => ({
  currency,
  amount: toJsonAmount(max, currency),
  held: toJsonAmount(held, currency),
})

const toHoldingInAll = ({ currency, max, held }: NonNullable<CustomerCapabilities['inAll']>) => ({
  currency,
  amount: toJsonAmount(max, currency),
  ...(held === undefined ? {} : { held: toJsonAmount(held, currency) }),
})

const writeErasure = createRecordWriter(wire.CustomerErasure)
const toErasure = ({ row, ...erasure }: Erasure) =>
  writeErasure({ ...row, ...erasure, guid: row.customerId, state: erasureState(row.phase) })

/** Encodes the lines of an export. Each chunk of the stream has the rows of one statement. */
async function* encodeLines(pages: ReturnType<CustomerExport['pages']>): AsyncGenerator<Uint8Array> {
  for await (const page of pages) yield Buffer.from(page.map((line) => `${JSON.stringify(line)}\n`).join(''))
}

// The export of all data about a customer, as one JSON object on each line (docs/guides/customers.md). The service reads it in pages of
// short statements, because a customer may have millions of payments. A slow reader holds one page and no transaction.

/** A line of an export: the type of `data`, and its fields. Amounts are exact JSON numbers. */
export type ExportLine = { readonly type: string; readonly data: object }
/** A section of an export: the data of one module about a customer, in pages. */
export type ExportSection = (partnerId: string, customer: Customer) => AsyncIterable<readonly ExportLine[]>

type CustomerExport = {
  readonly customer: Customer
  readonly pages: () => AsyncGenerator<readonly ExportLine[]>
  /** The caller calls it once, when the reader has received everything or has disconnected. */
  readonly closed: () => void
}
export type CustomerExports = {
  /** Opens the export of a customer. Refuses: not_found, rate_limited (too many streams at once). */
  readonly open: (partnerId: string, ref: string) => Promise<CustomerExport>
}

const identificationNumber = {
  what: 'kyc.personalIdentificationNumber',
  why: 'No response contains it. It is stored as you gave it.',
}
/** Part of every export, because it must not reveal whether there is a hit. */
const leftOut = [
  {
    what: 'hits of screening, and decisions about them',
    why: 'The law forbids disclosing whether a name was found on a list, and whether a report was made.',
  },
  {
    what: 'events, reports, answers that are kept for repeated requests, and messages to banks',
    why: 'They repeat the fields of other lines.',
  },
  {
    what: 'the class of risk, and reviews',
    why: 'They are the assessments that the law on money laundering demands, and not data that you gave.',
  },
  { what: 'verification of payees', why: 'The answers are about the payees.' },
] as const

export function createCustomerExports(deps: {
  readonly clock: Clock
  readonly customers: Pick<Customers, 'get'>
  readonly sections: readonly ExportSection[]
}): CustomerExports {
  const { clock, customers, sections } = deps
  const enter = createReaders()
  return {
    open: async (partnerId, ref) => {
      const customer = await customers.get(partnerId, ref)
      const head: ExportLine = {
        type: 'export',
        data: {
          guid: customer.id,
          serviceId: customer.serviceId,
          exportedAt: clock.now().toISOString(),
          leftOut:
            customer.kyc.personalIdentificationNumber === undefined ? leftOut : [identificationNumber, ...leftOut],
        },
      }
      return {
        customer,
        closed: enter(partnerId),
        pages: async function* () {
          yield [head]
          // Includes the first and the last line.
          let lines = 2
          for (const section of sections)
            for await (const page of section(partnerId, customer)) {
              lines += page.length
              if (page.length > 0) yield page
            }
          // A reader that receives this line has received all lines.
          yield [{ type: 'end', data: { lines } }]
        },
      }
    },
  }
}

const rowsPerPageMax = 100

/** Yields all pages of a list by its cursors. */
export async function* pagesOfList<T>(
  read: (query: { readonly limit: string; readonly cursor?: string }) => Promise<Page<T>>,
): AsyncGenerator<readonly T[]> {
  for (let cursor: string | undefined; ;) {
    const limit = String(rowsPerPageMax)
    const page = await read(cursor === undefined ? { limit } : { limit, cursor })
    yield page.data
    if (page.nextCursor === null) return
    cursor = page.nextCursor
  }
}

/** Yields all pages of rows. Each page begins after the last id of the previous page. */
export async function* pagesBehind<T extends { readonly id: string }>(
  firstId: string,
  read: (afterId: string, rowsMax: number) => Promise<readonly T[]>,
): AsyncGenerator<readonly T[]> {
  for (let afterId = firstId; ;) {
    const rows = await read(afterId, rowsPerPageMax)
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < rowsPerPageMax) return
    afterId = last.id
  }
}
