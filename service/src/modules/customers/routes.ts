/** Operation id -> verb -> shape. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import type { Customer, Customers } from './service.ts'

/** Without the identification number, which the response schema drops as well. */
function toWire(customer: Customer): ResponseOf<'getCustomer'> {
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

export function customersRoutes(customers: Customers, idempotency: Idempotency): Handlers<'customers'> {
  return {
    createCustomer: idempotency.handler('createCustomer', async ({ caller, body }, tx) => {
      const customer = await customers.create(caller.partnerId, body, tx)
      return { body: toWire(customer), created: `the customer ${customer.id}` }
    }),
    listCustomers: async ({ caller, query }) => {
      const page = await customers.list(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toWire) } }
    },
    getCustomer: async ({ caller, params }) => ({ body: toWire(await customers.get(caller.partnerId, params.id)) }),
    updateCustomer: async ({ caller, params, body }) => ({
      body: toWire(await customers.update(caller.partnerId, params.id, body)),
    }),
  }
}
