/** Operation id -> verb -> shape, of service accounts. */
import type { ResponseOf } from '@partner-payments/wire'
import type { ListedCredential } from '../../access/index.ts'
import type { Handlers } from '../../api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import type { Created, ServiceAccounts } from './service-accounts.ts'

const statuses = { valid: 'Active', expired: 'Expired', revoked: 'Revoked' } as const

function toWire(account: ListedCredential): ResponseOf<'getServiceAccount'> {
  const { serviceAccountId, name, apiKey, replaces, status } = account
  const time = (at: Date | null) => at?.toISOString() ?? null
  return {
    ...{ serviceAccountId, name, apiKey, replaces },
    status: statuses[status],
    permissions: [...account.permissions],
    allowedAddresses: [...account.allowedAddresses],
    impersonation: account.impersonatedBy !== null,
    issuedById: account.issuedBy,
    issuedByFullName: account.issuedByName,
    createdAt: account.createdAt.toISOString(),
    expiresAt: time(account.expiresAt),
    revokedAt: time(account.revokedAt),
    lastUsedAt: time(account.lastUsedAt),
  }
}

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
    listServiceAccounts: async ({ caller, query }) => {
      const page = await accounts.list(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toWire) } }
    },
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
