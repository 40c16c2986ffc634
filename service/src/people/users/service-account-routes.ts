/** Operation id -> verb -> shape, of service accounts. */
import { serviceAccounts as wire } from '@partner-payments/wire'
import type { ListedCredential } from '../../access/index.ts'
import { type Handlers, pageOf, writerOf } from '../../kernel/api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import type { Created, ServiceAccounts } from './service-accounts.ts'

const statuses = { valid: 'Active', expired: 'Expired', revoked: 'Revoked' } as const

const writeAccount = writerOf(wire.ServiceAccount)
const toWire = (account: ListedCredential) =>
  writeAccount({
    ...account,
    status: statuses[account.status],
    impersonation: account.impersonatedBy !== null,
    issuedById: account.issuedBy,
    issuedByFullName: account.issuedByName,
  })

const withSecret = ({ account, apiSecret }: Created) => ({
  body: { ...toWire(account), apiSecret },
  created: `the service account ${account.serviceAccountId}`,
})

export function serviceAccountsRoutes(accounts: ServiceAccounts, idempotency: Idempotency) {
  return {
    createServiceAccount: idempotency.handler('createServiceAccount', async ({ caller, body }, tx) =>
      withSecret(await accounts.create(caller, body, tx)),
    ),
    rotateServiceAccount: idempotency.handler('rotateServiceAccount', async ({ caller, params, body }, tx) =>
      withSecret(await accounts.rotate(caller, params.serviceAccountId, body, tx)),
    ),
    listServiceAccounts: async ({ caller, query }) => pageOf(await accounts.list(caller.partnerId, query), toWire),
    getServiceAccount: async ({ caller, params }) => ({
      body: toWire(await accounts.get(caller.partnerId, params.serviceAccountId)),
    }),
    updateServiceAccount: async ({ caller, params, body }) => ({
      body: toWire(await accounts.update(caller, params.serviceAccountId, body)),
    }),
    revokeServiceAccount: async ({ caller, params }) => {
      await accounts.revoke(caller, params.serviceAccountId)
      return { body: undefined }
    },
  } satisfies Partial<Handlers<'serviceAccounts'>>
}
