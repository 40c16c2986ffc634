/** Operation id -> verb -> shape, of the team. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
import type { Members, User } from './members.ts'
import type { SingleSignOnView } from './single-sign-on-settings.ts'

function toUser(user: User): ResponseOf<'getUser'> {
  return {
    userId: user.id,
    email: user.email,
    fullName: user.fullName,
    roleName: user.role,
    factors: [...user.factors],
    lastSignInAt: user.lastSignInAt?.toISOString() ?? null,
    createdAt: user.createdAt.toISOString(),
    updatedAt: user.updatedAt.toISOString(),
  }
}

function toSingleSignOn(view: SingleSignOnView): ResponseOf<'getSingleSignOn'> {
  const { createdAt, updatedAt, domainProvedAt, roles, ...rest } = view
  return {
    ...rest,
    domainProvedAt: domainProvedAt?.toISOString() ?? null,
    roles: roles && Object.fromEntries(Object.entries(roles).map(([role, values]) => [role, [...values]])),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  }
}

export function membersRoutes(members: Members) {
  return {
    listUsers: async ({ caller, query }) => {
      const page = await members.listUsers(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toUser) } }
    },
    getUser: async ({ caller, params }) => ({ body: toUser(await members.getUser(caller.partnerId, params.userId)) }),
    updateUser: async ({ caller, params, body }) => ({
      body: toUser(await members.updateUser(caller, params.userId, body)),
    }),
    getSingleSignOn: async ({ caller }) => ({
      body: toSingleSignOn(await members.singleSignOn.settings(caller.partnerId)),
    }),
    setSingleSignOn: async ({ caller, body }) => ({
      body: toSingleSignOn(await members.singleSignOn.set(caller, body)),
    }),
    proveSingleSignOnDomain: async ({ caller }) => ({
      body: toSingleSignOn(await members.singleSignOn.proveDomain(caller.partnerId)),
    }),
    removeSingleSignOn: async ({ caller }) => {
      await members.singleSignOn.remove(caller)
      return { body: undefined }
    },
    removeUser: async ({ caller, params }) => {
      await members.removeUser(caller, params.userId)
      return { body: undefined }
    },
  } satisfies Partial<Handlers<'users'>>
}
