/** Operation id -> verb -> shape. */
import { customers as wire, type ResponseOf } from '@partner-payments/wire'
import { type Handlers, pageOf, writerOf } from '../../kernel/api/index.ts'
import { writeAmount } from '../../kernel/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import { stateOf } from './erasure-rules.ts'
import type { Erasure, Erasures } from './erasure.ts'
import type { CustomerExport, CustomerExports } from './export.ts'
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

const writeChange = writerOf(wire.CustomerChange)
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
      return { body: undefined, stream: { ...file, read: () => linesOf(pages()), closed } }
    },
    createCustomer: idempotency.handler('createCustomer', async ({ caller, body, requestId }, tx) => {
      const customer = await customers.create(caller.partnerId, body, tx, { ...caller, requestId })
      return { body: toCustomer(customer), created: `the customer ${customer.id}`, customerId: customer.id }
    }),
    listCustomers: async ({ caller: { partnerId }, query: { iban, ...query } }) => {
      const id = iban === undefined ? undefined : await holderIn(partnerId, iban.replaceAll(/\s/g, '').toUpperCase())
      if (iban !== undefined && id === undefined) return { body: { data: [], nextCursor: null, hasMore: false } }
      return pageOf(await customers.list(partnerId, { ...query, id }), toCustomer)
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
      pageOf(await customers.history(caller.partnerId, params.id, query), toChange),
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
  amount: writeAmount(max, currency),
  held: writeAmount(held, currency),
})

const toHoldingInAll = ({ currency, max, held }: NonNullable<CustomerCapabilities['inAll']>) => ({
  currency,
  amount: writeAmount(max, currency),
  ...(held === undefined ? {} : { held: writeAmount(held, currency) }),
})

const writeErasure = writerOf(wire.CustomerErasure)
const toErasure = ({ row, ...erasure }: Erasure) =>
  writeErasure({ ...row, ...erasure, guid: row.customerId, state: stateOf(row.phase) })

/** A part of the stream is what one statement has read. */
async function* linesOf(pages: ReturnType<CustomerExport['pages']>): AsyncGenerator<Uint8Array> {
  for await (const page of pages) yield Buffer.from(page.map((line) => `${JSON.stringify(line)}\n`).join(''))
}
