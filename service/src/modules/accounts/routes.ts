/** Operation id -> verb -> shape. */
import type { ResponseOf } from '@partner-payments/wire'
import { type Handlers } from '../../api/index.ts'
import { writeAmount } from '../../kernel/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import type { Accounts, CustomerAccount } from './service.ts'

/** The documented account: `iban` and `country` are the first of `ibans`. */
function toWire({ partnerCustomerId, ibans }: CustomerAccount): ResponseOf<'createCustomerAccount'> {
  const [{ country, iban }] = ibans
  return { country, iban, partnerCustomerId, ibans: ibans.map((row) => ({ country: row.country, iban: row.iban })) }
}

export function accountsRoutes(accounts: Accounts, idempotency: Idempotency): Handlers<'accounts'> {
  return {
    createCustomerAccount: idempotency.handler('createCustomerAccount', async ({ caller, params }, tx) => {
      const account = await accounts.create(caller.partnerId, params.id, tx)
      return { body: toWire(account), created: `the account of the customer ${params.id}` }
    }),
    getCustomerAccount: async ({ caller, params }) => ({
      body: toWire(await accounts.get(caller.partnerId, params.id)),
    }),
    listAccounts: async ({ caller }) => {
      const { asOf, balances } = await accounts.balances(caller.partnerId)
      const data = balances.map(({ id, currency, posted, reserved, available }) => ({
        id,
        currency,
        posted: writeAmount(posted, currency),
        reserved: writeAmount(reserved, currency),
        available: writeAmount(available, currency),
        asOf: asOf.toISOString(),
      }))
      return { body: { data, nextCursor: null, hasMore: false } }
    },
  }
}
